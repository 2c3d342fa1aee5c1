"""`medassay demo`: what it prints and writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from medassay.cases import read_cases
from medassay.commands.demo import _of_kind, _preference, score_examples, write_trust_example
from medassay.examples import FILES, load
from medassay.metrics.histories import histories, organ_of
from medassay.metrics.registry import DEFAULT, load_metric
from medassay.result import Result
from medassay.scores import Score


def test_demo(tmp_path: Path, medassay: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = medassay("demo", "--out", "made/here")
    assert (ran.code, ran.err) == (0, "")
    for shown in ("pathology reports", "clinical notes", "alder", "birch", "made/here/report.html"):
        assert shown in ran.out
    assert "not for clinical decisions" in ran.out
    lines = (tmp_path / "made/here/scores.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + sum(len(load(name)) for name in FILES)
    page = (tmp_path / "made/here/report.html").read_text(encoding="utf-8")
    assert "<title>medassay demo" in page
    assert {p.name for p in (tmp_path / "made/here").iterdir()} >= {"pathology.csv", "notes.csv", "references.jsonl"}
    assert json.loads((tmp_path / "made/here/scores.csv.meta.json").read_text())["problems"] == []


def test_hare_and_expert_are_asked_of_pathology_reports_only() -> None:
    cases = [case for name in FILES for case in load(name)[:2]]
    result = score_examples(cases)
    for name in ("hare", "expert"):
        assert [score.value is not None for score in result[name]] == [True, True, False, False]
        assert result[name][3].unscored == "not asked: for pathology reports only"
    assert all(score.value is not None for score in result["rouge1"])
    assert [metric.name for metric in _of_kind(result, "clinical note").metrics] == list(DEFAULT)


def test_the_closing_words_are_computed() -> None:
    def words(value: float | None) -> str:
        cases = load("pathology.csv")
        column = [Score.none("x") if value is None else Score(value if c.system == "alder" else 0.5) for c in cases]
        metric = load_metric("rouge1")
        return _preference(Result(cases=cases, metrics=[metric], scores={"rouge1": column}), "pathology report")

    assert "so does rouge1" in words(0.9) and "Not so" not in words(0.9)
    assert "Not so rouge1" in words(0.1) and "so does" not in words(0.1)
    assert "rouge1" not in words(None)


def test_demo_is_deterministic(tmp_path: Path, medassay: Callable) -> None:
    assert medassay("demo", "--out", tmp_path / "one").code == 0
    assert medassay("demo", "--out", tmp_path / "two").code == 0
    for made in (tmp_path / "one").iterdir():
        assert made.read_bytes() == (tmp_path / "two" / made.name).read_bytes()


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
