"""The pair recipe on a tiny random BERT: each kind of head learns."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.errors import InputError

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytestmark = pytest.mark.hf

from medassay.models.activations import sigmoid  # noqa: E402
from medassay.training import cross, pair_roles  # noqa: E402
from medassay.training.bert import load_encoder, load_tokenizer  # noqa: E402
from medassay.training.loop import Schedule, set_seed  # noqa: E402

QUICK = Schedule(epochs=25, rate=3e-3, head_rate=1e-2)
RIGHT, WRONG = "cd30 is positive", "cd30 is negative"


@pytest.fixture
def texts(tiny_base: Path) -> cross.PairTexts:
    return cross.PairTexts(load_tokenizer(tiny_base), 64)


@pytest.fixture
def model(tiny_base: Path) -> cross.PairModel:
    set_seed(0)
    return cross.PairModel(load_encoder(tiny_base, 0), {"nli": 3, "quality": 1})


def test_a_class_head_learns(model: cross.PairModel, texts: cross.PairTexts) -> None:
    pairs = [cross.PairItem(*texts.join(RIGHT, RIGHT), 0.0), cross.PairItem(*texts.join(RIGHT, WRONG), 2.0)]
    losses = cross.fit_pairs(model, "nli", "class", pairs * 8, QUICK, tokens=48)
    assert losses[-1] < losses[0]
    assert cross.predict_logits(model, "nli", pairs).argmax(1).tolist() == [0, 2]


def test_a_share_head_learns(model: cross.PairModel, texts: cross.PairTexts) -> None:
    pairs = [cross.PairItem(*texts.join(RIGHT, RIGHT), 1.0), cross.PairItem(*texts.join(RIGHT, WRONG), 0.2)]
    losses = cross.fit_pairs(model, "quality", "share", pairs * 8, QUICK, tokens=48)
    assert losses[-1] < losses[0]
    assert sigmoid(cross.predict_logits(model, "quality", pairs)[:, 0]) == pytest.approx([1.0, 0.2], abs=0.15)


def test_texts_are_prepared_before_they_are_tokenised(tiny_base: Path, texts: cross.PairTexts) -> None:
    upper = cross.PairTexts(load_tokenizer(tiny_base), 64, prepare=lambda text: f"no {text}")
    assert upper.join("necrosis", "cd30") == texts.join("no necrosis", "no cd30")


def test_batches_hold_every_pair_once_within_their_tokens() -> None:
    items = [cross.PairItem([1] * length, [0] * length) for length in (3, 9, 4, 12, 5, 30, 6)]
    batches = cross.token_batches(items, 24, seed=1)
    assert sorted(len(item.ids) for batch in batches for item in batch) == [3, 4, 5, 6, 9, 12, 30]
    assert all(len(batch) == 1 or len(batch) * max(len(item.ids) for item in batch) <= 24 for batch in batches)


def test_an_unknown_label_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("premise,hypothesis,label\na,b,maybe\n", encoding="utf-8")
    with pytest.raises(InputError, match="row 2: label 'maybe'"):
        pair_roles.read_nli(path)
