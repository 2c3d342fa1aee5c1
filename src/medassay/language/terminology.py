"""The terms that concepts link to: MONDO, UBERON, CL and HPO, and medassay's own lexicons on top.

Loaded once, on first use. A term is a row number; rows of the ontologies come first, then our own.
Where one of our rows names an ontology's term, it adds names, parents and behaviour to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files

import numpy as np

from medassay.language.lexicon import read_tsv
from medassay.language.terms import key, squeezed

KINDS = {"diagnosis": ("D", "M"), "site": ("S", "U"), "finding": ("F", "C", "D"), "marker": ("K",)}
"""Where names of each entity type are looked up, in this order: our own lists, then the ontologies."""

NOTE_KINDS = ("T", "U", "S", "D", "M", "F", "C", "H")
"""Where `mentions` looks names up: what notes speak of first, then anatomy (`lung disease` counts as its organ,
`lung`, because `disease` is a filler word), diseases, findings, cells, and the signs of HPO last."""

_DISEASES, _SITES = 17_000, 13_000
"""Terms of MONDO and of UBERON, rounded: what has that many below it tells nothing."""

_LISTS = (("diagnoses.tsv", "D"), ("findings.tsv", "F"), ("sites.tsv", "S"), ("markers.tsv", "K"))
_ONTOLOGY = {"D": "M", "S": "U", "F": "F", "K": "K", "T": "T"}
_BEHAVIOUR_ROOTS = (
    # The first that is an ancestor decides; the order is from the particular to the general.
    ("MONDO:0004647", "insitu"),
    ("MONDO:0021074", "premalignant"),
    ("MONDO:0004992", "malignant"),
    ("MONDO:0005165", "benign"),
    ("MONDO:0021166", "reactive"),
)


@dataclass(slots=True)
class Terminology:
    """Terms by row, names by their normal form, parents by row."""

    ids: list[str]
    names: list[str]
    below: list[int]
    parents: dict[int, tuple[int, ...]]
    index: dict[str, int]
    releases: str
    behaviour: dict[int, str] = field(default_factory=dict)
    group: dict[int, str] = field(default_factory=dict)
    row_of: dict[str, int] = field(default_factory=dict)
    vocabulary: dict[str, list[str]] = field(default_factory=dict)
    organs: set[int] = field(default_factory=set)
    _above: dict[int, frozenset[int]] = field(default_factory=dict)

    def find(self, form: str, kind: str) -> int | None:
        """The row whose name has this normal form, for an entity type."""
        for letter in KINDS[kind]:
            row = self.index.get(letter + form)
            if row is not None:
                return row
        return None

    def above(self, row: int) -> frozenset[int]:
        """A term's ancestors, itself included."""
        known = self._above.get(row)
        if known is None:
            seen = {row}
            queue = [row]
            while queue:
                for parent in self.parents.get(queue.pop(), ()):
                    if parent not in seen:
                        seen.add(parent)
                        queue.append(parent)
            known = self._above[row] = frozenset(seen)
        return known

    def information(self, row: int) -> float:
        """How specific a term is, 0 (everything) to 1 (nothing stands below it), by its descendants."""
        terms = _DISEASES if self.ids[row].startswith(("MONDO", "DX")) else _SITES
        return 1.0 - math.log(self.below[row] + 1) / math.log(terms + 1)

    def behaviour_of(self, row: int) -> str | None:
        """malignant, insitu, premalignant, uncertain, benign, reactive, or None where unknown."""
        own = self.behaviour.get(row)
        if own:
            return own
        above = self.above(row)
        for identity, behaviour in _BEHAVIOUR_ROOTS:
            if self.row_of.get(identity) in above:
                return behaviour
        return None


@lru_cache(maxsize=1)
def terminology() -> Terminology:
    """The one terminology of this process."""
    store = _ontologies()
    pending: list[tuple[int, str, list[str]]] = []
    for name, letter in _LISTS:
        _add_list(store, read_tsv(name), letter, pending)
    _add_list(store, read_tsv("symptoms.tsv"), "T", pending)
    _add_list(store, _care(), "T", pending)
    _add_parents(store, pending)
    for row in read_tsv("acronyms.tsv"):
        _add_acronym(store, row)
    return store


def _ontologies() -> Terminology:
    with (files("medassay.language") / "lexicons" / "ontologies.npz").open("rb") as stream:
        arrays = np.load(stream, allow_pickle=False)
        text = {name: arrays[name].tobytes().decode() for name in ("ids", "labels", "keys", "releases")}
        starts = arrays["parent_start"].tolist()
        flat = arrays["parents"].tolist()
        index = dict(zip(text["keys"].split("\n"), arrays["key_term"].tolist()))
        below = arrays["below"].tolist()
    ids = text["ids"].split("\n")
    return Terminology(
        ids=ids,
        names=text["labels"].split("\n"),
        below=below,
        parents={row: tuple(flat[starts[row] : starts[row + 1]]) for row in range(len(ids))},
        index=index,
        releases=text["releases"],
        row_of={identity: row for row, identity in enumerate(ids)},
    )


def form_of(name: str, letter: str) -> str:
    """The normal form under which a name of one of our lists is kept."""
    return squeezed(name) if letter == "K" else key(name)


def _care() -> Iterator[dict[str, str]]:
    """The rows of care.tsv, one a concept: each class under its own class, each member under its class."""
    for row in read_tsv("care.tsv"):
        names = [row["class"], *_many(row["members"])]
        for i, listed in enumerate(names):
            name, *others = listed.split("=")
            yield {
                "id": f"{row['kind']}:{name.replace(' ', '-')}",
                "name": name,
                "aliases": "|".join(others),
                "parents": row["class"] if i else row["under"],
            }


def _add_list(
    store: Terminology, entries: Iterable[dict[str, str]], letter: str, pending: list[tuple[int, str, list[str]]]
) -> None:
    for entry in entries:
        row = store.row_of.get(entry["id"])
        if row is None:
            row = len(store.ids)
            store.ids.append(entry["id"])
            store.names.append(entry["name"])
            store.below.append(0)
            store.row_of[entry["id"]] = row
        else:
            store.names[row] = entry["name"]
        names = [entry["name"], *_many(entry["aliases"])]
        if letter == "K":
            names.append(entry["id"].partition(":")[2])
        for rank, name in enumerate(names):
            form = letter + form_of(name, letter)
            if rank == 0:
                store.index[form] = row
            else:
                store.index.setdefault(form, row)
        if entry.get("behaviour"):
            store.behaviour[row] = entry["behaviour"]
        if entry.get("group"):
            store.group[row] = entry["group"]
        pending.append((row, letter, _many(entry.get("parents", ""))))


def _add_parents(store: Terminology, pending: Iterable[tuple[int, str, list[str]]]) -> None:
    """Parents are given by name; what a term has below it is counted anew where our terms join in."""
    for row, letter, names in pending:
        parents = []
        for name in names:
            form = form_of(name, letter)
            parent = store.index.get(letter + form, store.index.get(_ONTOLOGY[letter] + form))
            if parent is None:
                raise LookupError(f"parent '{name}' of '{store.names[row]}' is in no lexicon")
            if parent != row and row not in store.above(parent):
                parents.append(parent)
                if letter == "S":
                    store.organs.add(parent)  # sites.tsv names organs as parents, and nothing broader
        store._above.clear()
        old = store.parents.get(row, ())
        store.parents[row] = old + tuple(parent for parent in parents if parent not in old)
    store._above.clear()
    theirs = [identity.startswith(("MONDO", "UBERON")) for identity in store.ids]
    counted = list(store.below)
    for row, _, _ in pending:
        for ancestor in store.above(row) - {row}:
            # The ontologies' own counts stand; a term of ours counts itself, and what theirs bring under ours.
            if not theirs[row]:
                store.below[ancestor] += 1
            elif not theirs[ancestor]:
                store.below[ancestor] += 1 + counted[row]
    for form in store.index:
        store.vocabulary.setdefault(form[0], []).append(form[1:])


def _add_acronym(store: Terminology, entry: dict[str, str]) -> None:
    """An acronym names what its expansion names, unless a list of ours has it already."""
    row = store.find(key(entry["expansion"]), entry["type"])
    if row is not None:
        store.index.setdefault(KINDS[entry["type"]][0] + key(entry["acronym"]), row)


def _many(cell: str) -> list[str]:
    return [part.strip() for part in cell.split("|") if part.strip()]
