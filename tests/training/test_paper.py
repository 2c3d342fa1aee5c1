"""HARE's published recipes: which pairs are drawn, SapBERT's loss by hand, seeds and epochs, and what is written."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from medassay.errors import InputError
from medassay.training.annotation import Entity, Segment

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.hf

from medassay.models import load  # noqa: E402
from medassay.training.command import planned, train_role  # noqa: E402
from medassay.training.loop import Schedule  # noqa: E402
from medassay.training.paper import PAPER, relation_examples  # noqa: E402

FOUR = Segment(
    "s",
    "CD30 is positive in breast carcinoma",
    (Entity(0, 4, "marker"), Entity(8, 16, "modifier"), Entity(20, 26, "site"), Entity(27, 36, "diagnosis")),
    frozenset({(0, 1)}),
    "doc",
)


def test_negatives_are_drawn_from_all_ordered_pairs_of_any_type() -> None:
    drawn = {text for seed in range(200) for text, related in relation_examples([FOUR], 1, seed) if not related}
    assert len(drawn) == 4 * 3 - 1, "every ordered pair but the related one"
    assert "[E2]CD30[/E2] is [E1]positive[/E1] in breast carcinoma" in drawn, "a relation turned round is a negative"
    assert "CD30 is positive in [E1]breast[/E1] [E2]carcinoma[/E2]" in drawn


@pytest.mark.parametrize(("negatives", "expected"), [(1, 1), (3, 3), (20, 11)])
def test_each_report_has_as_many_negatives_as_asked_for(negatives: int, expected: int) -> None:
    labels = [related for _, related in relation_examples([FOUR], negatives, 0)]
    assert (labels.count(1), labels.count(0)) == (1, expected)
    bare = Segment("t", FOUR.text, FOUR.entities, frozenset(), "doc2")
    labels = [related for _, related in relation_examples([FOUR, bare], 1, 0)]
    assert (labels.count(1), labels.count(0)) == (1, 2), "a report without a relation gives negatives too"


def test_pairs_depend_on_the_seed_alone() -> None:
    assert relation_examples([FOUR], 1, 5) == relation_examples([FOUR], 1, 5)
    assert len({tuple(relation_examples([FOUR], 1, seed)) for seed in range(9)}) > 1
    with pytest.raises(InputError, match="no relation"):
        relation_examples([Segment("t", FOUR.text, FOUR.entities)], 1, 0)


def test_presets_honour_epochs_and_seed() -> None:
    assert planned(PAPER, None, 0) == PAPER
    assert (planned(PAPER, 7, 3).epochs, planned(PAPER, 7, 3).seed) == (7, 3)
    assert (PAPER.epochs, PAPER.rate, PAPER.batch) == (2, 5e-5, 4)


def test_the_cosine_rate_warms_up_and_falls() -> None:
    plan = Schedule(warmup=0.5, decay="cosine")
    # 8 steps, 4 of warm-up: 1/4 … 1, then 0.5 (1 + cos(π k/4)) for k = 0 … 3
    after = [0.5 * (1 + math.cos(math.pi * k / 4)) for k in range(4)]
    assert [plan.factor(step, 8) for step in range(8)] == pytest.approx([0.25, 0.5, 0.75, 1.0, *after])


"""Degrees: names 0 and 1 are of one concept, 2 and 3 of two others."""


def test_the_relation_preset_is_read_back(tiny_base: Path, segments: list[Segment], tmp_path: Path) -> None:
    data = tmp_path / "segments.jsonl"
    rows = [
        {
            "id": s.id,
            "text": s.text,
            "doc": s.doc,
            "entities": [
                {"start": e.start, "end": e.end, "type": e.type, "assertion": e.assertion} for e in s.entities
            ],
            "relations": sorted(map(list, s.relations)),
        }
        for s in segments
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    figures = train_role("re", data, str(tiny_base), tmp_path / "re", "paper", 1, 3)
    assert {"precision", "recall", "f1", "micro_f1"} <= set(figures)
    assert load("re", str(tmp_path / "re")).read(["CD30 is positive ."], [[]])[0].links == ()
