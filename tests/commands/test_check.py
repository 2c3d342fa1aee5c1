"""`medassay check`: lines in the stated form, rows with problems, resuming, the summary in the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.language.checker_double import OverlapChecker, installed

from medassay.metrics.ledger_metric import ledger_maker

ROW = {
    "id": "a",
    "candidate": "She has fever of 39 degrees. She denies cough.",
    "reference": "She has fever of 38 degrees. She denies cough. She has severe nausea.",
    "system": "S",
}


@pytest.fixture(autouse=True)
def checker() -> Iterator[OverlapChecker]:
    double = OverlapChecker()
    with installed(double):
        yield double


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_line_per_case_in_the_stated_form(tmp_path: Path, medassay: Callable[..., Any]) -> None:
    cases = write(tmp_path / "c.jsonl", [ROW])
    ran = medassay("check", cases, "--out", tmp_path / "o.jsonl", "--html", tmp_path / "o.html")
    assert ran.code == 0
    (record,) = lines(tmp_path / "o.jsonl")
    assert list(record) == ["id", "system", "statements", "counts"]
    assert record["counts"] == {
        "statements": 2, "supported": 1, "contradicted": 1, "not_stated": 0,
        "expected": 3, "missed": 1, "misstated": 1, "critical": 1,
    }  # fmt: skip
    assert record["statements"][0] == {
        "of": "candidate",
        "start": 0,
        "end": 27,
        "text": "She has fever of 39 degrees",
        "against": "reference",
        "verdict": "contradicted",
        "p": [0.05, 0.05, 0.9],
        "by": [0, 28],
        "kind": "value",
        "severity": "critical",
    }
    supported, missed = record["statements"][1], record["statements"][-1]
    assert (supported["verdict"], supported["kind"], supported["severity"]) == ("supported", None, None)
    assert (missed["of"], missed["against"], missed["verdict"]) == ("reference", "candidate", "not_stated")
    assert missed["by"] is None
    assert "<title>medassay check</title>" in (tmp_path / "o.html").read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.jsonl", "o.html", "o.jsonl"]


def test_the_summary_quotes_the_worst_statements(tmp_path: Path, medassay: Callable[..., Any]) -> None:
    ran = medassay("check", write(tmp_path / "c.jsonl", [ROW]))
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "wrong (value, critical)  a · S  p 0.90" in ran.out
    assert "candidate: “She has fever of 39 degrees”" in ran.out
    assert "reference: “She has fever of 38 degrees.”" in ran.out


ROWS = [
    ROW,
    {"id": "b", "candidate": " ", "reference": "She has fever."},
    {"id": "c", "candidate": "She has fever."},
    {"id": "d", "candidate": "She has poison ivy.", "reference": "She has fever."},
    {"id": "e", "candidate": "She has fever.", "reference": "Sie hat Fieber und keine Schmerzen in der Brust."},
    {"id": "f", "candidate": "She has fever.", "reference": "[insert]"},
    {"id": "a", "system": "S", "candidate": "again", "reference": "again"},
    {"id": "g", "candidate": "She has fever.", "source": "Doctor: Do you have fever? Patient: Yes."},
]


def test_one_bad_row_never_loses_the_others(tmp_path: Path, medassay: Callable[..., Any]) -> None:
    cases = write(tmp_path / "c.jsonl", ROWS)
    ran = medassay("check", cases, "--out", tmp_path / "o.jsonl", "--html", tmp_path / "o.html")
    assert ran.code == 1
    records = {record["id"]: record for record in lines(tmp_path / "o.jsonl")}
    assert list(records) == ["a", "b", "c", "d", "e", "f", "g"]
    assert records["b"] == {"id": "b", "statements": [], "counts": {}, "unscored": "empty candidate"}
    assert records["c"]["unscored"] == "no reference and no source; it needs one of them"
    assert records["d"]["failed"] == "ValueError: poison"
    assert records["e"]["unscored"] == "reference is not English"
    assert records["f"]["unscored"] == "no statement found in the reference"
    assert records["g"]["counts"]["supported"] == 1
    assert "row 2: column 'candidate' is empty" in ran.err
    assert "row 4: metric 'check': ValueError: poison" in ran.err
    assert "row 7: id 'a', system 'S' already stands in row 1" in ran.err


def test_several_references_the_one_with_fewest_problems_counts(tmp_path: Path, medassay: Callable[..., Any]) -> None:
    row = {"id": "a", "candidate": "She has fever.", "reference": ["She has severe nausea.", "She has fever."]}
    medassay("check", write(tmp_path / "c.jsonl", [row]), "--out", tmp_path / "o.jsonl")
    (record,) = lines(tmp_path / "o.jsonl")
    assert record["reference"] == 1 and record["counts"]["supported"] == 1 and record["counts"]["missed"] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out", "nowhere/o.jsonl"], "does not exist; create it first"),
        (["--out", "c.jsonl"], "is the input itself"),
        (["--out", "o", "--html", "o"], "cannot be one file"),
        (["--by", "ward"], "ward"),
        (["--map", "candidate=generated"], "generated"),
        (["--strict"], "row 7: id 'a', system 'S' already stands in row 1"),
    ],
)
def test_what_stops_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, medassay: Callable[..., Any], arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "c.jsonl", ROWS)
    ran = medassay("check", "c.jsonl", *arguments)
    assert ran.code == 2
    assert said in ran.err
    assert lines(tmp_path / "c.jsonl") == ROWS
    assert not (tmp_path / "o.jsonl").exists()


def test_a_checker_that_always_fails_ends_with_its_error(
    tmp_path: Path, medassay: Callable[..., Any], checker: OverlapChecker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(pairs: Sequence[tuple[str, str]]) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr(checker, "check", broken)
    ran = medassay("check", write(tmp_path / "c.jsonl", [ROW]), "--out", tmp_path / "o.jsonl")
    assert ran.code == 2
    assert "RuntimeError: no memory" in ran.err
    assert lines(tmp_path / "o.jsonl")[0]["failed"] == "RuntimeError: no memory"


def test_an_interrupted_run_goes_on_where_it_stopped(
    tmp_path: Path, medassay: Callable[..., Any], checker: OverlapChecker, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"id": str(i), "candidate": f"She has fever of {i}.", "reference": "She has fever."} for i in range(40)]
    cases = write(tmp_path / "c.jsonl", rows)
    medassay("check", cases, "--out", tmp_path / "whole.jsonl")
    ledger_maker.cache_clear()
    checking = checker.check

    def stops(pairs: Sequence[tuple[str, str]]) -> Any:
        if any(" 35" in statement for _, statement in pairs):
            raise KeyboardInterrupt
        return checking(pairs)

    monkeypatch.setattr(checker, "check", stops)
    assert medassay("check", cases, "--out", tmp_path / "o.jsonl").code == 130
    assert not (tmp_path / "o.jsonl").exists()
    monkeypatch.setattr(checker, "check", checking)
    checker.asked.clear()
    ledger_maker.cache_clear()
    assert medassay("check", cases, "--out", tmp_path / "o.jsonl").code == 0
    assert (tmp_path / "o.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert len(checker.asked) == 2 * (40 - 32)  # two slices of 16 were done
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.jsonl", "o.jsonl", "whole.jsonl"]
