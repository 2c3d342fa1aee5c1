"""`medassay demo`: what it prints and writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from medassay.cases import read_cases
from medassay.commands import demo
from medassay.commands.demo import write_trust_example
from medassay.examples import FILES, load
from medassay.metrics.histories import histories, organ_of


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demonstration on three cases of each kind."""
    cases = [replace(case, source=None) for name in FILES for case in load(name)[:6]]
    monkeypatch.setattr(demo, "read_examples", lambda: cases)


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
    names = [metric.name for metric in demo.result_of_kind(result, "clinical note").metrics]
    assert "note" in names and "hare" not in names


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
