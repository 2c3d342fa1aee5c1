"""Sources, batches and chunks of rows."""

from __future__ import annotations

from pathlib import Path

from medassay.cases import Case, Row
from medassay.engine.base import Batches, CaseFiles, chunks


def test_chunks_have_the_size_but_for_the_last() -> None:
    rows = [Row(i, Case(str(i), "text")) for i in range(5)]
    assert [len(chunk) for chunk in chunks(rows, 2)] == [2, 2, 1]
    assert list(chunks([], 2)) == []


def test_batches_start_anew_with_each_loop_and_leave_out_bad_rows() -> None:
    rows = [Row(1, Case("a", "text")), Row(2, None, "broken"), Row(3, Case("b", "text"))]
    batches = Batches(lambda: iter(rows))
    for _ in range(2):
        assert [[case.id for case in batch] for batch in batches] == [["a", "b"]]


def test_case_files_read_the_named_columns(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("id,generated\n1,No tumor.\n")
    source = CaseFiles(str(tmp_path / "cases.csv"), {"candidate": "generated"})
    assert [[row.case.candidate for row in source() if row.case] for _ in range(2)] == [["No tumor."]] * 2
