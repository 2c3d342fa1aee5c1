"""What pairs are made of the corpus, and who is held out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from medassay.spans import CONTRADICTION_KINDS
from medassay.training.reader import material
from medassay.training.reader.material import NOT_SUPPORTED, Pair, find, folded, held_out


def test_white_space_and_case_do_not_make_another_document() -> None:
    assert held_out("No  fever.\r\nNo cough.") == held_out("no fever. no cough.")
    assert folded(" a \n b ") == "a b"


def test_about_the_stated_share_is_held_out() -> None:
    share = sum(held_out(f"document {i}") for i in range(4000)) / 4000
    assert share == pytest.approx(material.HELD_OUT / 100, abs=0.02)


def test_a_quote_is_found_whatever_its_white_space() -> None:
    assert find("Margins are\n  free of tumor.", "margins are free") == (0, 18)
    assert find("Margins are free.", "nodes") is None


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    error = {"text": "Left mass.", "kind": "side", "severity": "critical", "wrong": "Left", "right": "Right"}
    lost = {"text": "Mass.", "kind": "omission", "severity": "minor", "wrong": "", "right": "Right"}
    record = {
        "id": "l1",
        "kind": "note",
        "text": "Right mass.",
        "paraphrases": ["Mass, right."],
        "errors": [error, lost],
    }
    (tmp_path / "ladders").mkdir()
    (tmp_path / "ladders/sets.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    return tmp_path


def test_a_ladder_gives_both_directions_of_every_rung(corpus: Path) -> None:
    pairs = list(material.ladder_pairs(corpus))

    def label(text: str, statement: str) -> int | None:
        return next(pair.label for pair in pairs if (pair.text, pair.statement) == (text, statement))

    assert label("Right mass.", "Mass, right.") == 0
    assert label("Right mass.", "Left mass.") == 2
    assert label("Left mass.", "Right mass.") == 2
    assert label("Right mass.", "Mass.") == 0
    assert label("Mass.", "Right mass.") == 1
    wrong = next(pair for pair in pairs if pair.label == 2)
    assert CONTRADICTION_KINDS[wrong.kind or 0] == "side"
    assert wrong.severity == 1
    assert wrong.text[slice(*(wrong.at or ()))] == "Right"


def test_labels_that_do_not_tell_neutral_from_contradiction_are_kept_apart() -> None:
    assert material.LABELS["not_entailment"] == NOT_SUPPORTED


def test_texts_that_are_ours_are_quoted_and_others_given_by_offsets() -> None:
    assert material.deciding_span("No tumor here.", "tumor") == (3, 8)
    assert material.deciding_span("No tumor here.", [3, 8]) == (3, 8)
    assert material.deciding_span("No tumor here.", None) is None


def test_a_pair_is_plain_data() -> None:
    assert Pair("a", "d", "t", "s") == Pair("a", "d", "t", "s")
