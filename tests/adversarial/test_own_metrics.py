"""Metrics of a user's own that would take another's name, another's columns or change what they are given."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

import medassay
from medassay.cases import Case, Columns
from medassay.metrics.registry import load_metric, load_metrics

SOURCE = """
from medassay import Metric, Score
from medassay.metrics.rouge import Rouge1

class Mine(Metric):
    name, summary, defined = "rouge1", "mine", "here"
    def measure(self, cases, evidence=False):
        return [Score(42.0) for _ in cases]

class Own(Mine):
    name = "own"

class Other(Mine):
    name = "own"

ready = Rouge1(stem=True)

def rouge1(candidate):
    return 42.0

def columns(candidate, row, key, has, digest="", extra=""):
    return float(row) + float(key) + float(has)

def many(references):
    return len(references)

def changes(cases):
    for case in cases:
        case.extra["grade"] = 99
    return [1.0 for _ in cases]

def sorts(cases):
    cases.sort(key=lambda case: case.id, reverse=True)
    cases.clear()
    raise ValueError("after the harm")
"""

_fresh = count()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"hostile_{next(_fresh)}"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return name


@pytest.mark.parametrize("attribute", ["Mine", "ready", "rouge1"])
def test_a_name_of_ours_is_never_taken(module: str, attribute: str) -> None:
    for requests in ([f"py:{module}:{attribute}", "rouge1"], ["rouge1", f"py:{module}:{attribute}"]):
        metrics = {metric.name: metric for metric in load_metrics(requests)}
        assert set(metrics) == {"rouge1", f"py:{module}:{attribute}"}
        assert metrics["rouge1"].signature == load_metric("rouge1").signature


def test_a_metric_object_with_a_name_of_ours_is_refused(module: str) -> None:
    load_metric(f"py:{module}:Own")
    mine = sys.modules[module].Mine()
    with pytest.raises(
        medassay.MedassayError, match=rf"{module}:Mine is called 'rouge1', .*medassay.metrics.rouge:Rouge1"
    ):
        medassay.score(["a"], ["a"], metrics=[mine])


def test_two_of_theirs_with_one_name_are_both_named(module: str) -> None:
    with pytest.raises(medassay.MedassayError, match=rf"two metrics are called 'own': {module}:Own .*{module}:Other"):
        load_metrics(f"py:{module}:Own,py:{module}:Other")
    assert len(load_metrics(f"py:{module}:Own,py:{module}:Own")) == 1


def test_parameters_are_columns_whatever_a_case_has_of_that_name(module: str) -> None:
    metric = load_metric(f"py:{module}:columns")
    full = Case("1", "a", extra={"row": 1, "key": "2", "has": 3.5}, row=77)
    scores = metric.score([full, Case("2", "a", extra={"row": 1, "key": 2}, row=78), Case("3", "a")])
    assert [(score.value, score.unscored) for score in scores] == [(6.5, None), (None, "no has"), (None, "no has")]
    assert full.digest(["row"]) == replace(full, row=5).digest(["row"])
    assert full.digest(["row"]) != replace(full, extra={"row": 2}).digest(["row"])
    assert not Case("1", "a").has("digest") and Case("1", "a").value("row") is None


def test_references_are_all_of_them(module: str) -> None:
    scores = load_metric(f"py:{module}:many").score([Case("1", "a", ("x", "y")), Case("2", "a")])
    assert [(score.value, score.unscored) for score in scores] == [(2.0, None), (None, "no references")]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_metric_that_changes_a_case_fails_and_changes_nothing(
    module: str, tmp_path: Path, medassay: Callable, workers: int
) -> None:
    cases, out = tmp_path / "cases.csv", tmp_path / "scores.jsonl"
    cases.write_text("id,candidate,reference,grade\n1,a,a,3\n2,b,b,4\n")
    metrics = f"py:{module}:changes,rouge1"
    ran = medassay("score", cases, "--metrics", metrics, "--out", out, "--workers", workers)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["grade"] for row in rows] == ["3", "4"]
    assert [row["rouge1"] for row in rows] == [1.0, 1.0]
    assert "cannot be changed" in ran.err and ran.code == 2


def test_a_metric_that_changes_the_list_loses_no_row(module: str) -> None:
    scores = load_metric(f"py:{module}:sorts").score([Case(str(i), "a", ("a",)) for i in range(3)])
    assert [score.failed for score in scores] == ["ValueError: after the harm"] * 3


def test_columns_cannot_be_changed_and_travel() -> None:
    case = Case("1", "a", extra={"grade": 3})
    for harm in (
        lambda extra: extra.update(grade=1),
        lambda extra: extra.pop("grade"),
        lambda extra: extra.clear(),
        lambda extra: extra.setdefault("new", 1),
        lambda extra: extra.__delitem__("grade"),
        lambda extra: extra.popitem(),
        lambda extra: extra.__ior__({"grade": 1}),
    ):
        with pytest.raises(TypeError, match="cannot be changed"):
            harm(case.extra)
    copied = pickle.loads(pickle.dumps(case))
    assert copied == case and type(copied.extra) is Columns
    given = {"grade": 3}
    kept = Case("1", "a", extra=given)
    given["grade"] = 4
    assert kept.extra == {"grade": 3}
