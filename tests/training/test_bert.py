"""The split encoder computes what the library's BERT computes."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.errors import ModelError

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytestmark = pytest.mark.hf
from medassay.training.bert import load_encoder  # noqa: E402


def test_the_split_encoder_computes_what_the_library_computes(tiny_base: Path) -> None:
    transformers = pytest.importorskip("transformers")
    theirs = transformers.BertModel.from_pretrained(tiny_base, add_pooling_layer=False).eval()
    ids = torch.tensor([[2, 5, 7, 9, 3], [2, 6, 3, 0, 0]])
    mask, sides = (ids != 0).long(), torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]])
    with torch.no_grad():
        expected = theirs(input_ids=ids, attention_mask=mask, token_type_ids=sides).last_hidden_state
        for shared in (-1, 0, 2, 4):
            ours = load_encoder(tiny_base, shared).eval()(ids, mask, sides)
            assert torch.allclose(ours[mask == 1], expected[mask == 1], atol=1e-5)


def test_a_base_with_a_file_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"config\.json is missing"):
        load_encoder(tmp_path)
