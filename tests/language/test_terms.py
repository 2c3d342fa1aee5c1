"""Normal forms of clinical terms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.language.terms import fold, key, lemma, squeezed, stems, word_coverage, words


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Renal carcinoma", "carcinoma of the kidney"),
        ("Squamous cell. carcinoma", "squamous-cell carcinomas"),
        ("Tumour", "tumors"),
        ("oesophageal", "esophageal"),
        ("Crohn's disease", "Crohn’s disease"),
    ],
)
def test_spellings_of_one_term_share_a_key(first: str, second: str) -> None:
    assert key(first) == key(second)


def test_different_terms_do_not() -> None:
    assert key("carcinoma") != key("sarcoma")
    assert key("left kidney") != key("right kidney")


@pytest.mark.parametrize(
    ("word", "expected"),
    [("metastases", "metastasis"), ("biopsies", "biopsy"), ("diagnosis", "diagnosis"), ("masses", "mass"), ("", "")],
)
def test_lemmas(word: str, expected: str) -> None:
    assert lemma(word) == expected


def test_greek_and_accents_are_spelled_out() -> None:
    assert fold("β-Catenin") == "beta-catenin" and fold("Sjögren") == "sjogren"


def test_names_of_markers_are_squeezed() -> None:
    assert squeezed("CK5/6") == "ck56" and squeezed("$100") == "s100" and squeezed("α-SMA") == "alphasma"


def test_stems_join_a_noun_and_its_adjective() -> None:
    assert stems("koilocytes") == stems("koilocytic")


def test_coverage_is_the_share_of_the_hypothesis() -> None:
    # necrosis of necrosis and fibrosis
    assert word_coverage("Necrosis is seen.", "necrosis fibrosis") == 0.5
    assert word_coverage("anything", "") == 0.0


@given(st.text(max_size=60))
def test_the_key_of_a_key_is_itself_a_list_of_words(text: str) -> None:
    assert key(text).split() == sorted(set(words(text)))
