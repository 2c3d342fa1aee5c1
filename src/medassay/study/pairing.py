"""Which rows of a scores file are the same item seen by different systems.

Rows become a matrix of items × systems. An item that a system lacks, or that is unscored, stays NaN:
nothing is imputed. Several rows of one system on one item count as their mean, and that is said.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from medassay.engine.score_table import Labels, ScoreTable
from medassay.errors import MedassayError
from medassay.study.resampling import Floats, Ints, Mask, merged, own_clusters

MOST_SYSTEMS = 50
"""More values than this in the column of systems, and it is another column that was meant."""


@dataclass(frozen=True)
class Pairing:
    """Rows sorted into items and systems.

    rows: the rows that have both; items_of, systems_of: theirs.
    present: [items, systems], whether there is a row at all.
    clusters: of each item, 0 … cluster_count − 1.
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
    notes: tuple[str, ...]

    def matrix(self, values: Floats) -> Floats:
        """A column as [items, systems]; NaN where there is no score."""
        kept = values[self.rows]
        scored = ~np.isnan(kept)
        cell = (self.items_of * len(self.systems) + self.systems_of)[scored]
        size = self.items * len(self.systems)
        counts = np.bincount(cell, minlength=size)
        with np.errstate(invalid="ignore"):
            means: Floats = np.bincount(cell, kept[scored], size) / counts
        return means.reshape(self.items, len(self.systems))


def pair_items(scores: ScoreTable, by: str, item: str | None, cluster: str, seed: int) -> Pairing:
    """Pair the rows of a scores file; raises where nothing pairs them."""
    if by not in scores.columns and by == "system":
        raise MedassayError(f"{scores.name}: no column 'system'; name the column that tells systems apart with `by`")
    systems = scores.labels(by)
    if not 2 <= len(systems.names) <= MOST_SYSTEMS:
        raise MedassayError(
            f"{scores.name}: column '{by}' has {len(systems.names):,} different values; "
            f"a comparison needs 2 to {MOST_SYSTEMS} systems (choose the column with `by`)"
        )
    name = item or _default_item(scores, systems)
    labels = scores.labels(name)
    rows = np.flatnonzero((systems.codes >= 0) & (labels.codes >= 0))
    if not len(rows):
        raise MedassayError(f"{scores.name}: no row has both '{by}' and '{name}'")
    _, first, items_of = np.unique(labels.codes[rows], return_index=True, return_inverse=True)
    systems_of = systems.codes[rows]
    seen = np.bincount(items_of * len(systems.names) + systems_of, minlength=len(first) * len(systems.names))
    seen = seen.reshape(len(first), len(systems.names))
    cluster_name, clusters = _clusters(scores, rows[first], name, cluster)
    count = int(clusters.max()) + 1
    clusters = merged(clusters, seed)
    notes = [f"Rows paired by column '{name}': {len(first):,} items, resampled by {cluster_name} ({count:,} clusters)."]
    if count > int(clusters.max()) + 1:
        notes.append(f"Clusters merged at random into {int(clusters.max()) + 1:,} groups before resampling.")
    if len(rows) < len(scores):
        notes.append(f"{len(scores) - len(rows):,} rows without '{by}' or '{name}' are left out.")
    if (seen > 1).any():
        notes.append(f"{int((seen > 1).sum()):,} times a system has several rows for one item; their mean counts.")
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
        present=seen > 0,
        clusters=clusters,
        notes=tuple(notes),
    )


def _default_item(scores: ScoreTable, systems: Labels) -> str:
    """`id` where one id stands under several systems, else `reference_key` where one of those does."""
    for column in ("id", "reference_key"):
        if column in scores.columns and _crosses(scores.labels(column), systems):
            return column
    raise MedassayError(
        f"{scores.name}: no id and no reference_key stands under two systems, so nothing pairs their rows; "
        "name the column that does with `item`"
    )


def _crosses(labels: Labels, systems: Labels) -> bool:
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
