"""Where a text names something medical."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.language.mentions import KEPT, medical_words, mentions, names_of


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


def test_a_text_too_long_to_be_kept_is_read_alike() -> None:
    text = "Carcinoma of the left kidney. " * 800
    assert len(text) > KEPT
    assert len(mentions(text)) == 800
