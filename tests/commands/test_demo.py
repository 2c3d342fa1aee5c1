"""`medassay demo`: what it prints and writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from medassay.cases import read_cases
from medassay.commands import demo
from medassay.commands import demo_findings as findings
from medassay.commands.demo import write_trust_example
from medassay.examples import FILES, load
from medassay.metrics.histories import histories, organ_of
from medassay.metrics.registry import load_metric
from medassay.result import Result
from medassay.scores import Score

SENTENCE = {
    "side": "candidate",
    "text": "TTF-1 negative",
    "against": "reference",
    "verdict": "contradicted",
    "p": [0.01, 0.04, 0.95],
    "by": [0, 14],
    "kind": "marker",
    "severity": "critical",
}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demonstration on three cases of each kind."""
    cases = [replace(case, source=None) for name in FILES for case in load(name)[:6]]
    monkeypatch.setattr(demo, "read_examples", lambda: cases)


def made(values: dict[str, list[float]], evidence: dict[int, list[dict[str, object]]] | None = None) -> Result:
    """A result over the first two pathology cases with these scores, and evidence by row."""
    cases = load("pathology.csv")[:4]
    metrics = [load_metric(name) for name in values if name != "fidelity"]
    scores = {name: [Score(value) for value in column] for name, column in values.items()}
    scores["fidelity"] = [Score(0.5, evidence={"sentences": (evidence or {}).get(i, [])}) for i, _ in enumerate(cases)]
    return Result(cases=cases, metrics=metrics, scores=scores)


@pytest.mark.usefixtures("few")
def test_demo(tmp_path: Path, medassay: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = medassay("demo", "--out", "made/here")
    assert (ran.code, ran.err) == (0, "")
    for shown in ("pathology reports", "clinical notes", "alder", "birch", "made/here/report.html", "facts", "rouge1"):
        assert shown in ran.out
    assert "not for clinical decisions" in ran.out and "this is no study" in ran.out
    lines = (tmp_path / "made/here/scores.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 12
    page = (tmp_path / "made/here/report.html").read_text(encoding="utf-8")
    assert "<title>medassay demo" in page
    assert {p.name for p in (tmp_path / "made/here").iterdir()} >= {"pathology.csv", "notes.csv", "references.jsonl"}
    assert json.loads((tmp_path / "made/here/scores.csv.meta.json").read_text())["problems"] == []


def test_metrics_for_one_kind_of_text_are_asked_of_it_alone() -> None:
    cases = [replace(case, source=None) for name in FILES for case in load(name)[:2]]
    result = demo.score_examples(cases)
    for name in ("hare", "expert"):
        assert [score.value is not None for score in result[name]] == [True, True, False, False]
        assert result[name][3].unscored == "not asked: for pathology reports only"
    assert [score.value is not None for score in result["note"]] == [False, False, True, True]
    assert all(score.value is not None for score in result["rouge1"])
    names = [metric.name for metric in demo._of_kind(result, "clinical note").metrics]
    assert "note" in names and "hare" not in names


def test_choices_count_who_prefers_the_milder_text() -> None:
    # Rows: P01 alder (no error), P01 birch (critical), P02 alder (none), P02 birch (critical).
    result = made({"rouge1": [0.5, 0.9, 0.7, 0.6], "bleu": [0.3, 0.3, 0.9, 0.1]})
    assert [(c.metric, c.right, c.tied, c.pairs) for c in findings.choices(result)] == [
        ("rouge1", 1, 0, 2),
        ("bleu", 1, 1, 2),
    ]
    assert findings.careless(result.cases) == "birch"


def test_alarms_and_worst_statements_come_from_the_evidence() -> None:
    minor = {**SENTENCE, "severity": "minor", "p": [0.0, 0.0, 1.0], "text": "grade 3"}
    other = {**SENTENCE, "side": "reference"}
    copied = {**SENTENCE, "text": "Sigmoid COLON, polypectomy", "p": [0.0, 0.0, 1.0]}
    result = made({"rouge1": [0.0] * 4}, {0: [SENTENCE], 1: [minor, copied, SENTENCE], 3: [minor, other]})
    assert findings.alarms(result) == findings.Alarms(caught=1, critical=2, false=1, others=2)
    found = findings.worst(result, "birch")
    assert [(f.case.id, f.statement, f.severity) for f in found] == [
        ("P01", "TTF-1 negative", "critical"),
        ("P02", "grade 3", "minor"),
    ]
    assert found[0].words == str(result.cases[1].reference)[:14]


def test_where_overlap_misleads_and_the_closing_words_are_computed() -> None:
    wrong = made({"rouge1": [0.5, 0.9, 0.7, 0.6]})
    assert findings.misled(wrong).startswith("P01 (colon): rouge1 gives birch 0.90 and alder 0.50")
    assert findings.misled(made({"rouge1": [0.9, 0.5, 0.9, 0.5]})) == ""
    right = findings.closing(findings.choices(made({"rouge1": [0.9, 0.5, 0.9, 0.5]})), findings.alarms(wrong), "birch")
    assert "preferred in most cases by rouge1 (2 of 2)" in right and "It is not by" not in right
    assert "marks 0 as critically contradicted" in right
    poor = findings.closing(findings.choices(made({"rouge1": [0.1, 0.5, 0.1, 0.5]})), findings.alarms(wrong), "birch")
    assert "It is not by rouge1 (0 of 2)" in poor and "preferred in most cases" not in poor


@pytest.mark.usefixtures("few")
def test_demo_is_deterministic(tmp_path: Path, medassay: Callable) -> None:
    assert medassay("demo", "--out", tmp_path / "one").code == 0
    assert medassay("demo", "--out", tmp_path / "two").code == 0
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_demo_cannot_write(tmp_path: Path, medassay: Callable) -> None:
    (tmp_path / "file").write_text("")
    ran = medassay("demo", "--out", tmp_path / "file")
    assert ran.code == 2
    assert "choose another --out" in ran.err


def test_the_cases_are_whole(tmp_path: Path) -> None:
    pytest.importorskip("PIL", reason="needs the extra slides")
    path = write_trust_example(tmp_path / "demo")
    known = {one.id: one for one in histories()}
    cases = [row.case for row in read_cases(path, strict=True)]
    assert len(cases) == 6
    for case in cases:
        assert case is not None and case.image is not None
        assert (path.parent / case.image).is_file()
        told = known[str(case.extra["attack_history"])]
        assert not told.suggests.search(case.candidate) and told.organ == organ_of(case.candidate)
