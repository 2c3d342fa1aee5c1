"""SapBERT's alignment: the miner and the loss by hand, and the preset end to end."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.hf
from medassay.models import load  # noqa: E402
from medassay.training import sapbert  # noqa: E402
from medassay.training.align import Concept  # noqa: E402
from medassay.training.command import train_role  # noqa: E402

ANGLES = (0.0, 60.0, 10.0, 180.0)


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
