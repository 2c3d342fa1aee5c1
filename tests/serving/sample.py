"""A metric that waits for a gate to be opened."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from medassay import Case, Metric, Score


class Gated(Metric):
    """The candidate's length, once the gate is open."""

    name = "gated"
    summary = defined = "here"
    needs = frozenset({"candidate"})
    bounds = (0, None)

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.batches: list[int] = []

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        self.gate.wait(30)
        self.batches.append(len(cases))
        return [Score(float(len(case.candidate))) for case in cases]
