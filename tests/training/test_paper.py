"""HARE's published recipes: which pairs are drawn, SapBERT's loss by hand, seeds and epochs, and what is written."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from medassay.errors import InputError, UnknownName
from medassay.training.annotation import Entity, Segment

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.hf

from medassay.models import load  # noqa: E402
from medassay.training import sapbert  # noqa: E402
from medassay.training.align import Concept  # noqa: E402
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


ANGLES = (0.0, 60.0, 10.0, 180.0)
"""Degrees: names 0 and 1 are of one concept, 2 and 3 of two others."""


def vectors() -> torch.Tensor:
    angles = [math.radians(a) for a in ANGLES]
    return torch.tensor([[math.cos(a), math.sin(a)] for a in angles])


OWNER = torch.tensor([0, 0, 1, 2])


def test_the_miner_keeps_pairs_of_hard_triplets() -> None:
    # distances of unit vectors: 2 sin(angle / 2). 0–1: 1.0; 0–2: 0.174; 0–3: 2; 1–2: 0.845; 1–3: 1.732.
    # Anchor 0: negative 2 is nearer than positive 1 → hard; negative 3 is 1.0 farther → not.
    # Anchor 1: negative 2 is nearer than positive 0 → hard; negative 3 is 0.73 farther → not.
    positive, negative = sapbert.hard_pairs(vectors(), OWNER, 0.2)
    assert positive.nonzero().tolist() == [[0, 1], [1, 0]]
    assert negative.nonzero().tolist() == [[0, 2], [1, 2]]
    wide = sapbert.hard_pairs(vectors(), OWNER, 0.8)[1]
    assert wide.nonzero().tolist() == [[0, 2], [1, 2], [1, 3]]


def test_the_loss_by_hand() -> None:
    def cosine(one: int, two: int) -> float:
        return math.cos(math.radians(ANGLES[one] - ANGLES[two]))

    # α 1, β 60, base 0.5; names 2 and 3 have no positive, so no triplet and no loss; the mean is over all four.
    pull = 2 * math.log(1 + math.exp(-(cosine(0, 1) - 0.5)))
    push = sum(math.log(1 + math.exp(60 * (cosine(a, 2) - 0.5))) / 60 for a in (0, 1))
    found = sapbert.similarity_loss(vectors() * 3.0, OWNER, sapbert.Similarity())
    assert float(found) == pytest.approx((pull + push) / 4, rel=1e-5)


def test_pairs_of_names_are_of_one_concept_and_bounded() -> None:
    many = Concept("C1", tuple(f"name {i}" for i in range(30)))
    pairs = sapbert.name_pairs([many, Concept("C2", ("Kidney", "kidney"))], 0)
    assert len(pairs) == sapbert.PAIRS_PER_CONCEPT and {number for number, _, _ in pairs} == {0}


def test_names_of_a_umls_release(release: Path) -> None:
    names = {concept.id: concept.names for concept in sapbert.read_names(release)}
    assert names["C1"] == ("Myocardial infarction", "Heart attack")
    assert "C4" not in names, "suppressed"


def test_the_alignment_preset_learns_and_is_read_back(tiny_base: Path, tmp_path: Path) -> None:
    words = ["cd30", "ki67", "breast", "kidney", "renal", "ductal", "invasive", "mitoses", "necrosis", "cell"]
    lines = [
        {"id": f"{i}-{k}", "names": [f"{word} {tail}", f"{tail} {word}", f"the {word} of {tail}"]}
        for i, word in enumerate(words)
        for k, tail in enumerate(("carcinoma", "grade", "positive"))
    ]
    data = tmp_path / "concepts.jsonl"
    data.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    figures = train_role("align", data, str(tiny_base), tmp_path / "one", "paper", 3, 1)
    again = train_role("align", data, str(tiny_base), tmp_path / "two", "paper", 3, 1)
    other = train_role("align", data, str(tiny_base), tmp_path / "three", "paper", 3, 2)
    assert set(figures) == {"synonym_retrieval"} and figures == again
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two", "three")]
    assert weights[0] == weights[1] != weights[2], "the seed is honoured"
    assert 0 <= other["synonym_retrieval"] <= 1
    aligned = load("align", str(tmp_path / "one")).embed(["breast carcinoma", "carcinoma breast"])
    assert aligned.shape[0] == 2


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


def test_other_roles_have_no_published_recipe(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="ner, re and align"):
        train_role("expert", tmp_path, "base", tmp_path / "out", "paper")
