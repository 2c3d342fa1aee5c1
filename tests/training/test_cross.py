"""The pair recipe on a tiny random BERT: each kind of head learns, flaws point at wrong words, weights come back."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from medassay.errors import InputError

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytestmark = pytest.mark.hf

from medassay.training import cross, ladder, nli, quality  # noqa: E402
from medassay.training.bert import load_encoder  # noqa: E402
from medassay.training.loop import Schedule, set_seed  # noqa: E402

QUICK = Schedule(epochs=15, rate=3e-3, head_rate=1e-2)


@pytest.fixture
def texts(tiny_base: Path) -> cross.PairTexts:
    from tokenizers import Tokenizer

    return cross.PairTexts(Tokenizer.from_file(str(tiny_base / "tokenizer.json")), 64)


def _model(tiny_base: Path, heads: dict[str, int]) -> cross.PairModel:
    set_seed(0)
    return cross.PairModel(load_encoder(tiny_base, 0), heads)


def test_every_kind_of_head_learns_at_once(tiny_base: Path, texts: cross.PairTexts) -> None:
    right, wrong = "cd30 is positive", "cd30 is negative"
    classes = [[texts.pair(right, right, (0.0,))], [texts.pair(right, wrong, (2.0,))]] * 8
    shares = [[texts.pair(right, right, (1.0, float("nan")))], [texts.pair(right, wrong, (0.2, 0.9))]] * 8
    order = [
        [
            texts.edited(right, right, ladder.FAITHFUL, wrong=False),
            texts.edited(right, wrong, ladder.FLAWED, wrong=True),
            texts.pair(right, "breast carcinoma grade 2", ladder.UNRELATED),
        ]
    ] * 8
    tasks = {
        "nli": cross.Task("class", classes),
        "facts": cross.Task("share", shares),
        "fidelity": cross.Task("order", order),
    }
    model = _model(tiny_base, {"nli": 3, "facts": 2, "fidelity": 1})
    losses = cross.fit_pairs(model, tasks, QUICK, tokens=256)
    assert losses[-1] < losses[0]
    items = [texts.pair(right, right, ()), texts.pair(right, wrong, ())]
    assert cross.predict_pairs(model, "nli", "class", items).argmax(1).tolist() == [0, 2]
    assert cross.predict_pairs(model, "facts", "share", items)[:, 0] == pytest.approx([1.0, 0.2], abs=0.15)
    scores = cross.predict_pairs(model, "fidelity", "order", list(order[0]))[:, 0]
    assert scores[0] > scores[1] > scores[2]


def test_an_edit_knows_its_place_on_both_sides(texts: cross.PairTexts) -> None:
    item = texts.edited("cd30 is positive .", "cd30 is negative .", (1.0, 0.3), wrong=True)
    pieces = [texts.tokenizer.id_to_token(i) for i in item.ids]
    assert [piece for piece, flaw in zip(pieces, item.flaws) if flaw] == ["positive", "negative"]
    added = texts.edited("cd30 is positive", "no necrosis cd30 is positive", (1.0, 0.3), wrong=True)
    assert [p for p, f in zip([texts.tokenizer.id_to_token(i) for i in added.ids], added.flaws) if f] == [
        "no",
        "necrosis",
    ]
    assert not any(texts.edited("cd30 is positive", "cd30 was positive", (3.0, 1.0), wrong=False).flaws)


def test_only_the_trained_part_is_saved(tiny_base: Path, texts: cross.PairTexts, tmp_path: Path) -> None:
    model = _model(tiny_base, {"nli": 3})
    cross.save_upper(model, tmp_path / "weights.safetensors")
    torch.manual_seed(5)
    other = cross.load_upper(cross.PairModel(load_encoder(tiny_base, 0), {"nli": 3}), tmp_path / "weights.safetensors")
    items = [texts.pair("cd30 is positive", "no necrosis", ())]
    one = cross.predict_pairs(model, "nli", "class", items)
    assert np.allclose(one, cross.predict_pairs(other, "nli", "class", items), atol=1e-2)
    with pytest.raises(ValueError, match="not the weights"):
        cross.load_upper(cross.PairModel(load_encoder(tiny_base, 0), {"quality": 1}), tmp_path / "weights.safetensors")


def _sets() -> list[ladder.LadderSet]:
    def one(number: int, site: str) -> ladder.LadderSet:
        text = f"Tumor of the left {site} measures 2.4 cm. No necrosis is seen. Margins are negative for carcinoma."
        return ladder.LadderSet(
            f"s{number}",
            "pathology",
            (
                text,
                f"Left {site}: 24 mm tumor; necrosis absent; margins free.",
                f"A {site} tumor, left, 2.4 cm, no necrosis.",
            ),
            (f"Left {site}: 24 mm tumor with necrosis; margins free.",),
        )

    return [one(i, site) for i, site in enumerate(("breast", "kidney", "lung", "colon", "ovary", "thyroid"))]


def test_ladder_groups_hold_every_control() -> None:
    made = ladder.groups(_sets(), 1, joined=10)
    assert len(made) == 6 * 3 + 10
    for group in made:
        rungs = {candidate.rung for candidate in group.candidates}
        assert ladder.FAITHFUL in rungs and ladder.FLAWED in rungs
        faithful = [c for c in group.candidates if c.rung == ladder.FAITHFUL]
        assert any(c.text == group.reference for c in faithful), "the copy"
        assert any(not c.edit for c in faithful), "a rewording"
        assert all(c.text != group.reference for c in group.candidates if c.rung == ladder.FLAWED)
    flawed = [c for group in made for c in group.candidates if c.rung == ladder.FLAWED]
    assert any(c.edit for c in flawed) and any(not c.edit for c in flawed)
    assert ladder.groups(_sets(), 1, joined=10) == made, "the same seed gives the same groups"


def test_additions_stand_anywhere() -> None:
    chooser = random.Random(3)
    text = "One is seen here. Two is seen here. Three is seen here."
    places = {ladder._placed(text, "Added.", chooser).index("Added.") for _ in range(40)}
    assert len(places) == 4


def test_profiles_meet_every_hypothesis(tmp_path: Path) -> None:
    row = {
        "site": "breast",
        "premises": ["A", "B"],
        "entails": ["X.", "Y."],
        "contradicts": ["Z."],
        "neutral": ["N."],
        "vague": ["V"],
    }
    path = tmp_path / "profiles.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    pairs = {(p.premise, p.hypothesis): nli.LABELS[p.label] for p in nli.read_profiles(path)}
    assert pairs[("A", "X.")] == pairs[("B", "Y.")] == "entailment"
    assert pairs[("B", "Z.")] == "contradiction"
    assert pairs[("V", "X.")] == pairs[("V", "N.")] == "neutral"


def test_an_unknown_label_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("premise,hypothesis,label\na,b,maybe\n", encoding="utf-8")
    with pytest.raises(InputError, match="row 1: label 'maybe'"):
        nli.read_nli(path)


def test_quality_falls_with_the_weight_of_errors() -> None:
    text = "The patient is a 57-year-old woman. No fever. She takes aspirin 81 mg daily. Pain in the left knee."
    chooser = random.Random(0)
    made = [quality.damaged(text, ["He drinks six beers a day. He smokes."], chooser) for _ in range(60)]
    assert {True} == {0.0 <= pair.quality <= 1.0 for pair in made}
    assert all(pair.candidate == text for pair in made if pair.quality == 1.0)
    assert min(pair.quality for pair in made) < 0.6 < max(p.quality for p in made if p.candidate != text)


def test_shares_come_from_counts() -> None:
    counts = {"ref_facts": 4, "correct": 2, "incorrect": 1, "hallucinated": 1, "omitted": 2}
    assert quality.shares_of(counts) == (0.5, 0.5, 0.25, 0.5)
    silent = {"ref_facts": 4, "correct": 0, "incorrect": 0, "hallucinated": 0, "omitted": 4}
    assert np.isnan(quality.shares_of(silent)[0]) and quality.shares_of(silent)[1] == 0.0
