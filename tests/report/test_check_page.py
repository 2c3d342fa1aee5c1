"""The page of `medassay check` as text: what it carries, what it refuses, what it counts."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.language.checker_double import OverlapChecker, installed
from tests.report.reader import PageReader
from tests.report.sample import FEVER, HOSTILE

from medassay.cases import Case
from medassay.metrics.statement_check import StatementCheck
from medassay.report import check_page
from medassay.report.check_page import CheckPage
from medassay.report.check_summary import CheckSummary


@pytest.fixture
def metric() -> Iterator[StatementCheck]:
    with installed(OverlapChecker()):
        yield StatementCheck()


def page_of(metric: StatementCheck, cases: list[Case]) -> PageReader:
    summary = CheckSummary()
    page = CheckPage(Path("unused.html"), metric, summary)
    for case, score in zip(cases, metric.score(cases)):
        summary.add(case, {"check": score})
        page.add(case, {"check": score})
    return PageReader(page.html())


def test_each_statement_is_carried_with_the_verdict_that_counts(metric: StatementCheck) -> None:
    (case,) = page_of(metric, [FEVER]).data["cases"]
    assert case["v"] == [2, 1, 0, 1, 1]  # problems, wrong, unsupported, missing, critical
    rows = case["e"]["0"]["s"]
    shown = [(row[0], row[3], row[4], row[5]) for row in rows]  # of, text, against, verdict
    assert shown == [
        (0, "She has fever of 39 degrees", 1, 2),  # contradicted by the reference
        (0, "She takes ibuprofen daily", 2, 0),  # supported by the source
        (0, "She denies cough", 1, 0),
        (1, "She has fever of 38 degrees", 0, 2),
        (1, "She denies cough", 0, 0),
        (1, "She has severe nausea", 0, 1),  # missing
    ]
    reference = FEVER.references[0]
    assert reference[rows[0][7] : rows[0][8]] == "She has fever of 38 degrees."
    assert rows[1][11][:2] == [1, 1]  # what the reference said of it: not stated


def test_hostile_text_stays_data(metric: StatementCheck) -> None:
    text = f"She came in because of pain that had begun at home on the evening before. {HOSTILE}"
    hostile = Case(HOSTILE, text, (text,), system=HOSTILE, row=1)
    reader = page_of(metric, [hostile])
    assert not [tag for tag, _ in reader.elements if tag == "img"]
    assert len([tag for tag, _ in reader.elements if tag == "script"]) == 2
    assert not [name for _, attributes in reader.elements for name in attributes if name.startswith("on")]
    (case,) = reader.data["cases"]
    assert case["i"] == HOSTILE and HOSTILE in reader.data["texts"][case["c"]]


def test_the_policy_admits_the_pages_own_script_and_style_alone(metric: StatementCheck) -> None:
    reader = page_of(metric, [FEVER])
    policy = next(a["content"] for _, a in reader.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None and policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    own = [text for _, attributes, text in reader.raw if attributes.get("type") != "application/json"]
    digests = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in own}
    assert set(re.findall(r"'sha256-([^']+)'", policy)) == digests
    assert not [a for _, a in reader.elements if "style" in a or "src" in a]


def test_a_case_that_cannot_be_judged_is_carried_with_its_reason(metric: StatementCheck) -> None:
    reader = page_of(metric, [FEVER, Case("b", "She has fever.", row=3)])
    case = reader.data["cases"][1]
    assert case["v"] == [None] * 5 and "no reference and no source" in case["u"]["0"]
    assert "no reference and no source; it needs one of them 1" in reader.text


def test_what_does_not_fit_is_left_out_and_said_so(metric: StatementCheck, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_page, "EXPLAINED", 2)
    reader = page_of(metric, [Case(str(i), f"She has fever {i}.", ("She has fever.",), row=i) for i in range(5)])
    assert len(reader.data["cases"]) == 2
    assert "this page carries the first 2 for reading" in reader.text


def test_the_same_run_gives_the_same_page(metric: StatementCheck) -> None:
    def html() -> str:
        summary = CheckSummary()
        page = CheckPage(Path("unused.html"), metric, summary)
        for sink in (summary, page):
            sink.add(FEVER, {"check": metric.score([FEVER])[0]})
        return page.html()

    assert html() == html()


def test_lone_surrogates_are_written(metric: StatementCheck, tmp_path: Path) -> None:
    summary = CheckSummary()
    page = CheckPage(tmp_path / "p.html", metric, summary)
    case = Case("a", "She has fever \ud800.", ("She has fever.",), row=1)
    scores: dict[str, Any] = {"check": metric.score([case])[0]}
    summary.add(case, scores)
    page.add(case, scores)
    page.finish()
    assert (tmp_path / "p.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_page_counts_by_system(metric: StatementCheck) -> None:
    text = page_of(metric, [FEVER]).text
    assert "supported 2 (67 %) unsupported 0 (0 %) wrong 1 (33 %)" in text
    assert "stated 1 (33 %) missing 1 (33 %) misstated 1 (33 %)" in text
    assert "wrong: value 1" in text and "missing: finding 1" in text
