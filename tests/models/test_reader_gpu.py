"""The reader as a torch network, from the weights of the embedded graphs."""

from __future__ import annotations

import numpy as np
import pytest

from medassay.errors import ModelError
from medassay.models import load, model_set
from medassay.models.reader import IdPair, Reader, laid_out
from medassay.models.reader_gpu import PAD, GpuReader, Rows

pytestmark = pytest.mark.hf

PAIRS = [
    ("Two of nine lymph nodes contain metastatic carcinoma.", "Nodal metastasis is present."),
    ("Two of nine lymph nodes contain metastatic carcinoma.", "All nodes are free of tumour."),
    ("No fever. Cough for three weeks, dry. Takes ramipril.", "He takes metformin."),
]


def _ids() -> list[IdPair]:
    tokenizer = model_set().tokenizer
    return [(tuple(tokenizer([text])[0].ids), tuple(tokenizer([statement])[0].ids)) for text, statement in PAIRS]


def test_answers_are_those_of_the_graphs_but_for_rounding() -> None:
    graphs, network = Reader(model_set()), GpuReader(model_set(), device="cpu")
    expected, given = graphs.read(_ids()), network.read(_ids())
    assert np.abs(graphs.probabilities(expected) - network.probabilities(given)).max() < 0.05
    for one, other in zip(expected, given, strict=True):
        assert one.place.shape == other.place.shape
        assert one.kind.shape == other.kind.shape


def test_rows_are_laid_out_as_one_by_one() -> None:
    long, middle = tuple(range(1000, 1600)), tuple(range(2000, 2300))
    pairs: list[IdPair] = [(long, middle), ((), (7, 8)), ((5, 6, 9), ()), (middle, long), ((5,), long)]
    rows = Rows(pairs)
    ids, statements = rows.laid_out(np.array([3, 1, 2, 0, 4]))
    for row, own, pair in zip(ids, statements, [pairs[i] for i in (3, 1, 2, 0, 4)], strict=True):
        expected, read = laid_out(*pair)
        assert row.tolist() == expected + [PAD] * (ids.shape[1] - len(expected))
        assert np.flatnonzero(own).tolist() == list(range(read + 3, len(expected) - 1))


def test_without_a_graphics_card_the_message_says_what_to_use() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a graphics card here")
    with pytest.raises(ModelError, match="--models embedded or fast"):
        load("checker", "gpu")
