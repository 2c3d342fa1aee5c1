"""One number for a note, by hand."""

from __future__ import annotations

import pytest

from medassay.cases import make_cases
from medassay.metrics.registry import load_metric

from ..language.checker_double import WordChecker


def test_the_weights_of_the_aggregate(checker: WordChecker) -> None:
    # P = 1/2, R = 1/3, F1 = 0.4; hallucination 1/2; omission 2/3: (0.8 + 0.5 + 1/3) / 4.
    cases = make_cases(["She has fever. She has gout."], ["She has fever. She has cough. She has nausea."])
    (score,) = load_metric("note").score(cases)
    assert score.value == pytest.approx((0.8 + 0.5 + 1 / 3) / 4)
    for name in ("facts", "hallucination", "omission"):
        assert score.parts[name] == pytest.approx(load_metric(name).score(cases)[0].value)


def test_a_better_note_is_better(checker: WordChecker) -> None:
    reference = "She has fever. She has cough."
    cases = make_cases([reference, "She has fever.", "She has gout."], [reference] * 3)
    values = [score.value or 0.0 for score in load_metric("note").score(cases)]
    assert values[0] == 1.0 and values == sorted(values, reverse=True) and values[2] == 0.0
