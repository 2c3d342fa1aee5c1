"""The corpus is whole: fields, labels and quotes are right, and nothing set aside for measuring is trained on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medassay.spans import CONTRADICTION_KINDS, INVENTION_KINDS

CORPUS = Path(__file__).parents[1] / "corpus"
KINDS = {
    "supported": ("verbatim", "reworded", "inferred"),
    "contradicted": CONTRADICTION_KINDS,
    "not_stated": INVENTION_KINDS,
}
LADDER_KINDS = {*CONTRADICTION_KINDS, "omission", "invention", "self"}

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="needs a checkout: the corpus is not in the package")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def texts() -> dict[str, str]:
    return {row["id"]: row["text"] for path in CORPUS.glob("*/*texts.jsonl") for row in rows(path)}


def wrong_in(claim: dict[str, Any], text: str | None) -> str:
    """What is wrong with a claim; empty where nothing is."""
    label, at = claim["label"], claim["at"]
    if claim["kind"] not in KINDS[label]:
        return f"kind {claim['kind']} of a {label} claim"
    if (label == "supported") != (claim["severity"] == "none"):
        return "severity"
    if bool(at) != (label != "not_stated"):
        return "deciding words"
    if at and text is not None and at not in text:
        return "not a quote"
    return ""


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*claims.jsonl")), ids=lambda path: "/".join(path.parts[-2:]))
def test_claims_on_our_own_texts(path: Path) -> None:
    known = texts()
    assert [(i, wrong) for i, row in enumerate(rows(path)) if (wrong := wrong_in(row, known[row["id"]]))] == []


@pytest.mark.parametrize("name", ["claims/visits.jsonl", "statements/verdicts.jsonl"])
def test_claims_on_other_texts_have_offsets_and_no_quotes(name: str) -> None:
    for row in rows(CORPUS / name):
        assert wrong_in(row, None) == ""
        assert row["at"] is None or (len(row["at"]) == 2 and row["at"][0] < row["at"][1])


def test_inference_pairs() -> None:
    for path in sorted((CORPUS / "nli").glob("*.jsonl")):
        pairs = rows(path)
        assert {pair["label"] for pair in pairs} == {"entailment", "neutral", "contradiction"}
        assert len({(pair["premise"], pair["hypothesis"]) for pair in pairs}) == len(pairs)


def test_consistency_sets_quote_what_conflicts() -> None:
    for path in sorted((CORPUS / "consistency").glob("*.jsonl")):
        for row in rows(path):
            assert len(row["parts"]) == 2 and all(part in row["contradictory"] for part in row["parts"]), row["id"]
            assert row["severity"] in ("critical", "minor") and row["consistent"] != row["contradictory"], row["id"]


def test_ladders_quote_what_is_wrong_and_what_is_right() -> None:
    for row in rows(CORPUS / "ladders/sets.jsonl"):
        assert len(row["paraphrases"]) == 3
        for error in row["errors"]:
            assert error["kind"] in LADDER_KINDS
            assert error["wrong"] in error["text"]
            assert error["right"] in row["text"]


def test_splits_stand_in_order_inside_their_text() -> None:
    for row in rows(CORPUS / "statements/splits.jsonl"):
        starts = [statement["start"] for statement in row["statements"]]
        assert starts == sorted(starts)
        assert all(statement["start"] < statement["end"] for statement in row["statements"])


@pytest.mark.parametrize("path", sorted((CORPUS / "bench").glob("*.jsonl")), ids=lambda path: path.name)
def test_benchmark_texts(path: Path) -> None:
    for row in rows(path):
        assert not [wrong for claim in row["claims"] if (wrong := wrong_in(claim, row["text"]))], row["id"]
        for error in row["errors"]:
            assert error["wrong"] in error["text"] and error["right"] in row["text"], row["id"]
        assert all(part in row["contradictory"]["text"] for part in row["contradictory"]["parts"]), row["id"]


def test_benchmark_texts_are_not_trained_on() -> None:
    trained = {*texts().values(), *(row["text"] for row in rows(CORPUS / "ladders/sets.jsonl"))}
    bench = {row["text"] for path in (CORPUS / "bench").glob("*.jsonl") for row in rows(path)}
    assert not trained & bench
    material = (Path(__file__).parents[1] / "src/medassay/training/reader/material.py").read_text(encoding="utf-8")
    assert 'folder.name == "bench"' in material


def test_synoptic_marks_are_spans_of_known_elements() -> None:
    from medassay.language.synoptic import ELEMENTS, ORGANS

    reports, written = rows(CORPUS / "synoptic" / "reports.jsonl"), rows(CORPUS / "synoptic" / "written.jsonl")
    for row in [*reports, *written]:
        assert row["organ"] in ORGANS and row["half"] in ("development", "held_out", "later")
        assert set(row["conflicts"]) <= set(ELEMENTS)
        assert set(row["conflicts"].values()) <= {"contradicted", "inconsistent"}
    for row in reports:
        assert set(row["elements"]) <= set(ELEMENTS) and "text" not in row
        assert all(0 <= start < end for spans in row["elements"].values() for start, end in spans)
    assert len({row["id"] for row in reports}) == len(reports) == 68


def test_the_policy_says_what_it_rests_on() -> None:
    from medassay.metrics.policy import read_policy

    policy = read_policy(CORPUS / "policies" / "graded-3.json")
    basis = policy.calibration
    assert policy.weights["stability"] == 0  # the reports have no perturbed versions
    assert basis["independent"] < basis["n"] and basis["curve"] and "level above 1" in basis["label"]
    assert {"grounding", "logic"} <= set(basis["signatures"])
    # Trust does not separate these reports well enough, so the policy releases none.
    assert policy.deploy is None
