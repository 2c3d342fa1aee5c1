"""`py:package.module:function`: a user's own function as a metric."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

import pytest

from medassay.cases import ANY_FIELD, Case, Row, make_cases
from medassay.engine.local import run
from medassay.engine.store import Store
from medassay.errors import MedassayError
from medassay.metrics.registry import load_metric, load_metrics

SOURCE = """
from medassay.metrics.rouge import Rouge1
from medassay.scores import Score

def ratio(candidate, reference):
    return len(candidate) / len(reference)

def graded(candidate, grade):
    return float(grade)

def brief(candidate, limit=3):
    return len(candidate) <= limit

def batch(cases):
    return [Score.none("too short") if len(case.candidate) < 2 else 1 for case in cases]

def lost(cases):
    return []

def nan(candidate):
    return float("nan")

def sourced(candidate, source="none given", *more, scale=1, **rest):
    return len(source) * scale

def keyed(cases):
    return [len(case.source or "") + len(case.id) for case in cases]

def narrow(cases):
    return [len(case.candidate) for case in cases]

narrow.needs = {"candidate"}

class Loose(Rouge1):
    name = "loose"

    def measure(self, cases, evidence=False):
        return [Score(float(len(case.source or ""))) for case in cases]

class Declared(Loose):
    name = "declared"
    reads = frozenset({"source"})

ready = Rouge1(stem=True)
number = 3
"""

_fresh = count()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of the user's in the current folder, under a name not imported before."""
    name = f"mine_{next(_fresh)}"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return name


def test_by_case_fields(module: str) -> None:
    metric = load_metric(f"py:{module}:ratio")
    assert metric.needs == {"candidate", "reference"} and metric.name == f"py:{module}:ratio"
    scores = metric.score([*make_cases(["ab"], ["abcd"]), Case("2", "ab")])
    assert [(s.value, s.unscored) for s in scores] == [(0.5, None), (None, "no reference")]


def test_by_a_carried_column(module: str) -> None:
    cases = [
        Case("1", "a", extra={"grade": 4}),
        Case("2", "a", extra={"grade": ""}),
        Case("3", "a", extra={"grade": "x"}),
    ]
    scores = load_metric(f"py:{module}:graded").score(cases)
    assert [s.value for s in scores] == [4.0, None, None]
    assert scores[1].unscored == "no grade"
    assert (scores[2].failed or "").startswith("ValueError: could not convert")


def test_parameters_with_defaults_are_not_needed(module: str) -> None:
    metric = load_metric(f"py:{module}:brief")
    assert metric.needs == {"candidate"}
    assert [s.value for s in metric.score([Case("1", "ab"), Case("2", "abcd")])] == [1.0, 0.0]


def test_optional_parameters_are_passed_where_the_case_has_the_field(module: str) -> None:
    metric = load_metric(f"py:{module}:sourced")
    assert (metric.needs, metric.reads) == ({"candidate"}, {"source", "scale"})
    cases = [Case("1", "a", source="four"), Case("2", "a"), Case("3", "a", source="four", extra={"scale": 3})]
    assert [score.value for score in metric.score(cases)] == [4.0, 10.0, 12.0]


def test_every_field_that_a_metric_may_read_tells_its_cases_apart(module: str, tmp_path: Path) -> None:
    cases = [Case("1", "a", ("a",), source="four"), Case("2", "a", ("a",), source="eleven here")]
    names = [f"py:{module}:{name}" for name in ("sourced", "keyed", "Loose", "Declared")]
    expected = [[4.0, 11.0], [5.0, 12.0], [4.0, 11.0], [4.0, 11.0]]
    metrics = load_metrics(names)
    assert [list(metric.fields) == [ANY_FIELD] for metric in metrics] == [False, False, True, False]
    rows = [Row(i, case) for i, case in enumerate(cases)]
    for store in (None, Store(tmp_path / "kept"), Store(tmp_path / "kept")):
        (batch,) = run(rows, metrics, store)
        assert [[one.scores[metric.name].value for one in batch] for metric in metrics] == expected
    assert load_metric(f"py:{module}:narrow").fields == {"candidate"}


def test_all_cases_at_once(module: str) -> None:
    scores = load_metric(f"py:{module}:batch").score(make_cases(["a", "ab"], ["x", "x"]))
    assert [(s.value, s.unscored) for s in scores] == [(None, "too short"), (1.0, None)]


def test_no_number_is_made_up(module: str) -> None:
    (score,) = load_metric(f"py:{module}:nan").score([Case("1", "a")])
    assert score.value is None and "finite" in (score.failed or "")
    (score,) = load_metric(f"py:{module}:lost").score(make_cases(["a"], ["a"]))
    assert score.failed == "ValueError: returned 0 scores for 1 case"


def test_a_metric_object_works_too(module: str) -> None:
    assert "stem:yes" in load_metric(f"py:{module}:ready").signature


@pytest.mark.parametrize("name", ["ratio", "Loose", "ready"])
def test_an_edit_changes_the_signature(module: str, name: str) -> None:
    before = load_metric(f"py:{module}:{name}").signature
    path = Path(f"{module}.py")
    path.write_text(path.read_text().replace("len(candidate) / len(reference)", "1.0"))
    del sys.modules[module]
    assert load_metric(f"py:{module}:{name}").signature != before


def test_an_edit_of_the_class_that_an_object_is_of_counts_too(module: str, tmp_path: Path) -> None:
    path = tmp_path / f"{module}_ready.py"
    path.write_text(f"from {module} import Loose\nready = Loose()\n")
    before = load_metric(f"py:{module}_ready:ready").signature
    other = Path(f"{module}.py")
    other.write_text(other.read_text() + "# edited\n")
    assert load_metric(f"py:{module}_ready:ready").signature != before


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ("py:{}", "write py:package.module:function"),
        ("py:{}:nothing", "cannot be imported"),
        ("py:nowhere_at_all:f", "cannot be imported"),
        ("py:{}:number", "is a int, not a function"),
    ],
)
def test_what_is_wrong_is_said(module: str, request_: str, message: str) -> None:
    with pytest.raises(MedassayError, match=message):
        load_metric(request_.format(module))
