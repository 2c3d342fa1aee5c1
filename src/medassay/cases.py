"""Cases: what is to be judged, read from CSV, TSV, JSONL, Parquet or standard input.

A file is read as a stream of `Row`s: each is a `Case`, or the problem that row has. Memory does not
grow with the file. Columns are those of the case table (`id, candidate, reference, source, image,
system`; `reference_2`, `reference_3` … for further references); any other column is carried through.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from medassay.errors import InputError, nearest

FIELDS = ("id", "candidate", "reference", "source", "image", "system")
MAX_CELL = 4_000_000
"""Characters in one text. A longer cell is a broken quote or a wrong file far more often than a report."""

_NUMBERED_REFERENCE = re.compile(r"reference_([2-9]|[1-9][0-9]+)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
"""Control characters and lone surrogates: the former never belong to a report, the latter cannot be written."""

Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Case:
    """One text to be judged, with what it is judged against.

    `extra` holds every column medassay does not know (human scores, groups), untouched.
    `row` is the line or record number in the file, for messages.
    """

    id: str
    candidate: str
    references: tuple[str, ...] = ()
    source: str | None = None
    image: str | None = None
    system: str | None = None
    extra: Mapping[str, Value] = field(default_factory=dict)
    row: int = 0

    @property
    def reference(self) -> str | None:
        """The first reference, or None."""
        return self.references[0] if self.references else None

    @property
    def key(self) -> tuple[str, str]:
        """Identity inside one file: id and system."""
        return (self.id, self.system or "")

    def has(self, need: str) -> bool:
        """Whether the named field is there and not blank."""
        if need == "reference":
            return any(text and not text.isspace() for text in self.references)
        value = getattr(self, need, None)
        if value is None:
            value = self.extra.get(need)
        if not isinstance(value, str):
            return value is not None
        return value != "" and not value.isspace()

    def digest(self, needs: Iterable[str]) -> bytes:
        """A hash of the content that the named fields hold; two cases that agree on them share it.

        Of an image that is its name with the file's size and time, so that another file is another content.
        """
        hasher = hashlib.blake2b(digest_size=16)
        for need in sorted(needs):
            value = self.references if need == "reference" else getattr(self, need, self.extra.get(need))
            if need == "image" and value:
                value = [value, *_stamp(str(value))]
            hasher.update(json.dumps([need, value], ensure_ascii=False).encode("utf-8", "surrogatepass"))
        return hasher.digest()


def _stamp(path: str) -> tuple[int, ...]:
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return ()
    return found.st_size, found.st_mtime_ns


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a case file: a case, or what is wrong with it (never both)."""

    number: int
    case: Case | None
    problem: str | None = None


def read_cases(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    *,
    format: str | None = None,
    strict: bool = False,
) -> Iterator[Row]:
    """Stream the rows of a case file; `-` reads standard input.

    `columns` maps our field names to the file's (`{"candidate": "generated"}`). What concerns the
    whole file (not found, no `candidate` column, truncated Parquet, 0 rows) raises `InputError`; what
    concerns one row comes as a `Row` with a problem, or raises too where `strict`.
    """
    name = _name(path)
    seen: dict[int, int] = {}
    count = 0
    builder = _Builder(name, dict(columns or {}), tabular=(format or _kind(path)) != "jsonl")
    for number, record in read_records(path, format=format):
        count += 1
        row = builder.row(number, record, count)
        if row.case is not None:
            # A hash of each row, not the ids themselves: a million rows stay small.
            mark = int.from_bytes(hashlib.blake2b(repr(row.case.key).encode(), digest_size=8).digest())
            first = seen.setdefault(mark, number)
            if first != number:
                again = f"id '{row.case.id}'" + (f", system '{row.case.system}'" if row.case.system else "")
                row = Row(number, None, f"{again} already stands in row {first}; ids must be unique a system")
        if strict and row.problem:
            raise InputError(f"{name}, row {number}: {row.problem}")
        yield row
    if count == 0:
        raise InputError(f"{name}: no rows; it needs a header and at least one case")


def read_records(path: str | Path, *, format: str | None = None) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    """Stream any table: row number with its cells by column, or with what is wrong with that row."""
    name = _name(path)
    if str(path) != "-" and not Path(path).exists():
        raise InputError(f"{name}: no such file")
    kind = format or _kind(path)
    readers = {"csv": _csv_records, "tsv": _csv_records, "jsonl": _jsonl_records, "parquet": _parquet_records}
    if kind not in readers:
        raise InputError(f"{name}: unknown format '{kind}'; use .csv, .tsv, .jsonl or .parquet, or --format")
    yield from readers[kind](path, name, kind)


def _name(path: str | Path) -> str:
    return "standard input" if str(path) == "-" else str(path)


def _kind(path: str | Path) -> str:
    if str(path) == "-":
        return "csv" if _peek_stdin() != "{" else "jsonl"
    suffix = Path(path).suffix.lower().lstrip(".")
    return {"ndjson": "jsonl", "json": "jsonl", "pq": "parquet", "tab": "tsv", "txt": "tsv"}.get(suffix, suffix)


def _peek_stdin() -> str:
    buffer = sys.stdin.buffer
    head = buffer.peek(64)[:64] if isinstance(buffer, io.BufferedReader) else b""
    return head.decode("utf-8", "ignore").lstrip("﻿ \r\n\t")[:1]


class _Builder:
    """Turns raw records into cases; holds the column mapping and checks it once."""

    def __init__(self, name: str, columns: dict[str, str], *, tabular: bool) -> None:
        self.name = name
        self.columns = columns
        self.tabular = tabular
        for ours in columns:
            if ours not in FIELDS and not _NUMBERED_REFERENCE.fullmatch(ours):
                raise InputError(
                    f"--map: '{ours}' is not a field of ours{nearest(ours, FIELDS)}. "
                    f"Fields: {', '.join(FIELDS)}, reference_2 …; write ours=theirs"
                )
        self.checked: set[tuple[str, ...]] = set()

    def row(self, number: int, record: Mapping[str, Any] | str, ordinal: int) -> Row:
        """A case from one record; a string is a problem found while reading it."""
        if isinstance(record, str):
            return Row(number, None, record)
        header = tuple(record)
        if header not in self.checked:
            problem = self._missing(header)
            if problem and self.tabular:
                raise InputError(f"{self.name}: {problem}")
            if problem:
                return Row(number, None, problem)
            self.checked.add(header)
        try:
            return Row(number, self._case(number, record, ordinal))
        except _RowProblem as problem:
            return Row(number, None, str(problem))

    def _missing(self, header: tuple[str, ...]) -> str | None:
        for ours, theirs in {"candidate": "candidate", **self.columns}.items():
            if theirs not in header:
                listed = ", ".join(header[:12]) + (" …" if len(header) > 12 else "")
                remedy = "" if ours in self.columns else "; name yours with --map candidate=COLUMN"
                if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
                    remedy = "; separated by tabs (use --format tsv) or semicolons (save it with commas)?"
                return f"no column '{theirs}'{nearest(theirs, header)}{remedy}. Columns found: {listed or 'none'}"
        return None

    def _case(self, number: int, record: Mapping[str, Any], ordinal: int) -> Case:
        taken = {theirs: ours for ours, theirs in self.columns.items()}
        texts: dict[str, str | None] = {}
        references: list[tuple[int, str]] = []
        extra: dict[str, Value] = {}
        for column, value in record.items():
            ours = taken.get(column, column if column not in self.columns else "")
            numbered = _NUMBERED_REFERENCE.fullmatch(ours)
            if ours == "reference" or numbered:
                rank = int(numbered[1]) if numbered else 1
                references += [(rank, text) for text in _texts(value, column) if text.strip()]
            elif ours in FIELDS:
                texts[ours] = _text(value, column)
            else:
                extra[_clean(column)] = _plain(value)
        identity = texts.get("id")
        return Case(
            id=identity.strip() if identity and identity.strip() else str(ordinal),
            candidate=texts.get("candidate") or "",
            references=tuple(text for _, text in sorted(references, key=lambda pair: pair[0])),
            source=texts.get("source") or None,
            image=texts.get("image") or None,
            system=texts.get("system") or None,
            extra=extra,
            row=number,
        )


class _RowProblem(Exception):
    """What is wrong with the row being built."""


def _text(value: Any, column: str) -> str | None:
    """A cell as text: numbers are written out, control characters become spaces, lists are refused."""
    if value is None or value != value:  # NaN is how data frames write a missing text
        return None
    if isinstance(value, bool | int | float):
        value = str(value)
    if not isinstance(value, str):
        raise _RowProblem(f"column '{column}': expected text, found {type(value).__name__}")
    if len(value) > MAX_CELL:
        raise _RowProblem(f"column '{column}': {len(value):,} characters; the limit is {MAX_CELL:,}")
    return _clean(value)


def _clean(text: str) -> str:
    """Control characters become spaces, lone surrogates the replacement character."""
    return text if text.isprintable() else _UNWANTED.sub(lambda m: " " if m[0] <= "\x7f" else "\ufffd", text)


def _texts(value: Any, column: str) -> list[str]:
    many = value if isinstance(value, list) else [value]
    return [text for one in many if (text := _text(one, column)) is not None]


def _plain(value: Any) -> Value:
    """A carried value as it came; nested values become JSON text, dates and the like their usual text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return value if value.isprintable() else _SURROGATE.sub("\ufffd", value)
    if value is None or isinstance(value, int | float | bool):
        return value
    if isinstance(value, list | dict):
        return _SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False, default=str))
    return str(value)


def _open_text(path: str | Path, name: str) -> IO[str]:
    """UTF-8 with or without a BOM; undecodable bytes arrive as lone surrogates and are named by row."""
    try:
        if str(path) == "-":
            return io.TextIOWrapper(sys.stdin.buffer, "utf-8-sig", errors="surrogateescape", newline="")
        return Path(path).open(encoding="utf-8-sig", errors="surrogateescape", newline="")
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror or error})") from error


_NOT_UTF8 = re.compile("[\udc80-\udcff]")


def _csv_records(path: str | Path, name: str, kind: str) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
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
        if _NOT_UTF8.search(cell):
            return f"column '{column}': not UTF-8 (Latin-1?); save the file as UTF-8"
    return dict(zip(header, cells))


def _jsonl_records(path: str | Path, name: str, kind: str) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
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


def _parquet_records(path: str | Path, name: str, kind: str) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
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


def make_cases(
    candidates: Sequence[str],
    references: Sequence[str | Sequence[str]] | None = None,
    *,
    sources: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
    systems: Sequence[str] | None = None,
) -> list[Case]:
    """Cases from Python lists of equal length.

    >>> make_cases(["Tubular adenoma."], ["Tubulovillous adenoma."])[0].reference
    'Tubulovillous adenoma.'
    """
    given = {"references": references, "sources": sources, "ids": ids, "systems": systems}
    for what, values in {"candidates": candidates, **given}.items():
        if isinstance(values, str):
            raise InputError(f"{what}: one text was given; write a list of texts, even for one case")
    for what, values in given.items():
        if values is not None and len(values) != len(candidates):
            raise InputError(f"{len(candidates)} candidates but {len(values)} {what}")
    cases = []
    for i, candidate in enumerate(candidates):
        if not isinstance(candidate, str):
            raise InputError(f"candidates[{i}]: expected text, found {type(candidate).__name__}; use '' for none")
        many = _given_references(references[i] if references is not None else None, i)
        cases.append(
            Case(
                id=ids[i] if ids is not None else str(i + 1),
                candidate=candidate,
                references=many,
                source=sources[i] if sources is not None else None,
                system=systems[i] if systems is not None else None,
                row=i + 1,
            )
        )
    return cases


def _given_references(given: str | Sequence[str] | None, i: int) -> tuple[str, ...]:
    """The references of case `i`: one text, several, or none."""
    if given is None:
        return ()
    many = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple) else (given,)
    for text in many:
        if not isinstance(text, str):
            raise InputError(f"references[{i}]: expected a text or a list of texts, found {type(text).__name__}")
    return tuple(text for text in many if text.strip())
