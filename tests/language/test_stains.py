"""Results of markers, read by rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.language.lexicon import read_tsv
from medassay.language.stains import read_stains


def results(text: str) -> dict[str, str]:
    return {stain.marker: stain.result for stain in read_stains(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CK7+/CK20−, CDX2 (+)", {"CK7": "positive", "CK20": "negative", "CDX2": "positive"}),
        ("negative for CD3 and CD5", {"CD3": "negative", "CD5": "negative"}),
        ("TTF-1 and napsin A are positive", {"TTF1": "positive", "NAPSINA": "positive"}),
        ("MLH1/PMS2 lost, MSH2 retained", {"MLH1": "negative", "PMS2": "negative", "MSH2": "positive"}),
        ("negative for CD3, with CD20 positivity in 70%", {"CD3": "negative", "CD20": "positive"}),
        ("HER2 2+", {"HER2": "equivocal"}),
        ("HER2 IHC score 1+", {"HER2": "negative"}),
        ("c-erbB-2 3+", {"HER2": "positive"}),
        ("The tumour is CK7-negative and diffusely CK20-positive.", {"CK7": "negative", "CK20": "positive"}),
        ("MPO, CD117 and cytoplasmic CD3 negative", {"MPO": "negative", "CD117": "negative", "CD3": "negative"}),
        ("SDHB cytoplasmic staining lost in tumour", {"SDHB": "negative"}),
        ("wild-type p53 staining", {"P53": "wildtype"}),
        ("strong diffuse p53 overexpression", {"P53": "mutant"}),
        ("a triple-negative carcinoma", {"ER": "negative", "PR": "negative", "HER2": "negative"}),
        ("BRAF V600E mutation; EGFR wild type", {"BRAFV600E": "positive", "EGFR": "negative"}),
        ("the tumor cells fail to stain for S100 but express SOX10", {"S100": "negative", "SOX10": "positive"}),
        ("keratin pearls and abundant mucin", {}),
        ("her nodule", {}),
    ],
)  # fmt: skip
def test_results_in_the_forms_that_reports_use(text: str, expected: dict[str, str]) -> None:
    assert results(text) == expected


def test_a_share_of_cells_belongs_to_the_marker_before_it() -> None:
    found = {stain.marker: (stain.low, stain.high) for stain in read_stains("CD3 -, EBER -, Ki-67 > 90 %, ER 10-20%")}
    assert found == {"CD3": (None, None), "EBER": (None, None), "KI67": (90.0, 100.0), "ER": (10.0, 20.0)}


def test_a_share_below_one_per_cent_is_negative() -> None:
    assert results("PD-L1 TPS <1%") == {"PDL1": "negative"}


@given(st.text(max_size=200))
def test_any_text_gives_spans_of_itself(text: str) -> None:
    for stain in read_stains(text):
        assert 0 <= stain.start < stain.end <= len(text)


def test_panels_name_known_markers() -> None:
    known = {row["id"].partition(":")[2] for row in read_tsv("markers.tsv")}
    for row in read_tsv("panels.tsv"):
        assert set(row["markers"].split()) <= known
        assert row["result"] in ("positive", "negative", "")
