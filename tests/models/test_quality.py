"""Role `quality`: one number for a pair of texts of any length, from the answers of a pair model."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.models import quality
from medassay.models.graphs import ModelSet
from medassay.models.quality import EmbeddedQuality

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
def double(embedded: Path) -> PairDouble:
    return PairDouble(ModelSet(embedded))


@pytest.fixture
def model(double: PairDouble, monkeypatch: pytest.MonkeyPatch) -> EmbeddedQuality:
    monkeypatch.setattr(quality, "open_pairs", lambda models, role: double)
    return EmbeddedQuality(double.models)


def test_a_short_pair_is_read_whole(model: EmbeddedQuality, double: PairDouble) -> None:
    reference, candidate = SHORT, SHORT.replace("left", "right")
    (score,) = model.scores([(reference, candidate)])
    assert double.asked == [tuple(tuple(tokens.ids) for tokens in double.tokens([reference, candidate]))]
    # "left" on one side and "right" on the other, of all tokens of both.
    right = 1 - 2 / sum(len(ids) for ids in double.asked[0])
    assert score == pytest.approx(right, abs=2e-3)


def test_a_long_pair_is_the_mean_of_its_chunks_by_sentences(model: EmbeddedQuality, double: PairDouble) -> None:
    text = long_text()
    half = text[: text.index("Specimen of the thyroid")]
    whole, part = model.scores([(text, text), (text, half)])
    assert whole > 0.99 and 0.2 < part < 0.9
    assert len(double.asked) > 2 and all(sum(map(len, ids)) <= double.room for ids in double.asked)


def test_what_one_side_lacks_counts_nothing(model: EmbeddedQuality, double: PairDouble) -> None:
    assert model.scores([(SHORT, ""), ("", SHORT), (long_text(), "")]).tolist() == [0.0, 0.0, 0.0]
    assert double.asked == []


def test_equal_pairs_are_read_once(model: EmbeddedQuality, double: PairDouble) -> None:
    pair = (SHORT, SHORT.replace("left", "right"))
    first, second = model.scores([pair, pair])
    assert first == second
    assert len(double.asked) == 1
    assert model.scores([]).shape == (0,)


def test_the_splitter_of_sentences_is_asked_about_every_text(model: EmbeddedQuality) -> None:
    texts = []

    def split(text: str) -> list[tuple[int, int]]:
        texts.append(text)
        return [(0, len(text))]

    model.scores([(SHORT, "Margins are free.")], sentences=split)
    assert texts == [SHORT, "Margins are free."]
