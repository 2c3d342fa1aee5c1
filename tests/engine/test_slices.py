"""Rows cut into slices: each content is measured once, in order."""

from __future__ import annotations

from pathlib import Path

from tests.engine.sample import Deadly, rows

from medassay.engine.local import Local
from medassay.engine.slices import SliceRunner
from medassay.engine.store import Store
from medassay.engine.workers import WorkerPool


def test_equal_content_is_measured_once_though_it_is_under_way(tmp_path: Path) -> None:
    submitted: list[list[str]] = []

    class Watched(WorkerPool):
        def submit(self, units, *, texts):  # type: ignore[no-untyped-def]
            submitted.extend([case.candidate for case in unit.cases] for unit in units)
            return super().submit(units, texts=texts)

    metric = Deadly()
    pool = Watched([metric], 2)
    texts = [str(i % 12) for i in range(40)]
    try:
        with Store(tmp_path / "s") as store:
            scored = [row for batch in SliceRunner(pool, store).run(rows(texts), [metric], 8) for row in batch]
    finally:
        pool.close()
    assert [row.scores["deadly"].value for row in scored] == [float(text) for text in texts]
    assert submitted == [[str(i) for i in range(8)], ["8", "9", "10", "11"]]


def test_the_first_rows_have_evidence_where_that_is_asked_for() -> None:
    given = rows([str(i) for i in range(12)])
    batches = list(Local(1).score(lambda: given, [Deadly()], None, batch=4, evidence=5))
    shown = [bool(row.scores["deadly"].evidence) for batch in batches for row in batch]
    assert shown == [True] * 8 + [False] * 4
