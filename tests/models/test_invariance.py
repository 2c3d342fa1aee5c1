"""A text's numbers do not depend on what was read with it, nor do models on the process they are used in."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence

import numpy as np
import pytest

from medassay.models import load
from medassay.spans import Span

TEXTS = [
    "Adenocarcinoma.",
    "Tubular adenoma with low grade dysplasia, completely excised.",
    "Invasive carcinoma of no special type, grade II; ER positive, PR negative, HER2 equivocal (2+).",
    "No evidence of malignancy. Chronic gastritis with intestinal metaplasia, Helicobacter pylori not seen.",
    "Prostate, biopsy: acinar adenocarcinoma, Gleason score 3 + 4 = 7, in 2 of 6 cores.",
]
TURNED = TEXTS[3:] + TEXTS[:3]


def spans(text: str) -> list[Span]:
    return [Span(0, len(text.split()[0].rstrip(".,:")), "diagnosis", 0.9)]


def forget(*models: object) -> None:
    for model in models:
        for cache in (getattr(model, "cache", None), model.models.hidden_cache):  # type: ignore[attr-defined]
            if cache is not None:
                cache.clear()


def test_embeddings_alone_and_together_are_equal_to_the_last_bit() -> None:
    encoder = load("encoder")
    together = dict(zip(TEXTS, encoder.embed(TEXTS)))
    for some in ([text] for text in TEXTS):
        forget(encoder)
        assert np.array_equal(encoder.embed(some)[0], together[some[0]])
    forget(encoder)
    assert all(np.array_equal(row, together[text]) for text, row in zip(TURNED, encoder.embed(TURNED)))


def test_readings_and_judgements_alone_and_together_are_equal() -> None:
    relations, expert = load("re"), load("expert")

    def read(texts: Sequence[str]) -> list[object]:
        forget(relations)
        return list(relations.read(texts, [spans(text) for text in texts]))

    assert read(TEXTS) == [one for text in TEXTS for one in read([text])]
    pairs = list(zip(TEXTS, TURNED))
    assert expert.judge(pairs) == [one for pair in pairs for one in expert.judge([pair])]


def test_a_model_is_pickled_by_name() -> None:
    for role in ("encoder", "align", "ner", "re", "expert"):
        text = pickle.dumps(load(role))  # type: ignore[call-overload]
        assert len(text) < 200
        assert pickle.loads(text) is load(role)  # type: ignore[call-overload]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_model_that_was_used_works_in_a_forked_process() -> None:
    encoder = load("encoder")
    known = encoder.embed(TEXTS[:1])
    child = os.fork()
    if child == 0:
        forget(encoder)
        os._exit(0 if np.array_equal(encoder.embed(TEXTS[:1]), known) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
