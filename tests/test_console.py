"""What commands share: bars with totals and time left."""

from __future__ import annotations

import io
from contextlib import redirect_stderr
from pathlib import Path

import pytest

from medassay import console
from medassay.examples import example


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def usual_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TERM": "xterm", "COLUMNS": "120"}.items():
        monkeypatch.setenv(name, value)


def counted(path: object, format: str | None = None) -> int | None:
    with redirect_stderr(Terminal()):
        return console.count_rows(str(path), format)


def bar(total: int | None) -> str:
    with redirect_stderr(Terminal()) as stream:
        assert list(console.scoring_progress(iter([[1, 2], [3]]), total)) == [[1, 2], [3]]
    return stream.getvalue()


def test_rows_are_counted_for_a_terminal_alone() -> None:
    assert counted(example("notes.csv")) == 72
    with redirect_stderr(io.StringIO()):
        assert console.count_rows(str(example("notes.csv"))) is None


def test_a_folder_counts_as_its_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('candidate\nx\n"two\nlines"\n')
    (tmp_path / "b.jsonl").write_text('{"candidate": "x"}\n')
    (tmp_path / "notes.txt").write_text("no cases\n")
    assert counted(tmp_path) == 3


def test_no_total_where_none_can_be_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert counted("-") is None
    assert counted(tmp_path / "absent.csv") is None
    assert counted(tmp_path) is None
    assert counted("/dev/null", "csv") is None
    monkeypatch.setattr(console, "COUNTED_BYTES", 10)
    assert counted(example("notes.csv")) is None


def test_a_bar_names_the_total_and_the_time_left() -> None:
    assert "scoring, 3 of 4 cases" in bar(4)
    assert "left" in bar(4)


def test_without_a_total_it_only_counts() -> None:
    assert "scoring, 3 cases" in bar(None)
    assert "left" not in bar(None)
