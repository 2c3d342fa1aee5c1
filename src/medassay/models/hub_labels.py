"""Maps the labels of other projects' classifiers, in any spelling, to the types of this project.

Spellings differ: `B-Anatomical_Site`, `I-IHC marker`, `U-diagnosisDescriptor`. A label is split into words, which are
looked up in label_words.toml. A label without a matching line is not an entity type of this project.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from medassay.errors import ModelError
from medassay.spans import ENTITY_TYPES, RELATION_TYPES

_WORDS = Path(__file__).parent / "label_words.toml"
_PREFIX = re.compile(r"^([BILUESM])[-_ :/](.+)$")
_SUFFIX = re.compile(r"^(.+)[-_ :/]([BILUESM])$")
_UNNAMED = re.compile(r"^(?:LABEL_)?\d+$", re.IGNORECASE)
_STARTS, _ENDS = frozenset("BUS"), frozenset("LEUS")


@dataclass(frozen=True, slots=True)
class Tag:
    """A token label: its place in the entity (B, I, L/E, U/S; I where the scheme has none) and the type."""

    place: str
    type: str | None


@dataclass(frozen=True, slots=True)
class RelationLabels:
    """Which outputs of a relation classifier mean that which pair of types is related.

    `named` holds, for labels that name two types, (type of E1, type of E2) by output; `plain` are outputs
    that say no more than "related"; `none` is the output for "not related" (None: one sigmoid output).
    """

    none: int | None
    plain: tuple[int, ...]
    named: Mapping[int, tuple[str, str]]


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    return tomllib.loads(_WORDS.read_text(encoding="utf-8"))


def words_of(label: str) -> list[str]:
    """The lower-cased words of a label.

    >>> words_of("IHC_modifierScore-2")
    ['ihc', 'modifier', 'score', '2']
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", label)
    return [word.lower() for word in re.findall(r"[A-Za-z]+|\d+", spaced)]


def entity_type(label: str) -> str | None:
    """The entity type that a label without its BIO place stands for, or None.

    >>> entity_type("Anatomical_Site"), entity_type("diagnosis-descriptor"), entity_type("Person")
    ('site', 'descriptor', None)
    """
    words = set(words_of(label))
    if len(words) == 1 and words <= set(ENTITY_TYPES):
        return words.pop()
    for line in _table()["entity"]:
        if words & set(line["words"]):
            return str(line["type"])
    return None


def read_tag(label: str) -> Tag:
    """A token label as a place and a type.

    >>> read_tag("B-IHC marker"), read_tag("O"), read_tag("grade")
    (Tag(place='B', type='marker'), Tag(place='I', type=None), Tag(place='I', type='grade'))
    """
    match = _PREFIX.match(label)
    if match:
        return Tag(match[1], entity_type(match[2]))
    match = _SUFFIX.match(label)
    if match:
        return Tag(match[2], entity_type(match[1]))
    return Tag("I", entity_type(label))


def read_tags(labels: Sequence[str], where: str) -> list[Tag]:
    """The labels of a token classifier; an error where none of them names an entity type of this project."""
    tags = [read_tag(label) for label in labels]
    if any(tag.type for tag in tags):
        return tags
    raise ModelError(
        f"{where}: no label of this token classifier names an entity type (found {_listed(labels)}; wanted "
        f"{', '.join(ENTITY_TYPES)}, as in B-site). Name them under id2label in its config.json"
    )


def group(tags: Sequence[Tag], chances: Sequence[float]) -> list[tuple[int, int, str, float]]:
    """Entities (first word, last word, type, mean chance) in the tags of words, whatever the scheme."""
    entities: list[tuple[int, int, str, float]] = []
    first: int | None = None
    for i, tag in enumerate([*tags, Tag("I", None)]):
        before = tags[i - 1] if i else Tag("I", None)
        goes_on = tag.type == before.type and tag.place not in _STARTS and before.place not in _ENDS
        if first is not None and not goes_on:
            entities.append((first, i - 1, str(before.type), sum(chances[first:i]) / (i - first)))
            first = None
        if first is None and tag.type is not None:
            first = i
    return entities


def read_relation_labels(labels: Sequence[str], where: str) -> RelationLabels:
    """What the outputs of a relation classifier mean; LABEL_0, LABEL_1 … : the first is "not related"."""
    if len(labels) == 1:
        return RelationLabels(None, (0,), {})
    if all(_UNNAMED.match(label) for label in labels):
        return RelationLabels(0, tuple(range(1, len(labels))), {})
    nothing = set(_table()["relation"]["none"])
    none = [i for i, label in enumerate(labels) if nothing & set(words_of(label))]
    if len(none) != 1:
        raise ModelError(
            f"{where}: {len(none) or 'no'} labels of this relation classifier mean 'not related' (found "
            f"{_listed(labels)}; wanted one such as NO_REL). Name them under id2label in its config.json"
        )
    named: dict[int, tuple[str, str]] = {}
    for i, label in enumerate(labels):
        pair = _pair(label)
        if i != none[0] and pair:
            named[i] = pair
    plain = tuple(i for i in range(len(labels)) if i != none[0] and i not in named)
    return RelationLabels(none[0], plain, named)


def _pair(label: str) -> tuple[str, str] | None:
    """The two types that a relation label names, in its order: `marker_modifier`, `IHC marker-IHC modifier`."""
    words = words_of(label)
    for head, tail in RELATION_TYPES:
        if head in words and tail in words:
            return (head, tail) if words.index(head) < words.index(tail) else (tail, head)
    return None


def relatedness(logits: npt.NDArray[np.float64], labels: RelationLabels, pair: tuple[str, str]) -> float:
    """The probability (0…1) that E1 and E2, of the types `pair`, are related: softmax mass of the outputs for it."""
    if labels.none is None:
        return float(1.0 / (1.0 + np.exp(-logits[0])))
    chances = np.exp(logits - logits.max())
    chances /= chances.sum()
    related = [*labels.plain, *(i for i, types in labels.named.items() if types == pair)]
    return float(chances[related].sum())


def _listed(labels: Sequence[str]) -> str:
    shown = ", ".join(labels[:8])
    return f"{shown}, …" if len(labels) > 8 else shown
