"""The tasks of the likelihood recipe, and their batches."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytestmark = pytest.mark.hf
from medassay.training import likelihood_tasks as tasks  # noqa: E402


def test_changed_places_are_those_of_the_damaged_text() -> None:
    assert tasks.changed_places([1, 2, 3, 4], [1, 9, 3, 4, 8]) == (1, 4)
    assert tasks.changed_places([1, 2, 3], [1, 3]) == ()


def test_packing_keeps_places_targets_and_marks() -> None:
    pairs = (tasks.Pair([5, 6], [7, 8], 1.0, (1,)), tasks.Pair([5, 6], [9], 0.0), tasks.Pair([], [4], 0.5))
    batch = tasks.packed([tasks.Group(pairs, ((0, 1, False),))], tasks.Marks(2, 3, 4))
    # two different sources, so two windows; the equal ones share
    assert batch.windows[:, :4].tolist() == [[2, 5, 6, 3], [2, 3, 0, 0]]
    assert batch.places[:, :4].tolist() == [[0, 1, 2, -1], [0, 1, 2, -1], [8, -1, -1, -1]]
    assert batch.given[:, :3].tolist() == [[2, 7, 8], [2, 9, 0], [2, 4, 0]]
    assert batch.wanted[:, :3].tolist() == [[7, 8, 3], [9, 3, 0], [4, 3, 0]]
    assert batch.wrong.sum() == 1 and batch.wrong[0, 1] == 1
    assert batch.learn == [1.0, 0.0, 0.5] and batch.ranks == [(0, 1, False)]


def test_all_tasks_make_groups_that_fit(tiny_base: Path) -> None:
    rng = random.Random(0)
    text = [5, 6, 7, 12, 8, 9, 10, 12, 11, 13]
    material = tasks.Material(
        documents=[text * 40],
        damaged=[tasks.Damaged(text, (("value", [*text[:3], 20, *text[4:]]), ("omission", text[:6])), (text[::-1],))],
        notes=[(text * 200, text)],
        marks=tasks.Marks(2, 3, 4, frozenset({12})),
    )
    for make, _, _ in tasks.TASKS:
        for _ in range(30):
            group = make(material, rng)
            assert all(better != worse < len(group.pairs) for better, worse, _ in group.ranks)
    made = tasks.batches(material, 1, 600)
    assert made and all(b.wanted.shape == b.wrong.shape == b.given.shape for b in made)
