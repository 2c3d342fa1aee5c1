"""The store of results: found by content, never stale, safe on damage."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from medassay.cases import Case
from medassay.engine.store import Store
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.scores import Score


class Constant(Metric):
    name = "constant"
    summary = "a constant"
    reads: frozenset[str] = frozenset()
    defined = "here"

    def __init__(self, value: float = 1.0) -> None:
        super().__init__()
        self.value = value

    def settings(self) -> Mapping[str, object]:
        return {"value": self.value}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return [Score(self.value) for _ in cases]


CASE = Case("1", "candidate", ("reference",), source="source")
SCORES = [Score(0.1 + 0.2, parts={"p": 1 / 3}, evidence={"e": [1, "x"]}, statistics=(1.0, 2.0)), Score.none("why")]


def test_what_is_put_is_found_after_reopening(tmp_path: Path) -> None:
    cases = [CASE, Case("2", "other", ("reference",))]
    with Store(tmp_path / "s") as store:
        assert store.get(Constant(), cases) == [None, None]
        store.put(Constant(), cases, SCORES)
    with Store(tmp_path / "s") as store:
        assert store.get(Constant(), cases[::-1]) == SCORES[::-1]


@pytest.mark.parametrize(
    ("metric", "case", "found"),
    [
        (Constant(), Case("other id", "candidate", ("reference",), source="other"), True),
        (Constant(2.0), CASE, False),
        (Constant(), Case("1", "candidate.", ("reference",)), False),
        (Constant(), Case("1", "candidate", ("reference", "second")), False),
    ],
)
def test_only_equal_settings_and_content_are_found(tmp_path: Path, metric: Metric, case: Case, found: bool) -> None:
    with Store(tmp_path / "s") as store:
        store.put(Constant(), [CASE], [Score(1.0)])
        assert (store.get(metric, [case]) != [None]) is found


def test_scores_without_evidence_do_not_serve_where_evidence_is_wanted(tmp_path: Path) -> None:
    metric = Constant()
    with Store(tmp_path / "s") as store:
        store.put(metric, [CASE], [Score(1.0)])
        assert store.get(metric, [CASE], evidence=True) == [None]


def test_more_keys_than_one_statement_takes(tmp_path: Path) -> None:
    cases = [Case(str(i), f"text {i}", ("r",)) for i in range(1203)]
    with Store(tmp_path / "s") as store:
        store.put(Constant(), cases, [Score(float(i)) for i in range(1203)])
        found = store.get(Constant(), cases)
    assert [score.value for score in found if score] == [float(i) for i in range(1203)]


def test_delete_leaves_nothing(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store:
        store.put(Constant(), [CASE], [Score(1.0)])
        store.delete()
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_or_impossible_file_says_what_to_do(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"this is no database, it is a text file of some length" * 40)
    for path in (broken, tmp_path / "absent" / "s", tmp_path):
        with pytest.raises(MedassayError, match=r"cannot keep results here .*--no-store"):
            Store(path)


@pytest.mark.parametrize(("version", "by"), [(0, "medassay 0.1"), (3, "a later medassay")])
def test_a_store_of_another_version_is_refused_by_name(tmp_path: Path, version: int, by: str) -> None:
    db = sqlite3.connect(tmp_path / "old.store")
    db.execute("CREATE TABLE scores (key BLOB PRIMARY KEY, score TEXT)")
    db.execute(f"PRAGMA user_version={version}")
    db.commit()
    db.close()
    with pytest.raises(MedassayError, match=rf"old\.store: this store was made by {by}, .* Delete it, .* --no-store"):
        Store(tmp_path / "old.store")
