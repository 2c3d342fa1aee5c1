"""Pairs of single statements from a text, its rewordings and its errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

from medassay.training.reader.derived import derived_pairs
from medassay.training.reader.material import LABELS, Pair, Texts

TEXT = "The mass is in the right kidney. Margins are free of tumor. No necrosis is seen."
VERSION = TEXT.replace("right kidney", "left kidney")
SHORTER = TEXT.replace(" No necrosis is seen.", "")


def _pairs(tmp_path: Path) -> list[Pair]:
    data, corpus = tmp_path / "data", tmp_path / "corpus"
    errors = [
        {"text": VERSION, "kind": "side", "severity": "critical", "wrong": "left kidney", "right": "right kidney"},
        {"text": SHORTER, "kind": "omission", "severity": "minor", "wrong": "", "right": "No necrosis is seen"},
    ]
    ladder = {"id": "l1", "kind": "report", "text": TEXT, "paraphrases": [], "errors": errors}
    files = {
        corpus / "ladders/sets.jsonl": [ladder],
        data / "paraphrases/dev.jsonl": [],
        data / "long_errors/dev.jsonl": [],
    }
    for path, records in files.items():
        path.parent.mkdir(parents=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return list(derived_pairs(data, corpus, cast(Texts, {})))


def test_the_statement_with_the_error_is_contradicted_by_the_text(tmp_path: Path) -> None:
    wrong = [pair for pair in _pairs(tmp_path) if pair.label == LABELS["contradicted"]]
    assert wrong and {pair.severity for pair in wrong if pair.text == TEXT} == {1}
    assert all("left kidney" in pair.statement for pair in wrong)
    whole = next(pair for pair in wrong if pair.text == TEXT)
    assert whole.at is not None and TEXT[slice(*whole.at)] == "right kidney"


def test_what_was_left_out_is_not_stated_in_the_version(tmp_path: Path) -> None:
    (omitted,) = [pair for pair in _pairs(tmp_path) if pair.label == LABELS["not_stated"]]
    assert omitted.text == SHORTER and "necrosis" in omitted.statement
