"""Where a report states the elements of its protocol."""

from __future__ import annotations

from itertools import pairwise

import pytest

from medassay.language.synoptic import ELEMENTS, organ_of, read_mentions
from medassay.language.synoptic.statements import LONGEST_TEXT


@pytest.mark.parametrize(
    ("text", "organ"),
    [
        ("Prostate, biopsy; acinar adenocarcinoma", "prostate"),
        ("Left breast, mastectomy: carcinoma; lung: benign.", "breast"),
        ("The patient feels well.", None),
        ("", None),
    ],
)
def test_the_organ_that_is_named_most(text: str, organ: str | None) -> None:
    assert organ_of(text) == organ


def stated(text: str, element: str) -> list[str]:
    return [text[mention.start : mention.end] for mention in read_mentions(text, "breast")[element]]


def test_fields_come_before_free_statements() -> None:
    text = "The tumor measures 3 cm. Tumor size: 2.5 cm; margins are free."
    assert stated(text, "size")[0] == "Tumor size: 2.5 cm"
    assert stated(text, "margins") == ["margins are free"]


@pytest.mark.parametrize("value", ["Not specified", "", "n/a", "Margins: free"])
def test_a_field_without_a_value_states_nothing(value: str) -> None:
    assert not any(text.startswith("Tumor size") for text in stated(f"Tumor size: {value}", "size"))


def test_every_element_has_its_mentions_and_none_overlap() -> None:
    mentions = read_mentions("Invasive carcinoma, grade 2, pT1c pN0 (0/2 nodes), 15 mm.", "breast")
    assert set(mentions) == set(ELEMENTS)
    for some in mentions.values():
        spans = sorted((mention.start, mention.end) for mention in some)
        assert all(a[1] <= b[0] for a, b in pairwise(spans))


def test_what_stands_behind_the_longest_text_is_not_read() -> None:
    assert read_mentions(" " * LONGEST_TEXT + "Tumor size: 2 cm", "breast")["size"] == ()
