"""Annotated text as plain data: one segment, its entities with character offsets, its relations."""

from __future__ import annotations

import csv
import gzip
import json
import random
import sys
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from medassay.errors import InputError
from medassay.spans import ASSERTIONS

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Entity:
    """Characters `start`…`end` (end exclusive) of the segment's text, a type and an assertion."""

    start: int
    end: int
    type: str
    assertion: str = "present"


@dataclass(frozen=True, slots=True)
class Segment:
    """One annotated stretch of text; `relations` are (head, tail) indices into `entities`.

    `doc` names the document the text was taken from: segments of one document never stand on both
    sides of a split. `weight` scales the segment's loss, for annotation that is trusted less.
    """

    id: str
    text: str
    entities: tuple[Entity, ...] = ()
    relations: frozenset[tuple[int, int]] = frozenset()
    doc: str = ""
    source: str = ""
    weight: float = 1.0


def make_segment(
    where: str,
    id: str,
    text: str,
    entities: Sequence[Entity],
    relations: Iterable[tuple[int, int]] = (),
    doc: str = "",
    source: str = "",
) -> Segment:
    """Check offsets, assertions, overlaps and indices; sort entities by place and renumber relations.

    `where` opens every error message: the file and line that the annotation came from.
    """
    for entity in entities:
        if not 0 <= entity.start < entity.end <= len(text):
            raise InputError(
                f"{where}: entity {entity.start}…{entity.end} lies outside the text of {len(text)} characters; "
                "offsets count characters from 0 and the end is exclusive"
            )
        if entity.assertion not in ASSERTIONS:
            raise InputError(f"{where}: assertion '{entity.assertion}' is not one of {', '.join(ASSERTIONS)}")
    order = sorted(range(len(entities)), key=lambda i: (entities[i].start, entities[i].end))
    for a, b in pairwise(order):
        if entities[a].end > entities[b].start:
            first, second = entities[a], entities[b]
            raise InputError(
                f"{where}: entities overlap: '{text[first.start : first.end]}' and "
                f"'{text[second.start : second.end]}'; keep the one that is complete"
            )
    new_index = {old: new for new, old in enumerate(order)}
    links = set()
    for head, tail in relations:
        if head not in new_index or tail not in new_index:
            raise InputError(f"{where}: relation [{head}, {tail}] names an entity that is not there")
        links.add((new_index[head], new_index[tail]))
    return Segment(id, text, tuple(entities[i] for i in order), frozenset(links), doc or id, source)


def read_jsonl(path: Path) -> list[Segment]:
    """Segments of our JSONL: one object per line with `id`, `text`, `entities`, `relations`, `doc`, `source`."""
    with path.open(encoding="utf-8") as lines:
        return [_segment_of(row, f"{path}: line {number}", number) for number, row in _objects(lines, path)]


def _segment_of(row: dict[str, object], where: str, number: int) -> Segment:
    text = row.get("text")
    if not isinstance(text, str):
        raise InputError(f"{where}: no string under 'text'; found {sorted(row)}")
    raw, links = row.get("entities", []), row.get("relations", [])
    if not isinstance(raw, list) or not isinstance(links, list):
        raise InputError(f"{where}: 'entities' and 'relations' must be lists")
    try:
        entities = [
            Entity(int(e["start"]), int(e["end"]), str(e["type"]), str(e.get("assertion") or "present")) for e in raw
        ]
        # `extract` writes relations as objects, the annotation files as [head, tail].
        pairs = [(r["head"], r["tail"]) if isinstance(r, dict) else (r[0], r[1]) for r in links]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(
            f"{where}: an entity needs start, end and type, a relation head and tail ({error!r})"
        ) from error
    return make_segment(
        where,
        str(row.get("id", number)),
        text,
        entities,
        pairs,
        str(row.get("doc", "")),
        str(row.get("source", "")),
    )


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Rows of a CSV or JSONL file (.gz too) that has `columns`, each after the file and row that an error names.

    The header of a CSV file is its row 1.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as lines:
        if ".jsonl" in path.name:
            rows: Iterable[tuple[int, Any]] = _objects(lines, path)
        else:
            csv.field_size_limit(sys.maxsize)
            rows = enumerate(csv.DictReader(lines), 2)
        for number, row in rows:
            for needed in columns:
                if needed not in row:
                    raise InputError(f"{path}: no column '{needed}'; found {', '.join(map(str, row))}")
            yield f"{path}: row {number}", {name: "" if value is None else str(value) for name, value in row.items()}


def _objects(lines: Iterable[str], path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a file, each with its line's number."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}: line {number}: not JSON ({error.msg}); every line holds one object") from error
        if not isinstance(row, dict):
            raise InputError(f"{path}: line {number}: every line holds one object, not a {type(row).__name__}")
        yield number, row


def folds_by_group(groups: Sequence[str], folds: int, seed: int = 0) -> list[int]:
    """A fold number for every item such that equal groups share a fold and folds are near equal in size.

    >>> folds_by_group(["a", "a", "b", "c"], 2) in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """
    sizes: dict[str, int] = {}
    for group in groups:
        sizes[group] = sizes.get(group, 0) + 1
    names = sorted(sizes)
    random.Random(seed).shuffle(names)
    names.sort(key=lambda name: -sizes[name])
    load = [0] * folds
    fold_of: dict[str, int] = {}
    for name in names:
        fold = load.index(min(load))
        fold_of[name] = fold
        load[fold] += sizes[name]
    return [fold_of[group] for group in groups]


def split_tenth(items: Sequence[Item], groups: Sequence[str], seed: int) -> tuple[list[Item], list[Item]]:
    """Nine tenths to train on and one tenth held out, items of one group on the same side."""
    if len(set(groups)) < 2:
        raise InputError("training needs material of at least two documents, references or premises: one is held out")
    folds = folds_by_group(groups, min(10, len(set(groups))), seed)
    test_fold = max(folds)
    return (
        [item for item, fold in zip(items, folds) if fold != test_fold],
        [item for item, fold in zip(items, folds) if fold == test_fold],
    )


def set_f1(gold: Sequence[Set[Any]], predicted: Sequence[Set[Any]]) -> dict[str, float]:
    """Precision, recall and F1 (0–1, higher is better) over all sets together."""
    hit = sum(len(g & p) for g, p in zip(gold, predicted))
    claimed, annotated = sum(map(len, predicted)), sum(map(len, gold))
    return {
        "precision": hit / max(1, claimed),
        "recall": hit / max(1, annotated),
        "f1": 2 * hit / max(1, claimed + annotated),
    }
