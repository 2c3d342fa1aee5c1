"""The bundled cases keep what they promise, and the demonstration runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from medassay.errors import InputError
from medassay.examples import FILES, _of_kind, _preference, example, load, score_examples
from medassay.metrics.registry import DEFAULT, load_metric
from medassay.scores import Result, Score


@pytest.mark.parametrize("name", FILES)
def test_two_systems_on_every_case(name: str) -> None:
    cases = load(name)
    assert len({case.id for case in cases}) >= 14
    for case in cases:
        (twin,) = [other for other in cases if other.id == case.id and other.system != case.system]
        assert (twin.references, twin.source, twin.extra["topic"]) == (
            case.references,
            case.source,
            case.extra["topic"],
        )
        assert {case.system, twin.system} == {"alder", "birch"}
        assert case.has("reference")
        assert (case.source is not None) is (name == "notes.csv")


@pytest.mark.parametrize("name", FILES)
def test_planted_errors_and_scores_agree(name: str) -> None:
    for case in load(name):
        error, human = str(case.extra["error"]), float(str(case.extra["human_score"]))
        assert 0 <= human <= 5
        assert error.startswith("none") is (human == 5)
        if error == "none (copy)":
            assert case.candidate == case.reference
        else:
            assert case.candidate != case.reference


def test_several_references() -> None:
    cases = load("references.jsonl")
    assert len(cases) >= 5
    assert all(len(case.references) >= 2 for case in cases)


def test_an_unknown_example() -> None:
    with pytest.raises(
        InputError, match=r"no example 'x\.csv'; there are pathology\.csv, notes\.csv, references\.jsonl"
    ):
        example("x.csv")


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
