"""The entity recipe on a tiny random BERT."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.training.annotation import Segment

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytestmark = pytest.mark.hf
from medassay.training import ner  # noqa: E402
from medassay.training.bert import load_encoder  # noqa: E402
from medassay.training.loop import Schedule  # noqa: E402

QUICK = Schedule(epochs=12, rate=3e-3, head_rate=1e-2, batch=8)


def test_a_shared_trunk_does_not_move(tiny_base: Path, segments: list[Segment]) -> None:
    before = load_encoder(tiny_base, 3).trunk.state_dict()
    model, _ = ner.train_ner(segments, tiny_base, Schedule(epochs=1, batch=8), shared=3)
    after = model.encoder.trunk.state_dict()
    assert all(torch.equal(before[name], after[name].cpu()) for name in before)


def test_ner_learns_its_training_segments(tiny_base: Path, segments: list[Segment]) -> None:
    model, tokenizer = ner.train_ner(segments, tiny_base, QUICK, shared=-1)
    found = [
        ner.char_spans(ner.words_of(tokenizer, s.text), spans)
        for s, spans in zip(segments, ner.evaluate_ner(model, tokenizer, segments))
    ]
    assert ner.span_f1([ner.gold_spans(s) for s in segments], found)["f1"] > 0.95
