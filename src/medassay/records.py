"""Tables as streams of records: CSV, TSV, JSONL, Parquet, standard input or a data set of the hub, a row at a time.

A record is a row's number with its cells by column, or with what is wrong with that row. Memory does not grow
with the file.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import string
import sys
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import IO, Any

from medassay.errors import InputError
from medassay.hub_data import data_set_records, is_data_set

Records = Iterator[tuple[int, Mapping[str, Any] | str]]

MAX_CELL = 4_000_000
"""Characters in one text. A longer cell is a broken quote or a wrong file far more often than a report."""
MAX_ROW = 8 * MAX_CELL
"""Characters in one row that goes over several lines."""
_FEW_LINES = 8
"""A row of no more lines is not taken for one that has swallowed others."""
_AGAIN = 8
"""Characters read again for each character of a file, at most."""
BLANKS = string.whitespace + "\x85\xa0\u2000\u2001\u2002\u2003\u2009\u200a\u202f\u3000\u200b\u200c\u200d\u2060\ufeff"
"""Invisible characters that are stripped from a column's name: spaces of any kind, byte order marks."""


def read_records(path: str | Path, *, format: str | None = None) -> Records:
    """Stream any table: row number with its cells by column, or with what is wrong with that row."""
    name = name_of(path)
    if is_data_set(path):
        yield from data_set_records(name)
        return
    if str(path) != "-" and not Path(path).exists():
        raise InputError(f"{name}: no such file")
    kind = format or kind_of(path)
    if kind not in READERS:
        raise InputError(f"{name}: unknown format '{kind}'; use .csv, .tsv, .jsonl or .parquet, or --format")
    yield from READERS[kind](path, name, kind)


def name_of(path: str | Path) -> str:
    """A file's name in messages."""
    return "standard input" if str(path) == "-" else str(path)


def kind_of(path: str | Path) -> str:
    """The format that a file's name says it has; of standard input, its first character; `hub` for a data set."""
    if is_data_set(path):
        return "hub"
    if str(path) == "-":
        return "csv" if _peek_stdin() != "{" else "jsonl"
    suffix = Path(path).suffix.lower().lstrip(".")
    return {"ndjson": "jsonl", "json": "jsonl", "pq": "parquet", "tab": "tsv", "txt": "tsv"}.get(suffix, suffix)


def standard_input() -> IO[bytes]:
    """The bytes of standard input; an error where it is closed."""
    if sys.stdin is None:
        raise InputError("standard input is closed; give a file, or pipe the cases in")
    return sys.stdin.buffer


def _peek_stdin() -> str:
    buffer = standard_input()
    head = buffer.peek(64)[:64] if isinstance(buffer, io.BufferedReader) else b""
    return head.decode("utf-8", "ignore").lstrip("﻿ \r\n\t")[:1]


def _open_text(path: str | Path, name: str) -> IO[str]:
    """UTF-8 with or without a BOM; undecodable bytes arrive as lone surrogates and are named by row."""
    try:
        if str(path) == "-":
            return io.TextIOWrapper(standard_input(), "utf-8-sig", errors="surrogateescape", newline="")
        return Path(path).open(encoding="utf-8-sig", errors="surrogateescape", newline="")
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror or error})") from error


_NOT_UTF8 = re.compile("[\udc80-\udcff]")


def _csv_records(path: str | Path, name: str, kind: str) -> Records:
    csv.field_size_limit(2 * MAX_CELL)
    with _open_text(path, name) as stream:
        yield from _CsvRows(stream, name, "\t" if kind == "tsv" else ",").records()


class _OpenQuote(Exception):
    """A row that does not end: the file, or the length of a row, does first."""


class _Lines:
    """The lines of a file for `csv.reader`; those of the current row are kept.

    The reader asks for a line at the start of a row, and inside a row only where a quote is open. So it is known when
    a file ends inside quotes, and lines that a quote has swallowed can be read again as rows of their own.
    """

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream
        self.row: list[str] = []
        """The lines of the row under way; to be emptied before the next is asked for."""
        self.waiting: deque[str] = deque()
        self.fresh = self.again = self.length = 0
        """Characters read from the file, characters read again, and characters of the row under way."""

    def __iter__(self) -> Iterator[str]:
        stream, row, waiting = self.stream, self.row, self.waiting
        while True:
            while waiting:
                self.length = self.length + len(waiting[0]) if row else len(waiting[0])
                row.append(waiting.popleft())
                yield row[-1]
            for line in stream:
                if "\0" in line:  # never part of a report; dropping it keeps the csv module and every column safe
                    line = line.replace("\0", " ")
                self.fresh += len(line)
                self.length = self.length + len(line) if row else len(line)
                row.append(line)
                if self.length > MAX_ROW and len(row) > 1:
                    raise _OpenQuote
                yield line
                if waiting:
                    break
            else:
                if row:
                    raise _OpenQuote
                return

    def read_again(self, lines: Sequence[str]) -> bool:
        """Yield the lines again; False, and nothing is done, where that would make reading slower than linear."""
        self.again += sum(map(len, lines))
        if self.again > _AGAIN * self.fresh:
            return False
        self.waiting.extendleft(reversed(lines))
        return True


class _CsvRows:
    """The rows of a CSV file. A quote that is left open costs its own row, not those that it swallows."""

    def __init__(self, stream: IO[str], name: str, delimiter: str) -> None:
        self.name, self.delimiter = name, delimiter
        self.lines = _Lines(stream)
        self.reader = csv.reader(self.lines, delimiter=delimiter)
        self.header: list[str] = []
        self.tallest = 1
        """Lines of the longest row so far."""
        self.plain_rows = self.plain_length = 0
        """Rows of one line so far, and their characters."""

    def records(self) -> Records:
        """Row number with its cells by column, or with what is wrong with that row."""
        for number in count(1):
            self.lines.row.clear()
            problem = None
            cells: list[str] = []
            try:
                cells = next(self.reader)
            except StopIteration:
                return
            except _OpenQuote:
                problem = self._open_quote()
                self.reader = csv.reader(self.lines, delimiter=self.delimiter)
            except csv.Error as error:
                problem = f"cannot be parsed ({error}); is a quote left open?"
            if len(self.lines.row) > 1 and problem is None and self.header and self._misquoted(cells):
                problem = self._open_quote()
            if problem is not None and not self.header:
                raise InputError(f"{self.name}, row {number}: the header {problem}")
            if problem is not None:
                yield number, problem + self._recovered()
            elif not cells:  # an empty line is no case but counts, so that row numbers are those of a spreadsheet
                continue
            elif not self.header:
                self.header = _csv_header(cells, self.name)
            else:
                if len(self.lines.row) == 1:
                    self.plain_rows += 1
                    self.plain_length += self.lines.length
                yield number, _csv_record(self.header, cells)

    def _misquoted(self, cells: list[str]) -> bool:
        """Whether a row of several lines owes them to a quote that was meant to end earlier, or never to begin.

        Either a quote inside it is followed by more text; or the lines that it has swallowed look like rows, and the
        row has not the cells that it should have, or is far longer than those before it (a program that writes CSV
        would have doubled the quotes of such a text, if it has any).
        """
        lines = self.lines.row
        try:
            for _ in csv.reader(lines, delimiter=self.delimiter, strict=True):
                pass
        except csv.Error:
            return True
        far = len(lines) > max(_FEW_LINES, 4 * self.tallest) and not any('""' in line for line in lines)
        if (far or len(cells) != len(self.header)) and self._look_like_rows(lines[1:]):
            return True
        self.tallest = max(self.tallest, len(lines))
        return False

    def _look_like_rows(self, lines: Sequence[str]) -> bool:
        """Whether lines could be rows: nearly all have as many cells as the header, and the length of rows.

        Of a report that ends too late it would be wrong to make cases: a table of values in it has cells, but is short.
        """
        like = [len(self._cells(line)) == len(self.header) for line in lines if line.strip()]
        if len(self.header) < 2 or not like or not like[-1] or sum(like) < 0.8 * len(like):
            return False
        usual = self.plain_length / self.plain_rows if self.plain_rows else len(self.lines.row[0])
        return usual / 3 <= sum(map(len, lines)) / len(like) <= 3 * usual

    def _cells(self, line: str) -> list[str]:
        try:
            return next(csv.reader([line], delimiter=self.delimiter), [])
        except csv.Error:
            return []

    def _open_quote(self) -> str:
        column = self.header[min(len(self._cells(self.lines.row[0])), len(self.header)) - 1] if self.header else ""
        where = f"column '{column}': " if column else ""
        return f"{where}a quote is opened and not closed; close it, or double each quote inside a text"

    def _recovered(self) -> str:
        """What becomes of the lines after the first of a row that is left out."""
        swallowed = self.lines.row[1:]
        if not swallowed:
            return ""
        lines = f"{len(swallowed):,} line{'s' if len(swallowed) > 1 else ''}"
        if self._look_like_rows(swallowed) and self.lines.read_again(swallowed):
            return f" (the {lines} it would swallow are read as rows of their own)"
        return f" (the {lines} up to the next quote are left out with it)"


def _csv_header(cells: list[str], name: str) -> list[str]:
    header = [cell.strip(BLANKS) for cell in cells]
    if any(_NOT_UTF8.search(cell) for cell in header):
        raise InputError(f"{name}, row 1: the header is not UTF-8 (UTF-16 or Latin-1?); save the file as UTF-8")
    twice = [column for column, times in Counter(header).items() if times > 1]
    if twice:
        raise InputError(f"{name}, row 1: column '{min(twice)}' stands twice in the header; rename one")
    return header


def _csv_record(header: list[str], cells: list[str]) -> Mapping[str, Any] | str:
    if len(cells) != len(header):
        return f"{len(cells)} cells where the header has {len(header)} columns; is a comma or quote unescaped?"
    if cells[-1] == header[-1] and [cell.strip(BLANKS) for cell in cells] == header:
        return "repeats the header; were several files joined?"
    for column, cell in zip(header, cells):
        if not cell.isascii() and _NOT_UTF8.search(cell):
            return f"column '{column}': not UTF-8 (Latin-1?); save the file as UTF-8"
    return dict(zip(header, cells))


class _DuplicateKey(ValueError):
    """A key that an object has twice: it is not known which of its values is meant."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        key = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise _DuplicateKey(f"column '{key}': stands twice in the object; remove one")
    return record


def _jsonl_records(path: str | Path, name: str, kind: str) -> Records:
    with _open_text(path, name) as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            if _NOT_UTF8.search(line):
                yield number, "not UTF-8 (Latin-1?); save the file as UTF-8"
                continue
            try:
                record = json.loads(line.lstrip("\ufeff") if number == 1 else line, object_pairs_hook=_object)
            except _DuplicateKey as error:
                yield number, str(error)
                continue
            except (ValueError, RecursionError) as error:
                yield number, f"not JSON ({error}); the file needs one object per line"
                continue
            yield (
                number,
                record if isinstance(record, dict) else f"expected an object, found {type(record).__name__}",
            )


def _check_parquet(path_or_file: str | io.BytesIO) -> None:
    """Check both ends of the file, so that a truncated one is reported plainly before the reader panics."""
    with Path(path_or_file).open("rb") if isinstance(path_or_file, str) else nullcontext(path_or_file) as stream:
        start = stream.read(4)
        size = stream.seek(0, io.SEEK_END)
        stream.seek(max(0, size - 8))
        tail = stream.read(8)
        stream.seek(0)
    if start != b"PAR1" or tail[4:] != b"PAR1" or int.from_bytes(tail[:4], "little") > size - 12:
        raise ValueError("its first or last bytes are not those of Parquet")


def _parquet_records(path: str | Path, name: str, kind: str) -> Records:
    from arro3.io import read_parquet

    if str(path) == "-":
        path_or_file: Any = io.BytesIO(standard_input().read())
    else:
        path_or_file = str(path)
    try:
        _check_parquet(path_or_file)
        batches = read_parquet(path_or_file)
        number = 0
        twice = [column for column, times in Counter(batches.schema.names).items() if times > 1]
        if twice:
            raise InputError(f"{name}: column '{min(twice)}' stands twice; rename one")
        for batch in batches:
            columns = {n: batch.column(n).to_pylist() for n in batch.schema.names}
            for values in zip(*columns.values()):
                number += 1
                yield number, dict(zip(columns, values))
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror or error})") from error
    except BaseException as error:
        # arro3 raises its own types for a broken file; one of them, a panic, is not even an Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise InputError(f"{name}: not a readable Parquet file ({error}); was the download cut short?") from error


READERS: dict[str, Callable[[str | Path, str, str], Records]] = {
    "csv": _csv_records,
    "tsv": _csv_records,
    "jsonl": _jsonl_records,
    "parquet": _parquet_records,
}


class FirstSeenIndex:
    """The number under which each key was first seen. Two arrays as a hash table: 16 to 32 bytes per key of any length.

    Keys are known by 64 bits of their hash: among ten million, two that differ are taken for equal with a chance
    of three in a million.
    """

    def __init__(self) -> None:
        self.count = 0
        self.marks = array("Q", bytes(8 * 1024))
        self.numbers = array("Q", bytes(8 * 1024))

    def add(self, key: bytes, number: int) -> int | None:
        """None for a new key, which now has this number; else the number it had."""
        mark = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest()) or 1  # 0 marks a free slot
        at = self._find(mark)
        if self.marks[at]:
            return self.numbers[at]
        self.marks[at], self.numbers[at] = mark, number
        self.count += 1
        if 3 * self.count > 2 * len(self.marks):
            self._grow()
        return None

    def _find(self, mark: int) -> int:
        """The slot of a mark, or the free one where it belongs."""
        marks, last = self.marks, len(self.marks) - 1
        at = mark & last
        while marks[at] and marks[at] != mark:
            at = (at + 1) & last
        return at

    def _grow(self) -> None:
        marks, numbers = self.marks, self.numbers
        self.marks = array("Q", bytes(16 * len(marks)))
        self.numbers = array("Q", bytes(16 * len(marks)))
        for mark, number in zip(marks, numbers):
            if mark:
                at = self._find(mark)
                self.marks[at], self.numbers[at] = mark, number
