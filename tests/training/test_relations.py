"""The relation recipe on a tiny random BERT."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.training.annotation import Segment

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytestmark = pytest.mark.hf
from medassay.training import ner, relations  # noqa: E402
from medassay.training.loop import Schedule  # noqa: E402

QUICK = Schedule(epochs=12, rate=3e-3, head_rate=1e-2, batch=8)


def test_relations_and_assertions_learn(tiny_base: Path, segments: list[Segment]) -> None:
    model, tokenizer = relations.train_re(segments, tiny_base, QUICK, shared=3, noise=0.0)
    item = relations.mark(ner.words_of(tokenizer, segments[0].text), segments[0].entities, segments[0].relations)
    assert item is not None
    ((linked, stances),) = relations.predict_relations(model, [item])
    said = {pair: bool(chance > 0.5) for pair, chance in zip(item.pairs, linked)}
    # of diagnosis-grade and finding-grade only the first is annotated
    assert said == {(2, 3): True, (0, 3): False}
    assert stances.argmax(1).tolist() == item.assertions


def test_jitter_keeps_relations_of_what_is_left(tiny_base: Path, segments: list[Segment]) -> None:
    import random

    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tiny_base / "tokenizer.json"))
    words = ner.words_of(tokenizer, segments[0].text)
    for seed in range(30):
        spoilt = relations.jitter(segments[0], words, random.Random(seed), 0.9)
        kinds = [(spoilt.entities[h].type, spoilt.entities[t].type) for h, t in spoilt.relations]
        assert kinds in ([], [("diagnosis", "grade")])
        assert all(a.end <= b.start for a, b in zip(spoilt.entities, spoilt.entities[1:]))
