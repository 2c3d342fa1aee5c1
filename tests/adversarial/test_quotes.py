"""Quotes that are left open: the row is named, and the rows that it would swallow are read all the same."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adversarial.commands import read_csv

from medassay.errors import InputError
from medassay.records import read_records

HEADER = "id,candidate,reference"


def read(path: Path, text: str) -> tuple[list[str], list[tuple[int, str]]]:
    """The ids of the rows that can be read, and the problems of the others."""
    path.write_text(text, encoding="utf-8", newline="")
    records = list(read_records(path))
    good = [record["id"] for _, record in records if not isinstance(record, str)]
    return good, [(number, record) for number, record in records if isinstance(record, str)]


def rows(count: int, start: int = 0) -> list[str]:
    return [f"{k},Tubular adenoma {k}.,No tumour {k}." for k in range(start, start + count)]


@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("at", [1, 250, 498])
def test_one_open_quote_costs_one_case_of_499(tmp_path: Path, medassay: Callable, at: int, column: int) -> None:
    lines = rows(499)
    cells = lines[at].split(",")
    cells[column] = '"' + cells[column]
    lines[at] = ",".join(cells)
    cases, out = tmp_path / "cases.csv", tmp_path / "s.csv"
    cases.write_text("\n".join([HEADER, *lines]) + "\n")
    ran = medassay("score", cases, "--metrics", "rouge1", "--resamples", 0, "--out", out)
    assert ran.code == 1
    name = HEADER.split(",")[column]
    assert f"{cases}, row {at + 2}: column '{name}': a quote is opened and not closed" in ran.err
    assert [row["id"] for row in read_csv(out)] == [str(k) for k in range(499) if k != at]
    ran = medassay("score", cases, "--metrics", "rouge1", "--strict")
    assert ran.code == 2 and f"row {at + 2}: " in ran.err


def test_the_next_quote_of_the_file_does_not_hide_it(tmp_path: Path) -> None:
    for closing in ('300,x,"quoted"', '300,x,"quoted, with a comma"', '300,x,5 inch"', '"300",x,y', '300,"x",y'):
        lines = [*rows(100), '100,x,"open', *rows(100, 101), closing, *rows(50, 400)]
        good, bad = read(tmp_path / "c.csv", "\n".join([HEADER, *lines]) + "\n")
        assert [number for number, _ in bad] == [102], (closing, bad)
        assert good == [line.split(",")[0].strip('"') for line in lines if line != '100,x,"open'], closing


def test_a_file_that_ends_inside_quotes_is_named_with_its_row(tmp_path: Path) -> None:
    good, bad = read(tmp_path / "c.csv", f'{HEADER}\n1,x,y\n2,x,"cut sho')
    assert good == ["1"] and bad[0][0] == 3 and "a quote is opened and not closed" in bad[0][1]
    # Lines that do not look like rows belong to the text; none of them becomes a case.
    for line in ("Section {}: no tumour", "K,{},mmol"):
        report = "\n".join(line.format(k) for k in range(30))
        good, bad = read(tmp_path / "c.csv", f'{HEADER}\n1,{"x" * 80},y\n2,x,"{report}\n')
        assert good == ["1"] and len(bad) == 1
        assert "the 29 lines up to the next quote are left out with it" in bad[0][1]


def test_a_header_with_an_open_quote_stops_the_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="row 1: the header"):
        read(tmp_path / "c.csv", 'id,candidate,"reference\n1,x,y\n2,x,y\n')


def test_every_row_with_an_open_quote(tmp_path: Path) -> None:
    lines = [f'{k},x,"y' for k in range(200)]
    good, bad = read(tmp_path / "c.csv", "\n".join([HEADER, *lines]) + "\n")
    assert good == [] and [number for number, _ in bad] == list(range(2, 202))


def test_long_reports_with_line_breaks_are_left_alone(tmp_path: Path) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(HEADER.split(","))
    reports = {
        "short": "One line.",
        "long": "\n".join(f'Line {k}, with a comma, and a "quote"' for k in range(400)),
        "listed": "\n".join(f"{k}, one comma" for k in range(50)),
        "values": "\n".join(f"Na,{k},mmol" for k in range(50)) + "\n" + "x" * 100,
        "blank": "\n\n\n",
        "end": 'He said "no"',
    }
    for name, text in reports.items():
        writer.writerow([name, text, "x"])
    good, bad = read(tmp_path / "c.csv", stream.getvalue())
    assert (good, bad) == (list(reports), [])


def test_a_quote_inside_an_unquoted_cell_is_a_character(tmp_path: Path) -> None:
    good, bad = read(tmp_path / "c.csv", f'{HEADER}\n1,5" mass,a "word"\n2,"sloppy" end,y\n')
    assert (good, bad) == (["1", "2"], [])


@pytest.mark.parametrize(
    "line", ['x","y\n', '"\n', 'a"","\n', 'a,"x\n', '"""\n', 'a,"b","\n', '","\n', '"a"b,"\n'], ids=repr
)
def test_hostile_quotes_end_in_linear_time(tmp_path: Path, line: str) -> None:
    path = tmp_path / "c.csv"
    path.write_text("id,candidate\n" + line * 60_000)
    started = time.monotonic()
    count = sum(1 for _ in read_records(path))
    assert count >= 1 and time.monotonic() - started < 20


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.text('a",\n\r x', max_size=12), min_size=3, max_size=3), min_size=1, max_size=8))
def test_what_a_csv_writer_wrote_is_read_as_it_was(tmp_path_factory: pytest.TempPathFactory, table: list) -> None:
    path = tmp_path_factory.mktemp("csv") / "c.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([["h1", "h2", "h3"], *table])
    assert [list(record.values()) for _, record in read_records(path) if not isinstance(record, str)] == table
