"""Figures of the reader, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.hf
torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
from medassay.training.reader.figures import area  # noqa: E402


def test_area_by_hand() -> None:
    # Of 2 × 2 pairs, three are in order and one is a tie.
    assert area(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0, 0, 1, 1])) == pytest.approx(3.5 / 4)
    assert np.isnan(area(np.array([0.1]), np.array([1])))
