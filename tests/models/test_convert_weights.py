"""What is taken out of a pickled file: named tensors and nothing else."""

from __future__ import annotations

import pytest

from medassay.models.convert_weights import tensors_of

pytestmark = pytest.mark.hf
torch = pytest.importorskip("torch")


def test_a_state_dict_and_one_inside_a_checkpoint() -> None:
    state = {"layer.weight": torch.arange(4.0)}
    for loaded in (state, {"state_dict": state, "epoch": 3}):
        assert tensors_of(loaded)["layer.weight"].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_tied_tensors_get_memory_of_their_own() -> None:
    shared = torch.ones(2, 3)
    tensors = tensors_of({"first": shared, "second": shared.t()})
    assert tensors["first"].data_ptr() != tensors["second"].data_ptr()
    assert tensors["second"].is_contiguous()


@pytest.mark.parametrize("loaded", [{}, [1, 2], {"epoch": 3}, {1: "a"}])
def test_anything_else_is_refused(loaded: object) -> None:
    with pytest.raises(ValueError, match=r"not a table of named tensors|is no tensor"):
        tensors_of(loaded)
