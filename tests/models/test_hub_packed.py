"""Rows laid end to end give the library's own numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from medassay.models.hub_device import Device, prepared
from medassay.models.hub_packed import packed

pytestmark = pytest.mark.hf

ROWS = [[2, 7, 9, 3], [2, 5, 3], [2, *range(10, 40), 3], [2, 8, 3]]
SIDES = [[0, 0, 1, 1], [0, 0, 0], [0] * 16 + [1] * 16, [0, 1, 1]]
SIZES = {
    "vocab_size": 50,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 40,
    "type_vocab_size": 2,
    "pad_token_id": 1,
    "initializer_range": 0.4,
}


def _model(family: str, head: str, **settings: Any) -> Any:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(3)
    config = getattr(transformers, f"{family}Config")(**SIZES | settings)
    model = getattr(transformers, family + head)(config).eval()
    for parameter in model.parameters():  # biases and norms are zeros and ones in a fresh model: hide nothing
        parameter.data += torch.randn_like(parameter) * 0.1
    return model


def _both(model: Any, sides: list[list[int]] | None = SIDES) -> tuple[dict[int, Any], dict[int, Any]]:
    """The outputs of each row, padded by the library, and laid end to end."""
    import torch

    made = packed(model)
    assert made is not None
    found: tuple[dict[int, Any], dict[int, Any]] = ({}, {})
    for end_to_end, rows in ((False, found[0]), (True, found[1])):
        given = prepared([(0, ROWS)], Device("cpu", "float32", 40), 1, sides, typed=True, end_to_end=end_to_end)
        for batch in given:
            with torch.inference_mode():
                if end_to_end:
                    output, mask = made(batch.inputs, max(batch.lengths))
                else:
                    output, mask = model(**batch.inputs), batch.inputs["attention_mask"]
            values = output.logits if hasattr(output, "logits") else output.last_hidden_state
            for k, row in enumerate(batch.rows):
                assert int(mask[k].sum()) == len(ROWS[row])
                rows[row] = (values[k, : len(ROWS[row])] if values.dim() == 3 else values[k]).numpy()
    return found


@pytest.mark.parametrize("head", ["Model", "ForTokenClassification", "ForSequenceClassification"])
@pytest.mark.parametrize("family", ["Bert", "Roberta", "MegatronBert"])
def test_the_same_numbers(family: str, head: str) -> None:
    padded, laid = _both(_model(family, head))
    for row in range(len(ROWS)):
        np.testing.assert_allclose(laid[row], padded[row], atol=2e-5)
    assert len({np.round(one, 3).tobytes() for one in padded.values()}) == len(ROWS)


def test_sides_are_told_apart() -> None:
    model = _model("Bert", "Model")
    assert not np.allclose(_both(model)[1][0], _both(model, None)[1][0], atol=1e-3)


def test_the_lower_layers_alone() -> None:
    model = _model("MegatronBert", "Model")
    made, whole = packed(model), model.encoder.layer
    assert made is not None
    model.encoder.layer = whole[:1]
    padded, laid = _both(model)
    np.testing.assert_allclose(laid[2], padded[2], atol=2e-5)


def test_another_build_is_left_to_the_library() -> None:
    assert packed(_model("Electra", "Model", embedding_size=32)) is None
    assert packed(_model("Bert", "ForMaskedLM")) is None
    assert packed(_model("Bert", "Model", is_decoder=True)) is None
