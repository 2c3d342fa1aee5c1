"""Role `nli`: the embedded head alone, labels of other people's models, and the hub's answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from medassay.models import load


def test_the_embedded_head_gives_three_chances(embedded: Path) -> None:
    pairs = [("No tumour is seen.", "There is a tumour."), ("Margins are free.", "Margins are free.")]
    chances = load("nli", str(embedded)).probabilities([*pairs, pairs[0]])
    assert chances.shape == (3, 3) and chances.dtype == np.float32
    np.testing.assert_allclose(chances.sum(1), 1.0, atol=1e-5)
    assert (chances[0] == chances[2]).all(), "equal pairs are read once"
    assert load("nli", str(embedded)).probabilities([]).shape == (0, 3)


def test_the_reader_answers_alike_on_every_processor(embedded: Path) -> None:
    # In float32, without any rounding to bytes, p(contradiction) is .908; bytes that overflow are off by a tenth.
    pair = ("Bland spindle cells without atypia.", "High grade leiomyosarcoma.")
    assert load("nli", str(embedded)).probabilities([pair])[0, 2] == pytest.approx(0.908, abs=0.01)
