"""Pairs from inside one text."""

from __future__ import annotations

import json
import random
from pathlib import Path

from medassay.training.reader import consistency
from medassay.training.reader.material import LABELS, NOT_CONTRADICTED

REPORT = "Colon biopsy. Glands are well formed; no atypia.\nConclusion: poorly differentiated carcinoma."


def test_a_quote_is_found_in_its_sentence() -> None:
    assert consistency.sentence_with(REPORT, "well formed") == "Glands are well formed;"
    assert consistency.sentence_with(REPORT, "formed; no") is None


def test_conflicting_passages_are_given_in_every_form(tmp_path: Path) -> None:
    data, corpus = tmp_path / "data", tmp_path / "corpus"
    (data / "histology").mkdir(parents=True)
    (corpus / "graded").mkdir(parents=True)
    wrong = {"image": "a.jpg", "level": 2, "report": REPORT, "parts": ["well formed", "poorly differentiated"]}
    sound = {"image": "b.jpg", "level": 0, "report": "Benign breast tissue. No atypia is seen.", "parts": []}
    (data / "histology/graded.jsonl").write_text(json.dumps(wrong) + "\n", encoding="utf-8")
    (corpus / "graded/reports.jsonl").write_text(json.dumps(sound) + "\n", encoding="utf-8")
    pairs = list(consistency.graded_pairs(data, corpus, random.Random(1)))
    conflicts = {(pair.text, pair.statement) for pair in pairs if pair.label == LABELS["contradicted"]}
    whole = ("Glands are well formed;", "Conclusion: poorly differentiated carcinoma.")
    assert conflicts == {
        ("well formed", "poorly differentiated"),
        ("poorly differentiated", "well formed"),
        whole,
        whole[::-1],
        ("Colon biopsy. Glands are well formed; no atypia.", whole[1]),
        ("Colon biopsy. no atypia. Conclusion: poorly differentiated carcinoma.", whole[0]),
    }
    others = [pair for pair in pairs if pair.document == "b.jpg"]
    assert others
    assert {pair.label for pair in others} == {NOT_CONTRADICTED}
