"""Cases: what is to be judged, read from CSV, TSV, JSONL, Parquet or standard input.

A file is read as a stream of `Row`s: each is a `Case`, or the problem that row has. Memory does not
grow with the file. Columns are those of the case table (`id, candidate, reference, source, image,
system`; `reference_2`, `reference_3` … for further references); any other column is carried through.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from medassay.columns import FIELDS, Column, Value, checked_mapping, clean, plan_columns
from medassay.errors import InputError
from medassay.records import MAX_CELL, READERS, FirstSeenIndex, kind_of, name_of, read_records

_ATTRIBUTES = frozenset({*FIELDS, "references"})
ANY_FIELD = "*"
"""Stands for every field of a case, carried columns included."""
_MOST_HEADERS = 1_000
"""Different headers remembered: JSON lines may have one in every line."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_json = json.JSONEncoder(ensure_ascii=False).encode


class Columns(dict[str, Value]):
    """The carried columns of a case, read-only: a metric cannot change what is written to the output."""

    __slots__ = ()

    def _refuse(self, *arguments: object, **named: object) -> NoReturn:
        raise TypeError("the columns of a case cannot be changed; copy them with dict(case.extra)")

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse

    def __reduce__(self) -> tuple[type[Columns], tuple[dict[str, Value]]]:
        return Columns, (dict(self),)


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
    extra: Mapping[str, Value] = field(default_factory=Columns)
    row: int = 0

    @property
    def reference(self) -> str | None:
        """The first reference, or None."""
        return self.references[0] if self.references else None

    @property
    def key(self) -> tuple[str, str]:
        """Identity inside one file: id and system."""
        return (self.id, self.system or "")

    def __post_init__(self) -> None:
        if type(self.extra) is not Columns:
            object.__setattr__(self, "extra", Columns(self.extra))

    def value(self, name: str) -> Value | tuple[str, ...]:
        """The value of a field, or else of the carried column of that name; None where there is neither.

        `references` gives all references.
        """
        return getattr(self, name) if name in _ATTRIBUTES else self.extra.get(name)

    def has(self, need: str) -> bool:
        """Whether the named field is there and not blank."""
        if need in ("reference", "references"):
            return any(text and not text.isspace() for text in self.references)
        value = self.value(need)
        if not isinstance(value, str):
            return value is not None
        return value != "" and not value.isspace()

    def digest(self, needs: Collection[str]) -> bytes:
        """A hash of the content that the named fields hold (`ANY_FIELD`: all); two cases that agree on them share it.

        Of an image that is its name with the file's size and time, so that another file is another content.
        """
        hasher = hashlib.blake2b(digest_size=16)
        if ANY_FIELD in needs:
            needs = {*FIELDS, *self.extra}
        for need in sorted(needs):
            value: Any = self.references if need == "reference" else self.value(need)
            if need == "image" and value:
                value = [value, *_stamp(str(value))]
            hasher.update(need.encode())
            for part in value if isinstance(value, tuple) else (value,):
                # Each part with its kind and length before it, so that no two contents look alike.
                text = part if isinstance(part, str) else _json(part)
                data = text.encode("utf-8", "surrogatepass")
                hasher.update(b"%c%d:" % (b"t" if text is part else b"j", len(data)))
                hasher.update(data)
            hasher.update(b";")
        return hasher.digest()

    @property
    def reference_key(self) -> bytes:
        """The digest of the references: equal for cases that share them."""
        cacheable = sum(map(len, self.references)) <= _LONGEST_CACHED
        return _reference_key(self.references) if cacheable else self.digest(["reference"])


_LONGEST_CACHED = 20_000
"""Characters: the digests of longer references are not cached, so that memory stays bounded."""


@lru_cache(maxsize=4096)
def _reference_key(references: tuple[str, ...]) -> bytes:
    return Case("", "", references).digest(["reference"])


def _stamp(path: str) -> tuple[int, ...]:
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return ()
    return status.st_size, status.st_mtime_ns


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a case file: a case, or what is wrong with it (never both). `file`: its name, in a folder."""

    number: int
    case: Case | None
    problem: str | None = None
    file: str = ""

    @property
    def location(self) -> str:
        """The file, if there are several, and the row, for messages."""
        return f"{self.file}, row {self.number}" if self.file else f"row {self.number}"


def read_cases(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    *,
    format: str | None = None,
    strict: bool = False,
) -> Iterator[Row]:
    """Stream the rows of a case file; `-` reads standard input.

    A folder is read as the files in it, in the order of their names. `columns` maps our field names to the
    file's (`{"candidate": "generated"}`). What concerns the whole file (not found, no `candidate` column,
    truncated Parquet, 0 rows) raises `InputError`; what concerns one row comes as a `Row` with a problem, or
    raises too where `strict`.
    """
    files = case_files(path, format)
    rows = chain.from_iterable(read_file(file, columns, format=format, folder=file != str(path)) for file in files)
    return distinct(rows, name_of(path), strict=strict)


def case_files(path: str | Path, format: str | None = None) -> list[str]:
    """The file itself, or the case files of a folder by name (of the format asked for, or of any we read)."""
    if str(path) == "-" or not Path(path).is_dir():
        return [str(path)]
    kinds = {format} if format else set(READERS)
    paths = [p for p in sorted(Path(path).iterdir()) if p.is_file() and kind_of(p) in kinds and p.name[0] not in "._"]
    if not paths:
        raise InputError(f"{path}: no case file in this folder; it needs .csv, .tsv, .jsonl or .parquet files")
    return [str(file) for file in paths]


def read_file(
    path: str, columns: Mapping[str, str] | None = None, *, format: str | None = None, folder: bool = False
) -> Iterator[Row]:
    """The rows of one file. In a `folder`, a row says which file, and default ids begin with its name."""
    builder = _Builder(name_of(path), dict(columns or {}), tabular=(format or kind_of(path)) != "jsonl")
    file = Path(path).name if folder else ""
    for ordinal, (number, record) in enumerate(read_records(path, format=format), 1):
        yield builder.row(number, record, f"{file}:{ordinal}" if folder else str(ordinal), file)


def distinct(rows: Iterable[Row], name: str, *, strict: bool = False) -> Iterator[Row]:
    """The rows, each checked against those before it. Without any row: `InputError`."""
    known = Identities(name, strict=strict)
    for row in rows:
        yield known.checked(row)
    known.end()


class Identities:
    """The ids that a file has had so far. name: its name in messages; strict: the first row with a problem raises."""

    def __init__(self, name: str, *, strict: bool = False) -> None:
        self.name, self.strict = name, strict
        self.seen = FirstSeenIndex()
        self.files: list[str] = []

    def checked(self, row: Row) -> Row:
        """The row; a repeated id and system becomes its problem."""
        if not self.files or row.file != self.files[-1]:
            self.files.append(row.file)
        if row.case is not None:
            first = self.seen.add(repr(row.case.key).encode(), (len(self.files) - 1) << 40 | row.number)
            if first is not None:
                identity = f"id '{row.case.id}'" + (f", system '{row.case.system}'" if row.case.system else "")
                earlier = Row(first & (1 << 40) - 1, None, "", self.files[first >> 40]).location
                row = replace(
                    row, case=None, problem=f"{identity} already stands in {earlier}; ids must be unique per system"
                )
        if self.strict and row.problem:
            raise InputError(f"{self.name}, {row.location}: {row.problem}")
        return row

    def end(self) -> None:
        """Finish the file; raises `InputError` where it had no rows at all."""
        if not self.files:
            raise InputError(f"{self.name}: no rows; it needs a header and at least one case")


class _Builder:
    """Turns raw records into cases; holds the column mapping and checks it once."""

    def __init__(self, name: str, columns: dict[str, str], *, tabular: bool) -> None:
        self.name = name
        self.columns = checked_mapping(columns)
        self.tabular = tabular
        self.plans: dict[tuple[str, ...], list[Column] | str] = {}
        """The columns of each header so far, or a message about what is wrong with it."""

    def row(self, number: int, record: Mapping[str, Any] | str, identity: str, file: str) -> Row:
        """A case from one record; a string is a problem found while reading it."""
        if isinstance(record, str):
            return Row(number, None, record, file)
        header = tuple(record)
        if header not in self.plans:
            if len(self.plans) >= _MOST_HEADERS:
                self.plans.clear()
            self.plans[header] = plan_columns(header, self.columns)
        plan = self.plans[header]
        if isinstance(plan, str) and self.tabular:
            raise InputError(f"{self.name}: {plan}")
        if isinstance(plan, str):
            return Row(number, None, plan, file)
        try:
            return Row(number, _case(number, record, plan, identity), None, file)
        except _RowProblem as problem:
            return Row(number, None, str(problem), file)


def _case(number: int, record: Mapping[str, Any], plan: Sequence[Column], default: str) -> Case:
    texts: dict[str, str | None] = {}
    references: list[tuple[int, str]] = []
    extra: dict[str, Value] = {}
    for column, value in zip(plan, record.values()):
        if column.rank:
            references += [(column.rank, text) for text in _texts(value, column.name) if text.strip()]
        elif column.field:
            texts[column.field] = _text(value, column.name)
        else:
            extra[column.carried] = _plain(value)
    identity = texts.get("id")
    if len(references) > 1:
        references.sort(key=lambda pair: pair[0])
    return Case(
        id=identity.strip() if identity and identity.strip() else default,
        candidate=texts.get("candidate") or "",
        references=tuple([text for _, text in references]),
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
    return clean(value)


def _texts(value: Any, column: str) -> list[str]:
    many = value if isinstance(value, list) else [value]
    return [text for cell in many if (text := _text(cell, column)) is not None]


def _plain(value: Any) -> Value:
    """A carried value, unchanged; nested values become JSON text, dates and the like their usual text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return value if value.isprintable() else _SURROGATE.sub("\ufffd", value)
    if value is None or isinstance(value, int | float | bool):
        return value
    if isinstance(value, list | dict):
        return _SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False, default=str))
    return str(value)


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
    columns = {"references": references, "sources": sources, "ids": ids, "systems": systems}
    for name, values in {"candidates": candidates, **columns}.items():
        if isinstance(values, str):
            raise InputError(f"{name}: one text was given; write a list of texts, even for one case")
    for name, values in columns.items():
        if values is not None and len(values) != len(candidates):
            raise InputError(f"{len(candidates)} candidates but {len(values)} {name}")
    cases = []
    for i, candidate in enumerate(candidates):
        if not isinstance(candidate, str):
            raise InputError(f"candidates[{i}]: expected text, found {type(candidate).__name__}; use '' for none")
        many = _reference_texts(references[i] if references is not None else None, i)
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


def _reference_texts(texts: str | Sequence[str] | None, i: int) -> tuple[str, ...]:
    """The references of case `i`: one text, several, or none."""
    if texts is None:
        return ()
    many = (texts,) if isinstance(texts, str) else tuple(texts) if isinstance(texts, list | tuple) else (texts,)
    for text in many:
        if not isinstance(text, str):
            raise InputError(f"references[{i}]: expected a text or a list of texts, found {type(text).__name__}")
    return tuple(text for text in many if text.strip())
