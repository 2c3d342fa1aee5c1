"""Where a text names something medical."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.errors import MedassayError
from medassay.language.finders import finder
from medassay.language.mentions import KEPT, _own, medical_words, mentions, names_of


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Squamous cell carcinoma of the left lung.", ["Squamous cell carcinoma of the left lung"]),
        ("Patient denies chest pain and shortness of breath.", ["chest pain", "shortness of breath"]),
        ("Started on lisinopril and Tylenol.", ["lisinopril", "Tylenol"]),
        ("She was still well and had all her food.", []),
        ("History of ALL.", ["ALL"]),
        ("Crohn's disease", ["Crohn's disease"]),
        ("The breast. Carcinoma was found.", ["breast", "Carcinoma"]),
        ("", []),
        ("12 345 , . !", []),
        ("Le patient a une douleur.", []),
    ],
)
def test_mentions(text: str, found: list[str]) -> None:
    assert [text[m.start : m.end].removesuffix(" disease") for m in mentions(text)] == [
        one.removesuffix(" disease") for one in found
    ]


def test_a_mention_has_its_concept() -> None:
    [mention] = mentions("hepatocellular carcinoma")
    assert mention.id == "MONDO:0007256"
    assert mentions("nauseated")[0].id == "HP:0002018"
    assert [one.id for one in mentions("On Lipitor; her mother smoked.")] == [
        "DRUG:atorvastatin",
        "KIN:mother",
        "SOCIAL:smoking",
    ]


def test_kin_and_ways_of_life_are_no_medical_words() -> None:
    assert medical_words("Her mother smoked.") == []


def test_a_terminology_of_ones_own() -> None:
    names = names_of({"ague": 0, "fever rose": 1}, ["X:1", "X:2"], ["ague", "rose fever"])
    assert [(one.id, one.start) for one in mentions("Ague, then rose fever.", names)] == [("X:1", 0), ("X:2", 11)]


@given(st.text(alphabet="aApbt' .,;-\n()αé0cancertumoleftkidney", max_size=80))
def test_spans_are_in_order_and_inside(text: str) -> None:
    last = 0
    for start, end in medical_words(text):
        assert last <= start < end <= len(text)
        last = end


def test_fifty_thousand_words() -> None:
    text = "no evidence of carcinoma in the left kidney, patient well; " * 5_000
    assert len(medical_words(text)) == 5_000


def test_a_finder_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_finder.py").write_text("def find(text):\n    return [(4, 8), (0, 2)]\nword = 3\n")
    monkeypatch.chdir(tmp_path)
    find, name = finder("py:own_finder:find")
    assert find("a tumour here") == [(0, 2), (4, 8)]
    assert name.startswith("py:own_finder:find@")
    with pytest.raises(ValueError, match="span \\(4, 8\\) for a text of 1 characters"):
        find("a")
    with pytest.raises(MedassayError, match="is a int, not a function"):
        finder("py:own_finder:word")


def test_a_spacy_pipeline(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    pipeline.add_pipe("entity_ruler").add_patterns([{"label": "FINDING", "pattern": "mass"}])
    pipeline.to_disk(tmp_path / "ruler")
    find, name = finder(f"spacy:{tmp_path / 'ruler'}")
    assert find("A mass, a mass.") == [(2, 6), (10, 14)]
    assert name.startswith("spacy-") and ":ruler-" in name


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nobody", "none of linker"),
        ("py:no_such_module:find", "cannot be imported"),
        ("medcat:pack.zip", "pip install medcat|cannot be opened"),
        ("spacy:no_such_pipeline", "pip install spacy|is not there"),
    ],
)
def test_what_is_wrong_is_said(spec: str, message: str) -> None:
    with pytest.raises(MedassayError, match=message):
        finder(spec)


def test_what_stands_in_a_very_long_text_is_found_and_not_kept() -> None:
    text = "Carcinoma of the left kidney. " * 800
    before = _own.cache_info().currsize
    assert len(text) > KEPT
    assert len(mentions(text)) == 800
    assert _own.cache_info().currsize == before
