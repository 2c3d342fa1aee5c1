"""Which rows of a scores file are the same item seen by different systems.

Rows become a matrix of items × systems. An item that a system lacks, or that is unscored, stays NaN:
nothing is imputed. Several rows of one system on one item count as their mean, and the headline says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from medassay.engine.score_table import Labels, ScoreTable
from medassay.errors import MedassayError
from medassay.study.resampling import Floats, Ints, Mask, merged, own_clusters

MOST_SYSTEMS = 50
"""The most values that a column of systems may have; one with more is probably another column."""


@dataclass(frozen=True)
class Pairing:
    """Rows sorted into items and systems.

    rows: the rows that have both; items_of, systems_of: theirs.
    present: [items, systems], whether there is a row at all.
    clusters: of each item, 0 … cluster_count − 1.
    system_of_row, row_clusters: of every row of the table, paired or not; −1 for a row without a system.
    headline: how many items the systems have in common, and what pairs them.
    """

    systems: tuple[str, ...]
    item: str
    cluster: str
    items: int
    cluster_count: int
    rows: Ints
    items_of: Ints
    systems_of: Ints
    present: Mask
    clusters: Ints
    system_of_row: Ints
    row_clusters: Ints
    headline: str
    notes: tuple[str, ...]

    def matrix(self, values: Floats) -> Floats:
        """A column as [items, systems]; NaN where there is no score."""
        paired = values[self.rows]
        scored = ~np.isnan(paired)
        cell = (self.items_of * len(self.systems) + self.systems_of)[scored]
        size = self.items * len(self.systems)
        counts = np.bincount(cell, minlength=size)
        with np.errstate(invalid="ignore"):
            means: Floats = np.bincount(cell, paired[scored], size) / counts
        return means.reshape(self.items, len(self.systems))


def pair_items(scores: ScoreTable, by: Sequence[str], item: str | None, cluster: str, seed: int) -> Pairing:
    """Pair the rows of a scores file; raises where nothing pairs them.

    by: the columns that tell systems apart; each combination of their values is a system.
    """
    systems = _systems(scores, by)
    name = item or _default_item(scores, systems)
    labels = scores.labels(name)
    rows = np.flatnonzero((systems.codes >= 0) & (labels.codes >= 0))
    if not len(rows):
        raise MedassayError(f"{scores.name}: no row has both '{', '.join(by)}' and '{name}'")
    _, first, items_of = np.unique(labels.codes[rows], return_index=True, return_inverse=True)
    systems_of = systems.codes[rows]
    row_counts = np.bincount(items_of * len(systems.names) + systems_of, minlength=len(first) * len(systems.names))
    row_counts = row_counts.reshape(len(first), len(systems.names))
    cluster_name, clusters = _clusters(scores, rows[first], name, cluster)
    count = int(clusters.max()) + 1
    clusters = merged(clusters, seed)
    notes = [f"Resampled by {cluster_name}: {count:,} clusters of {len(first):,} items."]
    if count > int(clusters.max()) + 1:
        notes.append(f"Clusters merged at random into {int(clusters.max()) + 1:,} groups before resampling.")
    if len(rows) < len(scores):
        notes.append(f"{len(scores) - len(rows):,} rows without '{', '.join(by)}' or '{name}' are not paired.")
    notes += _mismatch(scores, rows, items_of, name)
    return Pairing(
        systems=systems.names,
        item=name,
        cluster=cluster_name,
        items=len(first),
        cluster_count=int(clusters.max()) + 1,
        rows=rows,
        items_of=items_of.astype(np.int64),
        systems_of=systems_of,
        present=row_counts > 0,
        clusters=clusters,
        system_of_row=systems.codes,
        row_clusters=_row_clusters(len(scores), rows, clusters[items_of], seed),
        headline=_headline(name, len(rows), row_counts),
        notes=tuple(notes),
    )


def _headline(item: str, rows: int, row_counts: Ints) -> str:
    """How many items pair, by what, and whether rows were averaged for it. row_counts: by [item, system]."""
    items, systems = row_counts.shape
    common = int((row_counts > 0).all(axis=1).sum())
    by = "equal references (column 'reference_key')" if item == "reference_key" else f"column '{item}'"
    whom = "both systems" if systems == 2 else f"all {systems} systems"
    shared = f"{common:,} items" if common == items else f"{common:,} of {items:,} items"
    text = f"{shared} have a row from {whom}, paired by {by}."
    several = row_counts[(row_counts > 1).any(axis=1)]
    if len(several):
        text += (
            f" {rows:,} rows become {int((row_counts > 0).sum()):,}: on {len(several):,} items a system has up to "
            f"{int(row_counts.max()):,} rows, and their mean counts. If they are different cases, name the column "
            "that pairs them (item)."
        )
    return text


def _row_clusters(count: int, rows: Ints, clusters: Ints, seed: int) -> Ints:
    """The cluster of every row; a row that is not paired is a cluster of its own."""
    cluster_of_row = int(clusters.max()) + 1 + np.arange(count, dtype=np.int64)
    cluster_of_row[rows] = clusters
    _, numbers = np.unique(cluster_of_row, return_inverse=True)
    return merged(numbers.astype(np.int64), seed)


def _systems(scores: ScoreTable, by: Sequence[str]) -> Labels:
    """The systems: the values of the columns, joined by a slash where there are several columns."""
    if "system" not in scores.columns and list(by) == ["system"]:
        labels = {name: len(values.names) for name, values in scores.columns.items() if isinstance(values, Labels)}
        most = min(MOST_SYSTEMS, (len(scores) - 1) // 2)
        possible = [name for name, n in labels.items() if 2 <= n <= most and "." not in name]
        suggestion = f" (it may be {' or '.join(possible[:5])})" if possible else ""
        raise MedassayError(
            f"{scores.name}: no column 'system'; name the column that tells systems apart with `by`{suggestion}"
        )
    systems = joined_labels([scores.labels(column) for column in by])
    if not 2 <= len(systems.names) <= MOST_SYSTEMS:
        words = f"column '{by[0]}' has" if len(by) == 1 else f"columns {', '.join(by)} have"
        raise MedassayError(
            f"{scores.name}: {words} {len(systems.names):,} different values; "
            f"a comparison needs 2 to {MOST_SYSTEMS} systems (choose the columns with `by`)"
        )
    return systems


def joined_labels(columns: Sequence[Labels]) -> Labels:
    """Several columns as one: `a / b`, in order of appearance; empty where one of them is."""
    if len(columns) == 1:
        return columns[0]
    codes = columns[0].codes
    names = columns[0].names
    for column in columns[1:]:
        both = np.where((codes >= 0) & (column.codes >= 0), codes * max(1, len(column.names)) + column.codes, -1)
        distinct, first, index = np.unique(both[both >= 0], return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(len(distinct), dtype=np.int64)
        rank[order] = np.arange(len(distinct))
        pairs = [divmod(int(mark), len(column.names)) for mark in distinct[order]]
        names = tuple(f"{names[left]} / {column.names[right]}" for left, right in pairs)
        codes = both.copy()
        codes[both >= 0] = rank[index]
    return Labels(codes, names)


def _default_item(scores: ScoreTable, systems: Labels) -> str:
    """`id` where several systems share an id, else `reference_key` where several share one."""
    for column in ("id", "reference_key"):
        if column in scores.columns and _crosses(scores.labels(column), systems):
            return column
    raise MedassayError(
        f"{scores.name}: no two systems share an id or a reference_key, so nothing pairs their rows; "
        "name the column that does with `item`"
    )


def _crosses(labels: Labels, systems: Labels) -> bool:
    """Whether some label occurs under more than one system."""
    both = (labels.codes >= 0) & (systems.codes >= 0)
    pairs = np.unique(labels.codes[both] * len(systems.names) + systems.codes[both])
    return len(pairs) > len(np.unique(pairs // len(systems.names)))


def _clusters(scores: ScoreTable, rows: Ints, item: str, cluster: str) -> tuple[str, Ints]:
    """What is resampled together, by item: its name for the reader, and a number for each item."""
    column = "reference_key" if cluster == "reference" else cluster
    if cluster == "none" or column == item or (cluster == "reference" and column not in scores.columns):
        return "item", np.arange(len(rows), dtype=np.int64)
    numbers = own_clusters(scores.labels(column).codes[rows])
    return "same reference" if cluster == "reference" else f"column '{cluster}'", numbers


def _mismatch(scores: ScoreTable, rows: Ints, items_of: Ints, item: str) -> list[str]:
    """Rows that share an item but not its references are probably not the same item."""
    if item == "reference_key" or "reference_key" not in scores.columns:
        return []
    keys = scores.labels("reference_key").codes[rows]
    pairs = np.unique(np.stack([items_of[keys >= 0], keys[keys >= 0]], axis=1), axis=0)
    several = int((np.bincount(pairs[:, 0]) > 1).sum()) if len(pairs) else 0
    if not several:
        return []
    return [f"{several:,} items have different references under different systems: is '{item}' the right pairing?"]
