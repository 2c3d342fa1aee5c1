"""The role `quality`: how the answers of a pair model become numbers of a text of any length."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from medassay.models import quality
from medassay.models.graphs import ModelSet
from medassay.models.pairs_model import PairReading
from medassay.models.quality import EmbeddedQuality, order_logit

from .pair_double import PairDouble

SHORT = "The left kidney holds a tumor of 4 cm. Margins are free. No necrosis is seen."
PARTS = ("kidney", "liver", "breast", "colon", "lung", "thyroid", "ovary", "spleen", "stomach", "bladder")


def long_text() -> str:
    """About 800 tokens in ten paragraphs."""
    return " ".join(
        f"Specimen of the {part} was received fresh in a labelled container and weighs {70 + i} grams. "
        f"Sections of the {part} show a {part} tumor of {i + 2} cm with {part} architecture and few mitoses. "
        f"The margins of the {part} are free of tumor by {i + 3} mm, and the {part} vessels are not invaded."
        for i, part in enumerate(PARTS)
    )


@pytest.fixture
def model(embedded: Path, monkeypatch: pytest.MonkeyPatch) -> EmbeddedQuality:
    double = PairDouble(ModelSet(embedded))
    monkeypatch.setattr(quality, "open_pairs", lambda models, role: double)
    return EmbeddedQuality(ModelSet(embedded))


def test_a_short_pair_is_read_whole(model: EmbeddedQuality) -> None:
    (judged,) = model.judge([(SHORT, SHORT.replace("left", "right"))])
    assert len(judged.stretches) == 1 and judged.fidelity < 0.5
    assert [len(side) for side in judged.stretches[0].flaws] == [
        sum(len(unit.ids) for unit in side)
        for side in (judged.stretches[0].chunk.reference, judged.stretches[0].chunk.candidate)
    ]


@pytest.mark.parametrize("place", [0, 4, 9])
def test_one_error_anywhere_in_a_long_text_counts(model: EmbeddedQuality, place: int) -> None:
    text = long_text()
    wrong = text.replace(f"by {place + 3} mm", "by 47 mm")
    assert wrong != text
    right, flawed = model.judge([(text, text), (text, wrong)])
    assert len(flawed.stretches) > 2
    assert right.fidelity > 0.95 and flawed.fidelity < 0.5
    bad = [stretch for stretch in flawed.stretches if stretch.logit < 0]
    assert len(bad) == 1, "the other stretches are as good as ever"


def test_stretches_that_are_the_same_weigh_nothing(model: EmbeddedQuality) -> None:
    text = long_text()
    short = model.judge([(SHORT, SHORT.replace("4 cm", "5 cm"))])[0]
    long = model.judge([(f"{text} {SHORT}", f"{text} {SHORT.replace('4 cm', '5 cm')}")])[0]
    assert long.fidelity == pytest.approx(short.fidelity, abs=0.05), "a long faithful text hides no error"


def test_shares_are_means_by_sentences(model: EmbeddedQuality) -> None:
    text = long_text()
    half = text[: text.index("Specimen of the thyroid")]
    precision, recall, invented, omitted = model.facts([(text, half)])[0]
    assert precision > 0.8 and recall < precision - 0.1
    assert omitted > 0.15 and invented < 0.1
    assert model.scores([(text, text), (text, half)]).tolist()[0] > 0.99
    assert 0.2 < model.scores([(text, half)])[0] < 0.9


def test_equal_pairs_are_read_once(model: EmbeddedQuality) -> None:
    pair = (SHORT, SHORT.replace("left", "right"))
    one, two = model.judge([pair, pair])
    assert one == two
    assert len(model.model.asked) == 1  # type: ignore[attr-defined]
    assert model.judge([]) == []


def test_the_order_head_is_the_recipes() -> None:
    reading = PairReading({"fidelity": np.array([1.0], np.float32)}, np.array([0.0, 0.0], np.float32), 0, 0)
    # 1 − softplus(log 2) = 1 − log(1 + 2)
    assert order_logit(reading) == pytest.approx(1.0 - np.log(3.0))
    bare = PairReading({"fidelity": np.array([1.0], np.float32)}, np.zeros(0, np.float32), 0, 0)
    assert order_logit(bare) == 1.0
