"""Dimensions whose numbers stand in the case: `g`, `l`, `s` columns; what is missing is unscored."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from medassay.cases import Case
from medassay.metrics import registry
from medassay.metrics.base import Metric
from medassay.scores import Score


class Given(Metric):
    """The number of a column."""

    summary = "a number of the case"
    defined = "tests"
    needs = frozenset({"candidate"})

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.reads = frozenset({name[0]})

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return [self._one(case.extra.get(self.name[0])) for case in cases]

    def _one(self, value: object) -> Score:
        if isinstance(value, str) and value.endswith("½"):
            return Score(float(value[:-1]), evidence={"partial": "only stain"})
        return Score.none("not given") if value in (None, "") else Score(float(str(value)))


def three() -> list[Metric]:
    return [Given(name) for name in ("grounding", "logic", "stability")]


class GivenGrounding(Given):
    """Grounding as the number of the column `g`."""

    def __init__(
        self, *, mode: str = "clinical", mpp: float | None = None, budget: int | None = None, seed: int = 0
    ) -> None:
        super().__init__("grounding")


class GivenLogic(Given):
    """Logic as the number of the column `l`."""

    def __init__(self, *, mode: str = "clinical") -> None:
        super().__init__("logic")


class GivenStability(Given):
    """Stability as the number of the column `s`."""

    def __init__(self, *, mode: str = "clinical") -> None:
        super().__init__("stability")


def register_given(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let these dimensions take their numbers from the cases, however they are loaded."""
    for name in names:
        monkeypatch.setitem(registry.BUILT_IN, name, f"{__name__}:Given{name.capitalize()}")
