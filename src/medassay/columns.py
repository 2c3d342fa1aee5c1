"""The columns of a case file: which field of a case each one is, and the names of those that are carried through."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from medassay.errors import InputError, nearest
from medassay.records import BLANKS

FIELDS = ("id", "candidate", "reference", "source", "image", "system")
CARRIED = "file."
"""Prefix of a carried column's name where an output has a column of that name."""
_NUMBERED_REFERENCE = re.compile(r"reference_([2-9]|[1-9][0-9]{1,8})")
_UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
"""Control characters and lone surrogates: the former never belong to a report, the latter cannot be written."""

Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file: a field of a case, a reference of some rank (0: none), or one that is carried through."""

    name: str
    field: str = ""
    rank: int = 0
    carried: str = ""


def checked_mapping(mapping: Mapping[str, str]) -> dict[str, str]:
    """A checked mapping of field names to the file's column names, as `--map` gives it; raises `InputError`."""
    for ours in mapping:
        if ours not in FIELDS and not _NUMBERED_REFERENCE.fullmatch(ours):
            raise InputError(
                f"--map: '{ours}' is not a field of ours{nearest(ours, FIELDS)}. "
                f"Fields: {', '.join(FIELDS)}, reference_2 …; write ours=theirs"
            )
    if len(set(mapping.values())) < len(mapping):
        raise InputError(f"--map: one column cannot be two fields; found {', '.join(mapping.values())}")
    return dict(mapping)


def plan_columns(header: Sequence[str], mapping: Mapping[str, str]) -> list[Column] | str:
    """The role of each column of a header, or a message about what is wrong with the header."""
    taken: dict[str, str] = {}
    for ours, theirs in mapping.items():
        column = find_column(theirs, header)
        if column is None:
            return _missing(theirs, header, mapping)
        taken[column] = ours
    meant: dict[str, list[str]] = {}
    for column in header:
        ours = _plain_name(column)
        is_field = ours in FIELDS or _NUMBERED_REFERENCE.fullmatch(ours)
        if is_field and column not in taken and ours not in mapping:
            meant.setdefault(ours, []).append(column)
    for ours, columns in meant.items():
        if len(columns) > 1 and ours not in columns:
            return f"columns '{columns[0]}' and '{columns[1]}' could both be '{ours}'; rename one, or use --map"
        taken[ours if ours in columns else columns[0]] = ours
    if "candidate" not in taken.values():
        return _missing("candidate", header, mapping)
    return _columns(header, taken)


def _missing(theirs: str, header: Sequence[str], mapping: Mapping[str, str]) -> str:
    listed = ", ".join(header[:12]) + (" …" if len(header) > 12 else "")
    remedy = "" if theirs in mapping.values() else f"; name yours with --map {_guess(header, mapping)}"
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        remedy = "; separated by tabs (use --format tsv) or semicolons (save it with commas)?"
    return f"no column '{theirs}'{nearest(theirs, header)}{remedy}. Columns found: {listed or 'none'}"


_WORDS = {
    "candidate": {
        "generated",
        "generation",
        "predicted",
        "prediction",
        "pred",
        "hypothesis",
        "hyp",
        "output",
        "response",
    },
    "reference": {"reference", "ref", "gold", "gt", "truth", "target", "human"},
    "source": {"source", "dialogue", "dialog", "conversation", "transcript", "input"},
    "system": {"system", "model"},
    "id": {"id"},
}
"""Words in the names that users give to the fields."""
_HARMLESS = re.compile(r"[\w .-]{1,40}")
"""Names that can be typed in a shell as they are."""


def _guess(header: Sequence[str], mapping: Mapping[str, str]) -> str:
    """What `--map` should probably say, by the words in the columns' names.

    >>> _guess(["note_id", "Model", "generated note", "gold"], {})
    'candidate="generated note",reference=gold,system=Model,id=note_id'
    """
    guessed = {ours: theirs for ours, theirs in mapping.items() if theirs in header}
    plain = {_plain_name(column) for column in header}
    for ours, words in _WORDS.items():
        free = [column for column in header[:50] if column not in guessed.values() and _HARMLESS.fullmatch(column)]
        like = next((column for column in free if words & set(_plain_name(column).split("_"))), None)
        if like is not None and ours not in guessed and ours not in plain:
            guessed[ours] = like
    if "candidate" not in guessed:
        return "candidate=COLUMN"
    return ",".join(f'{ours}="{theirs}"' if " " in theirs else f"{ours}={theirs}" for ours, theirs in guessed.items())


def _columns(header: Sequence[str], fields: Mapping[str, str]) -> list[Column] | str:
    """The columns of a header, given the fields by column; or a message about what is wrong with the header."""
    plan: list[Column] = []
    carried: dict[str, str] = {}
    for column in header:
        ours = fields.get(column, "")
        numbered = _NUMBERED_REFERENCE.fullmatch(ours)
        if ours == "reference" or numbered:
            plan.append(Column(column, rank=int(numbered[1]) if numbered else 1))
        elif ours:
            plan.append(Column(column, field=ours))
        else:
            name = clean(column)
            if name in carried:
                return f"columns {carried[name]!r} and {column!r} differ in control characters alone; rename one"
            carried[name] = column
            plan.append(Column(column, carried=name))
    return plan


def find_column(name: str, header: Iterable[str]) -> str | None:
    """The column of that name: as it is written, else the only one that differs in case and spaces alone.

    >>> find_column("reference", ["id", "Reference "]), find_column("text", ["Text", "TEXT"])
    ('Reference ', None)
    """
    columns = list(header)
    if name in columns:
        return name
    meant = [column for column in columns if _plain_name(column) == _plain_name(name)]
    return meant[0] if len(meant) == 1 else None


def _plain_name(column: str) -> str:
    """A column's name in lower case, without spaces around it, and with underscores for spaces."""
    return "_".join(column.strip(BLANKS).lower().split())


def carried_columns(extra: Mapping[str, Value], taken: Collection[str]) -> dict[str, Value]:
    """Carried columns under names of their own: where a name is taken, it gets `file.` in front.

    >>> carried_columns({"note": "x", "rouge1": 0.5}, ["id", "rouge1"])
    {'note': 'x', 'file.rouge1': 0.5}
    """
    columns: dict[str, Value] = {}
    for column, value in extra.items():
        name = column
        while name in taken or name in columns or (name != column and name in extra):
            name = CARRIED + name
        columns[name] = value
    return columns


def clean(text: str) -> str:
    """Control characters become spaces, lone surrogates the replacement character."""
    return text if text.isprintable() else _UNWANTED.sub(lambda m: " " if m[0] <= "\x7f" else "\ufffd", text)
