"""The published algorithm, as the benchmark runs it, against HARE's own paper mode where the two must agree."""

from __future__ import annotations

import pytest
from benchmarks.published_hare import Published

from medassay.models.graphs import HOME
from medassay.models.loading import model_set

TEXT = "CD20 is positive. Invasive ductal carcinoma of the left breast."

pytestmark = pytest.mark.skipif(not (HOME / "manifest.json").is_file(), reason="the embedded set has not been built")


def test_every_ordered_pair_is_a_question() -> None:
    published = Published(model_set())
    assert published.score(TEXT, TEXT) == pytest.approx(1.0, abs=1e-4)
    found = published.spent.found
    assert len(found) == 2 and found[0] >= 3
    assert published.spent.asked == published.spent.questions == sum(n * (n - 1) for n in found)
    assert published.spent.pruned < published.spent.scaled


def test_time_is_scaled_where_not_every_question_is_asked() -> None:
    published = Published(model_set(), most=2)
    published.score(TEXT, TEXT)
    spent = published.spent
    assert spent.asked < spent.questions
    assert spent.scaled == pytest.approx(
        spent.entities + spent.vectors + spent.relations * spent.questions / spent.asked
    )


def test_a_side_without_entities_has_no_score() -> None:
    assert Published(model_set()).score("", TEXT) is None
