"""Tables as streams of records: CSV, TSV, JSONL, Parquet or standard input, a row at a time.

A record is a row's number with its cells by column, or with what is wrong with that row. Memory does not grow
with the file.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

from medassay.errors import InputError

Records = Iterator[tuple[int, Mapping[str, Any] | str]]

MAX_CELL = 4_000_000
"""Characters in one text. A longer cell is a broken quote or a wrong file far more often than a report."""


def read_records(path: str | Path, *, format: str | None = None) -> Records:
    """Stream any table: row number with its cells by column, or with what is wrong with that row."""
    name = name_of(path)
    if str(path) != "-" and not Path(path).exists():
        raise InputError(f"{name}: no such file")
    kind = format or kind_of(path)
    if kind not in READERS:
        raise InputError(f"{name}: unknown format '{kind}'; use .csv, .tsv, .jsonl or .parquet, or --format")
    yield from READERS[kind](path, name, kind)


def name_of(path: str | Path) -> str:
    """What messages call a file."""
    return "standard input" if str(path) == "-" else str(path)


def kind_of(path: str | Path) -> str:
    """The format that a file's name says it has; of standard input, its first character."""
    if str(path) == "-":
        return "csv" if _peek_stdin() != "{" else "jsonl"
    suffix = Path(path).suffix.lower().lstrip(".")
    return {"ndjson": "jsonl", "json": "jsonl", "pq": "parquet", "tab": "tsv", "txt": "tsv"}.get(suffix, suffix)


def _peek_stdin() -> str:
    buffer = sys.stdin.buffer
    head = buffer.peek(64)[:64] if isinstance(buffer, io.BufferedReader) else b""
    return head.decode("utf-8", "ignore").lstrip("﻿ \r\n\t")[:1]


def _open_text(path: str | Path, name: str) -> IO[str]:
    """UTF-8 with or without a BOM; undecodable bytes arrive as lone surrogates and are named by row."""
    try:
        if str(path) == "-":
            return io.TextIOWrapper(sys.stdin.buffer, "utf-8-sig", errors="surrogateescape", newline="")
        return Path(path).open(encoding="utf-8-sig", errors="surrogateescape", newline="")
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror or error})") from error


_NOT_UTF8 = re.compile("[\udc80-\udcff]")


def _csv_records(path: str | Path, name: str, kind: str) -> Records:
    csv.field_size_limit(2 * MAX_CELL)
    with _open_text(path, name) as stream:
        # A NUL is never part of a report; dropping it here keeps the csv module and every column safe.
        lines = (line.replace("\0", " ") for line in stream)
        reader = csv.reader(lines, delimiter="\t" if kind == "tsv" else ",")
        header: list[str] | None = None
        number = 0
        while True:
            number += 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield number, f"cannot be parsed ({error}); is a quote left open?"
                continue
            # An empty line is no case but counts, so that row numbers are those of a spreadsheet.
            if not cells:
                continue
            if header is None:
                header = _csv_header(cells, name)
            else:
                yield number, _csv_record(header, cells)


def _csv_header(cells: list[str], name: str) -> list[str]:
    header = [cell.strip() for cell in cells]
    if any(_NOT_UTF8.search(cell) for cell in header):
        raise InputError(f"{name}, row 1: the header is not UTF-8 (UTF-16 or Latin-1?); save the file as UTF-8")
    twice = {h for h in header if header.count(h) > 1}
    if twice:
        raise InputError(f"{name}, row 1: column '{sorted(twice)[0]}' stands twice in the header; rename one")
    return header


def _csv_record(header: list[str], cells: list[str]) -> Mapping[str, Any] | str:
    if len(cells) != len(header):
        return f"{len(cells)} cells where the header has {len(header)} columns; is a comma or quote unescaped?"
    for column, cell in zip(header, cells):
        if not cell.isascii() and _NOT_UTF8.search(cell):
            return f"column '{column}': not UTF-8 (Latin-1?); save the file as UTF-8"
    return dict(zip(header, cells))


def _jsonl_records(path: str | Path, name: str, kind: str) -> Records:
    with _open_text(path, name) as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            if _NOT_UTF8.search(line):
                yield number, "not UTF-8 (Latin-1?); save the file as UTF-8"
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                yield number, f"not JSON ({error}); the file needs one object a line"
                continue
            yield (
                number,
                record if isinstance(record, dict) else f"expected an object, found {type(record).__name__}",
            )


def _check_parquet(path_or_file: str | io.BytesIO) -> None:
    """Look at both ends of the file: a cut one is told plainly, before the reader panics over it."""
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
        path_or_file: Any = io.BytesIO(sys.stdin.buffer.read())
    else:
        path_or_file = str(path)
    try:
        _check_parquet(path_or_file)
        batches = read_parquet(path_or_file)
        number = 0
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
