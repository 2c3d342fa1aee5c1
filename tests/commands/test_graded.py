"""Graded reports measured in both modes."""

from __future__ import annotations

import math

import pytest
from tests.metrics.dimensions import register_given

from medassay.cases import Case
from medassay.commands.graded import grade
from medassay.errors import InputError


def test_levels_clusters_and_both_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    register_given(monkeypatch, "grounding", "logic", "stability")
    cases = [
        Case("1", "Colon.", ("Colon.",), image="a.png", extra={"level": "0", "g": 1.0, "l": 0.5}),
        Case("2", "Liver.", ("Colon.",), image="a.png", extra={"level": "", "g": 0.2, "l": 0.5}),
        Case("3", "Lung.", ("Colon.",), image="b.png", extra={"level": 3, "g": 0.1, "l": 0.5}),
    ]
    graded, problems, ended = grade(cases, "level", "image", "rouge1")
    assert graded.levels[0] == 0.0 and math.isnan(graded.levels[1]) and graded.levels[2] == 3.0
    assert graded.clusters.tolist() == [0, 0, 1]
    assert set(graded.dimensions) == {"clinical", "paper"}
    assert graded.dimensions["clinical"][:, 0].tolist() == [1.0, 0.2, 0.1]
    assert graded.others["rouge1"].tolist() == [1.0, 0.0, 0.0] and not graded.variances
    assert not problems and not ended


@pytest.mark.parametrize(("extra", "message"), [({}, "no column 'level'"), ({"level": "bad"}, "which is no number")])
def test_a_level_that_is_missing_or_no_number_is_named(extra: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        grade([Case("1", "Colon.", extra=extra)], "level", "image", "")
