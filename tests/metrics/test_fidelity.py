"""Fidelity: the worst statement on either side counts at any length."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from medassay.cases import make_cases
from medassay.metrics.fidelity import Fidelity, Weights, stored_weights

from ..language.checker_double import WordChecker

LONG = " ".join(f"She has sign{number}." for number in range(200))


def values(*pairs: tuple[str, str]) -> list[float]:
    scores = Fidelity().score(make_cases([pair[0] for pair in pairs], [pair[1] for pair in pairs]))
    return [score.value or 0.0 for score in scores]


def test_a_copy_reads_as_the_same(checker: WordChecker) -> None:
    (copy, reordered, unrelated) = values(
        (LONG, LONG), ("She has gout. She has fever.", "She has fever. She has gout."), ("He has mumps.", LONG)
    )
    assert copy == pytest.approx(1.0) and reordered == pytest.approx(1.0)
    assert unrelated == pytest.approx(0.0)


def test_one_error_counts_at_any_length_and_on_either_side(checker: WordChecker) -> None:
    short, long, missing = values(
        ("She has fever. She has gout.", "She has fever. She has not gout."),
        (f"{LONG} She has gout.", f"{LONG} She has not gout."),
        (LONG, f"{LONG} She has gout."),
    )
    assert max(short, long, missing) <= 1.0 - stored_weights().worst + 1e-9


def test_the_weighted_mean_by_hand() -> None:
    weights = Weights("x", worst=0.5, whole=0.25)
    assert weights.value(0.0, 1.0, 0.6) == pytest.approx(0.25 + 0.25 * 0.6)


def test_the_worst_statement_is_a_part(checker: WordChecker) -> None:
    (score,) = Fidelity().score(make_cases([f"{LONG} She has mumps."], [LONG]))
    assert score.parts["worst"] == 0.0
    assert [item["text"] for item in score.evidence["sentences"]] == ["She has mumps"]


def test_the_fitted_numbers_say_where_they_come_from() -> None:
    stored = json.loads((files("medassay.metrics") / "fidelity.json").read_text(encoding="utf-8"))
    assert stored["provenance"] and 0 < stored["worst"] + stored["whole"] < 1
