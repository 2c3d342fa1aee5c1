"""Dimensions whose numbers stand in the case: `g`, `l`, `s` columns; what is missing is unscored."""

from __future__ import annotations

from collections.abc import Sequence

from medassay.cases import Case
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
