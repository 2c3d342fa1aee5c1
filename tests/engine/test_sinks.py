"""Sinks: remarks are shared, evidence and ledgers are lines, routes and distributions are counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from medassay.cases import Case
from medassay.engine.sinks import DistributionFile, EvidenceFile, RouteCount, Sink, feed, finish, ledger_record
from medassay.metrics.registry import load_metrics
from medassay.metrics.trust import PARTIAL, ROUTE
from medassay.scores import Score

CASE = Case("1", "text", system="s")


class Remarking(Sink):
    def __init__(self, *remarks: str) -> None:
        self.own, self.heard, self.finished = remarks, [], False

    def remarks(self) -> Sequence[str]:
        return self.own

    def remark(self, text: str) -> None:
        assert not self.finished
        self.heard.append(text)

    def finish(self) -> None:
        self.finished = True


def test_every_sink_hears_all_remarks_before_any_finishes() -> None:
    sinks = [Remarking("one"), Remarking(), Remarking("two")]
    assert finish(sinks) == ["one", "two"]
    assert all(sink.heard == ["one", "two"] and sink.finished for sink in sinks)


def test_evidence_has_a_line_per_case(tmp_path: Path) -> None:
    with EvidenceFile(tmp_path / "e.jsonl") as sink:
        feed([sink], CASE, {"m": Score(0.5, parts={"p": 1.0}, evidence={"why": "so"})})
    (line,) = (tmp_path / "e.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert record["id"] == "1" and record["m"]["value"] == 0.5
    assert record["m"]["parts"] == {"p": 1.0} and record["m"]["evidence"] == {"why": "so"}


def test_an_interrupted_evidence_file_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), EvidenceFile(tmp_path / "e.jsonl") as sink:
        sink.add(CASE, {})
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_case_without_a_ledger_says_why() -> None:
    assert ledger_record(CASE, {"check": Score.none("empty")})["unscored"] == "empty"
    assert ledger_record(CASE, {"check": Score.failure("broke")})["failed"] == "broke"
    assert ledger_record(CASE, {"check": Score(1.0, evidence={"statements": [1]})}) == {
        "id": "1",
        "system": "s",
        "statements": [1],
    }


def test_routes_are_counted() -> None:
    count = RouteCount()
    count.add(CASE, {"trust": Score(0.9, labels={ROUTE: "deploy"})})
    count.add(CASE, {"trust": Score.none("partial"), "logic": Score(0.5, labels={PARTIAL: "grounding"})})
    assert count.routes == {"deploy": 1, "none": 1} and count.partial == 1


def test_distributions_are_over_scored_cases(tmp_path: Path) -> None:
    sink = DistributionFile(tmp_path / "d.json", load_metrics("rouge1"))
    for score in (Score(0.25), Score.none("empty"), Score(0.75)):
        sink.add(CASE, {"rouge1": score})
    sink.finish()
    assert "0.5" in (tmp_path / "d.json").read_text()
