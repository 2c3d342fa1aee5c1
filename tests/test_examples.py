"""The bundled cases keep what they promise, and the demonstration runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from medassay.errors import InputError
from medassay.examples import FILES, example, load


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
