"""The reader as a torch network, from the weights of the embedded graphs."""

from __future__ import annotations

import numpy as np
import pytest

from medassay.errors import ModelError
from medassay.models import load, model_set
from medassay.models.reader import IdPair, Reader

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
    from medassay.models.reader_gpu import GpuReader

    graphs, network = Reader(model_set()), GpuReader(model_set(), device="cpu")
    for one, other in zip(graphs.read(_ids()), network.read(_ids()), strict=True):
        assert np.abs(graphs.probabilities(one) - network.probabilities(other)).max() < 0.05
        assert one.place.shape == other.place.shape
        assert one.kind.shape == other.kind.shape


def test_without_a_graphics_card_the_message_says_what_to_use() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a graphics card here")
    with pytest.raises(ModelError, match="--models embedded or fast"):
        load("checker", "gpu")
