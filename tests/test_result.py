"""The result of a run: its page and its file are those of the command line, whichever way they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import medassay
from medassay.cases import Case, read_cases
from medassay.metrics.base import Metric
from medassay.result import Result
from medassay.scores import Score

REPORT = "Colon, biopsy: Adenocarcinoma. No necrosis is seen. There is necrosis."


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.csv"
    rows = [f'{i},"{REPORT}","Colon: adenocarcinoma {i}.",{"ab"[i % 2]},"{REPORT}"' for i in range(6)]
    path.write_text("\n".join(["id,candidate,reference,system,candidate_stain", *rows]) + "\n")
    return path


def loaded(path: Path) -> list[Case]:
    return [row.case for row in read_cases(path) if row.case is not None]


@pytest.mark.parametrize("metrics", ["logic,trust", "rouge1,bleu", "hare"])
def test_a_page_is_the_same_whichever_way_it_is_asked_for(
    tmp_path: Path, cases: Path, medassay: Callable, metrics: str
) -> None:
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    assert medassay("score", cases, "--metrics", metrics, "--report", one).code == 0
    import medassay as package

    package.score(loaded(cases), metrics=metrics).report(two)
    assert one.read_bytes() == two.read_bytes()
    assert ('id="routes"' in one.read_text()) is ("trust" in metrics)


def test_the_page_of_trust_is_that_of_the_metrics_it_is_made_of(
    tmp_path: Path, cases: Path, medassay: Callable
) -> None:
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    assert medassay("trust", cases, "--report", one).code == 0
    asked = "grounding(seed=1),logic,stability,trust(grounding(seed=1),logic,stability)"
    assert medassay("score", cases, "--metrics", asked, "--report", two).code == 0
    for page in (one, two):
        text = page.read_text()
        assert 'id="routes"' in text and "medassay trust report" in text and '"route":"review"' in text


class Breaking(Metric):
    name = "breaking"
    summary = defined = "here"
    needs = frozenset({"candidate"})

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return [Score(1.0 / (case.candidate != "bad")) for case in cases]


def test_failures_are_named_and_written(tmp_path: Path) -> None:
    result = medassay.score(["good", "bad"], metrics=[Breaking()])
    told = "row 2: metric 'breaking': ZeroDivisionError: float division by zero"
    assert result.problems == [told] and result.mean == {"breaking": 1.0}
    assert "failed" in result.table() and "<th>failed</th>" in result._repr_html_()
    result.save(tmp_path / "s.csv")
    result.report(tmp_path / "r.html", resamples=0)
    assert told in (tmp_path / "s.csv.meta.json").read_text()
    assert "ZeroDivisionError: float division by zero" in (tmp_path / "r.html").read_text()
    (only,) = medassay.score(["bad"], metrics=[Breaking()]).problems
    assert only.startswith("metric 'breaking' failed on every case: ZeroDivisionError: float division by zero (test_")


def test_evidence_leaves_no_trace_on_the_metric_of_the_caller() -> None:
    metric = medassay.load_metric("rouge1")
    before = dict(vars(metric))
    result = medassay.score(["no tumor"], ["no tumor seen"], metrics=[metric])
    assert result["rouge1"][0].evidence
    with medassay.Scorer(metric) as scorer:
        assert not scorer.score_batch(["no tumor"], ["no tumor seen"])["rouge1"][0].evidence
    assert not medassay.score(["no tumor"], ["no tumor seen"], metrics=[metric], evidence=False)["rouge1"][0].evidence
    assert vars(metric) == before


def test_a_result_without_cases_is_empty() -> None:
    assert len(Result((), (), {})) == 0 and Result((), (), {}).problems == []


class ForReports(Metric):
    """Made for pathology reports."""

    name, summary, defined, made_for = "for_reports", "x", "x", "pathology report"

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return [Score(0.5) for _ in cases]


def test_a_metric_on_texts_it_is_not_made_for_is_warned_about() -> None:
    note = "Patient complains of chest pain and takes aspirin daily. Blood pressure 140/90."
    result = medassay.score([note], [note], metrics=[ForReports()])
    assert "1 of 1 rows (100 %) do not read like one" in result.warnings[0]
    assert f"Warning: {result.warnings[0]}" in repr(result) and "<p>Warning: for_reports" in result._repr_html_()
    assert medassay.score([REPORT], [REPORT], metrics=[ForReports()]).warnings == []
