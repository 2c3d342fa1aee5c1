"""Knowledge graphs to train on: concepts, and triples (head, relation, tail) between them.

From medassay's own terminology (MONDO, UBERON, CL, HPO and the lexicons), from OBO files, or, in `umls`,
from a UMLS release.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt

from medassay.errors import InputError
from medassay.language.terms import key, words

Triples = npt.NDArray[np.int32]

IS_A = "is_a"
SAME = "same_name"
NAMES = "names"
LEAST = 20
"""Triples a relation must have to be one of its own; rarer ones count as `related`."""

LONGEST = 10
"""Words of a name that is kept for finding it in texts."""


@dataclass(frozen=True, slots=True)
class Graph:
    """ids and labels by row; triples of (head row, relation, tail row); names by normal form to rows.

    names is empty where medassay's terminology finds the concepts in a text.
    """

    ids: Sequence[str]
    labels: Sequence[str]
    relations: tuple[str, ...]
    triples: Triples
    names: Mapping[str, int] = field(default_factory=dict)
    source: str = ""

    def split(self, held: float, seed: int) -> tuple[Triples, Triples]:
        """Triples to train on and to test on: of `is_a` alone, and only where both ends keep another triple."""
        order = np.flatnonzero(self.triples[:, 1] == self.relations.index(IS_A))
        random.Random(seed).shuffle(shuffled := order.tolist())
        degree = np.bincount(self.triples[:, [0, 2]].ravel(), minlength=len(self.ids))
        test: list[int] = []
        for i in shuffled:
            head, _, tail = self.triples[i]
            if degree[head] > 1 and degree[tail] > 1 and len(test) < held * len(order):
                degree[head] -= 1
                degree[tail] -= 1
                test.append(i)
        chosen = np.zeros(len(self.triples), bool)
        chosen[test] = True
        return self.triples[~chosen], self.triples[chosen]


def make_graph(
    labels: Mapping[str, str],
    edges: Iterable[tuple[str, str, str]],
    names: Mapping[str, str] | None = None,
    source: str = "",
) -> Graph:
    """A graph of labels by id, edges (head id, relation, tail id) and names (normal form to id).

    Edges to concepts without a label are left out, and so are concepts without any edge: nothing could be
    learnt of them.
    """
    kept = sorted({edge for edge in edges if edge[0] != edge[2] and edge[0] in labels and edge[2] in labels})
    if not kept:
        raise InputError(f"{source or 'graph'}: no relation between two concepts that have names; nothing to train on")
    often = Counter(relation for _, relation, _ in kept)
    joined = [(h, r if often[r] >= LEAST or r in (IS_A, SAME, NAMES) else "related", t) for h, r, t in kept]
    ids = sorted({end for head, _, tail in kept for end in (head, tail)})
    row = {identity: i for i, identity in enumerate(ids)}
    relations = tuple(sorted({relation for _, relation, _ in joined} | {IS_A}))
    number = {relation: i for i, relation in enumerate(relations)}
    triples = np.array(sorted({(row[h], number[r], row[t]) for h, r, t in joined}), dtype=np.int32)
    name_rows = {form: row[identity] for form, identity in (names or {}).items() if identity in row}
    return Graph(ids, [labels[i] for i in ids], relations, triples, name_rows, source)


def terminology_graph() -> Graph:
    """The concepts of medassay's terminology.

    is_a: parents (for sites also part of). same_name: two sources have a name in common. names: a concept's name
    holds that of another ("carcinoma of the kidney": carcinoma, kidney), the longest such alone; it joins the
    ontologies with one another.
    """
    from medassay.language.terminology import NOTE_KINDS, terminology

    store = terminology()
    rows: dict[str, list[int]] = {}
    for form, row in sorted(store.index.items(), key=lambda item: "".join(NOTE_KINDS).find(item[0][0])):
        if form[0] in NOTE_KINDS:
            rows.setdefault(form[1:], []).append(row)
    edges = [(store.ids[row], IS_A, store.ids[up]) for row, ups in store.parents.items() for up in ups]
    for same in rows.values():
        edges += [(store.ids[a], SAME, store.ids[b]) for a, b in combinations(sorted(set(same)), 2)]
    labels = dict(zip(store.ids, store.names))
    first = {form: store.ids[same[0]] for form, same in rows.items()}
    edges += name_edges(labels, first)
    return make_graph(labels, edges, source=store.releases)


def name_edges(labels: Mapping[str, str], first: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """(concept, names, concept) where the words of a label hold those of another name; the longest parts alone.

    >>> name_edges({"1": "kidney stone", "2": "kidney"}, {"kidney stone": "1", "kidney": "2"})
    [('1', 'names', '2')]
    """
    edges = []
    for identity, label in labels.items():
        parts = sorted(set(words(label)))
        if not 2 <= len(parts) <= 6:
            continue
        covered: list[set[str]] = []
        for size in range(len(parts) - 1, 0, -1):
            for subset in combinations(parts, size):
                other = first.get(" ".join(subset))
                if other is None or other == identity or any(set(subset) <= larger for larger in covered):
                    continue
                covered.append(set(subset))
                edges.append((identity, NAMES, other))
    return edges


def obo_graph(paths: Sequence[Path]) -> Graph:
    """The terms of OBO files: names, exact synonyms, is_a and the relations they state."""
    from medassay.training.terminologies import parse_obo

    labels: dict[str, str] = {}
    edges: list[tuple[str, str, str]] = []
    names: dict[str, str] = {}
    for path in paths:
        try:
            _, terms = parse_obo(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); give an OBO file") from error
        except (KeyError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: not an OBO file ({type(error).__name__}: {error})") from error
        if not terms:
            raise InputError(f"{path}: holds no [Term]; is it an OBO file?")
        for identity, term in terms.items():
            if term["deprecated"]:
                continue
            labels[identity] = term["label"]
            edges += [(identity, IS_A, up) for up in term["parents"]]
            edges += [(identity, relation, other) for relation, other in term["relations"]]
            for name in (term["label"], *term["synonyms"]):
                if 1 <= len(words(name)) <= LONGEST:
                    names.setdefault(key(name), identity)
    return make_graph(labels, edges, names, source="+".join(path.name for path in paths))
