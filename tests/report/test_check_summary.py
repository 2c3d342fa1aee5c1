"""Counts of a check, and the same in the terminal."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from rich.console import Console
from tests.language.checker_double import OverlapChecker, installed
from tests.report.sample import FEVER

from medassay.cases import Case
from medassay.metrics.statement_check import StatementCheck
from medassay.report.check_summary import CheckSummary, print_check


@pytest.fixture(autouse=True)
def checker() -> Iterator[OverlapChecker]:
    double = OverlapChecker()
    with installed(double):
        yield double


def summary_of(candidate: str) -> CheckSummary:
    case = Case("id\x1b[31m", candidate, ("She has fever of 38 degrees.",), system="S", row=1)
    summary = CheckSummary()
    summary.add(case, {"check": StatementCheck().score([case])[0]})
    return summary


def test_the_summary_fits_the_terminal_and_hides_control_characters() -> None:
    long = "She has fever of 39 degrees, " + "and very much more of it on every single day " * 4
    stream = io.StringIO()
    print_check(Console(file=stream, width=60, force_terminal=True, color_system="standard"), summary_of(long))
    shown = stream.getvalue()
    assert "\x1b[31mid" not in shown and r"id\x1b[31m" in shown
    stream = io.StringIO()
    print_check(Console(file=stream, width=60, force_terminal=True, color_system=None), summary_of(long))
    assert max(map(len, stream.getvalue().splitlines())) <= 60


def test_counts_kinds_and_the_worst_statement_by_group() -> None:
    metric, summary = StatementCheck(), CheckSummary()
    empty = Case("b", "", FEVER.references, system="alder", row=3)
    for case, score in zip([FEVER, empty], metric.score([FEVER, empty])):
        summary.add(case, {"check": score})
    group = summary.groups["alder"]
    assert (group.cases, group.unjudged) == (2, 1)
    assert (group.counts["supported"], group.counts["contradicted"], group.counts["missed"]) == (2, 1, 1)
    assert group.share("contradicted") == 1 / 3 and group.share("missed") == 1 / 3
    assert group.kinds["wrong", "value"] == 1 and group.kinds["missing", "finding"] == 1
    assert [example.id for example in summary.worst] == ["a", "a"]
