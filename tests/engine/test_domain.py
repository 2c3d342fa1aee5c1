"""A run of a metric for pathology reports over other texts is warned about."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from medassay.cases import Case
from medassay.engine.domain import DomainCheck
from medassay.examples import example
from medassay.examples.bench import read_bench
from medassay.metrics.base import Metric
from medassay.metrics.registry import load_metric
from medassay.scores import Score


class ForReports(Metric):
    """Made for pathology reports."""

    name, summary, defined = "for_reports", "x", "x"
    made_for = "pathology report"

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return [Score(0.0) for _ in cases]


def watched(kinds: Sequence[str], metric: Metric, score: Score | None = None) -> Sequence[str]:
    watch = DomainCheck([metric])
    for kind in kinds:
        text = next(document.text for document in read_bench([kind]))
        watch.add(Case("a", text, (text,)), {metric.name: score or Score(0.5)})
    return watch.remarks()


def test_the_share_is_named_from_a_quarter_on() -> None:
    assert watched(["pathology"] * 3, ForReports()) == ()
    assert watched(["pathology"] * 9 + ["notes"], ForReports()) == ()
    (warning,) = watched(["pathology", "notes", "notes", "radiology"], ForReports())
    assert "for_reports is made for pathology reports, and 3 of 4 rows (75 %) do not read like one" in warning


def test_unscored_rows_and_other_metrics_are_left_out() -> None:
    assert watched(["notes"] * 4, ForReports(), Score.none("no")) == ()
    assert watched(["notes"] * 4, load_metric("rouge1")) == ()


def test_in_the_terminal_the_file_and_the_page(tmp_path: Path, medassay: Callable) -> None:
    scores, page = tmp_path / "scores.csv", tmp_path / "page.html"
    cases = tmp_path / "notes.csv"
    cases.write_text("".join(example("notes.csv").read_text(encoding="utf-8").splitlines(keepends=True)[:5]))
    ran = medassay("score", cases, "--metrics", "hare,rouge1", "--out", scores, "--report", page, "--resamples", 0)
    assert ran.code == 0
    expected = "hare is made for pathology reports, and 4 of 4 rows (100 %) do not read like one"
    assert expected in ran.err
    assert expected in json.loads((tmp_path / "scores.csv.meta.json").read_text())["warnings"][0]
    html = page.read_text(encoding="utf-8")
    assert '<section id="warnings"' in html and expected in html
    ran = medassay("score", cases, "--metrics", "rouge1", "--out", scores, "--resamples", 0)
    assert "made for" not in ran.err and json.loads((tmp_path / "scores.csv.meta.json").read_text())["warnings"] == []
