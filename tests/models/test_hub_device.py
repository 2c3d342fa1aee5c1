"""Devices, batches made ahead, and half precision against float32."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.errors import MedassayError
from medassay.models.hub_device import TOLERANCE, Batch, Device, ahead, budget_for, choose, prepared
from medassay.spans import Span

Tiny = Callable[..., Path]
LARGE = {"hidden_size": 1024, "intermediate_size": 4096, "vocab_size": 50_000}
TEXTS = [
    "cd20 is strongly positive",
    "invasive ductal carcinoma of the left breast, high grade. no necrosis",
    "possible tumour of the kidney; ki is negative",
    "cd20",
    "no tumour of the left lung. " * 12,
]


def test_the_budget_follows_the_memory() -> None:
    assert budget_for(LARGE, 139 * 2**30, 2) == 131_072
    assert budget_for(LARGE, 2 * 2**30, 2) == 8192  # 0.25 × 2 GiB / (2 × (24 × 1024 + 2 × 4096)) = 8192
    assert budget_for(LARGE, 2 * 2**30, 4) == 4096
    assert budget_for(LARGE, 16 * 2**30, 2, over_vocabulary=True) == 8192  # 4 GiB / (65,536 + 400,000) = 9225
    assert budget_for({}, 0, 2) == 4096


def batch(number: int) -> Batch:
    return Batch([number], {})


@given(st.integers(0, 30), st.integers(1, 4))
def test_what_is_made_ahead_comes_in_order(number: int, most: int) -> None:
    made = ahead((batch(i) for i in range(number)), most)
    assert [one.rows for one in made] == [[i] for i in range(number)]


def test_an_error_of_the_maker_reaches_the_reader() -> None:
    def broken() -> Iterator[Batch]:
        yield batch(0)
        raise ValueError("no such row")

    made = ahead(broken())
    assert next(made).rows == [0]
    with pytest.raises(ValueError, match="no such row"):
        next(made)


def test_the_thread_ends_with_its_reader() -> None:
    before = threading.active_count()
    made = ahead((batch(i) for i in range(1000)), most=2)
    next(made)
    made.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


@pytest.mark.hf
class TestWithTorch:
    def test_rows_of_all_parts_come_once_with_their_masks(self) -> None:
        rows = [[1, 2, 3], [4], [5, 6]]
        sides = [[0, 1, 1], [1], [0, 1]]
        parts = [(0, rows[:2]), (2, rows[2:])]
        seen: dict[int, tuple[list[int], list[int]]] = {}
        for made in prepared(parts, Device("cpu", "float32", 6), 0, sides, typed=True):
            for k, i in enumerate(made.rows):
                kept = made.inputs["attention_mask"][k].bool()
                seen[i] = (
                    made.inputs["input_ids"][k][kept].tolist(),
                    made.inputs["token_type_ids"][k][kept].tolist(),
                )
                assert made.inputs["input_ids"][k][~kept].sum() == 0
        assert seen == {i: (row, side) for i, (row, side) in enumerate(zip(rows, sides))}

    def test_a_dtype_that_is_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(MedassayError, match="dtype=int4: not one of float32, bfloat16, float16"):
            choose({}, dtype="int4")
        monkeypatch.setenv("MEDASSAY_DTYPE", "half")
        with pytest.raises(MedassayError, match="dtype=half"):
            choose({})

    def test_the_variable_chooses_and_the_name_says_so(self, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = str(tiny("BertModel"))
        assert "+" not in hub("encoder", folder, "float32").name
        monkeypatch.setenv("MEDASSAY_DTYPE", "bfloat16")
        assert hub("encoder", folder).name.endswith("+bfloat16")

    @pytest.mark.parametrize("role", ["encoder", "align"])
    def test_vectors(self, tiny: Tiny, role: str, half: str) -> None:
        folder = str(tiny("BertModel"))
        one, other = (hub(role, folder, dtype).embed(TEXTS) for dtype in ("float32", half))
        assert np.abs(one @ one.T - other @ other.T).max() < TOLERANCE[half]
        assert (one != other).any()

    def test_entities(self, tiny: Tiny, half: str) -> None:
        folder = str(tiny("BertForTokenClassification", ["O", "B-site", "I-site", "B-marker", "I-marker"]))
        exact, rough = (chances(hub("ner", folder, dtype)) for dtype in ("float32", half))
        assert np.abs(exact - rough).max() < TOLERANCE[half]

    def test_relations(self, tiny: Tiny, half: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("medassay.models.hub_relations.RELATED", 0.0)
        folder = str(tiny("BertForSequenceClassification", ["NO_REL", "Relation"]))
        spans = [[Span(0, 4, "marker", 1.0), Span(8, 25, "modifier", 1.0)]]
        exact, rough = (hub("re", folder, dtype).read(TEXTS[:1], spans)[0].links for dtype in ("float32", half))
        assert len(exact) == len(rough) == 1
        assert abs(exact[0].score - rough[0].score) < TOLERANCE[half]


@pytest.fixture(params=["bfloat16", "float16"])
def half(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def hub(role: str, folder: str, dtype: str = "") -> Any:
    from medassay.models.hub import load_hub

    return load_hub(role, folder, dtype=dtype)


def chances(model: Any) -> Any:
    """The label chances of all tokens, one row after the other."""
    rows: dict[int, Any] = {}
    taken = model.network.answers(model.network.rows_of(TEXTS), lambda output, _: output.logits.float().softmax(-1))
    lengths = [len(row) for _, part in model.network.rows_of(TEXTS) for row in part]
    for batch_rows, found in taken:
        rows |= {i: found[k, : lengths[i]] for k, i in enumerate(batch_rows)}
    return np.concatenate([rows[i] for i in range(len(TEXTS))])
