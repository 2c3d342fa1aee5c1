"""`medassay metrics`: the list and the cards."""

from __future__ import annotations

from collections.abc import Callable

from medassay.metrics.registry import names


def test_metrics_lists_every_metric(medassay: Callable) -> None:
    ran = medassay("metrics")
    assert ran.code == 0
    assert [name for name in names() if name not in ran.out] == []
    card = medassay("metrics", "rouge1")
    assert card.code == 0
    assert "stem" in card.out
    ran = medassay("metrics", "rogue1")
    assert ran.code == 2
    assert "did you mean 'rouge1'?" in ran.err
