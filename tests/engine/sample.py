"""A metric whose process can be made to die, and rows for it."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from medassay.cases import Case, Row
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.scores import Score


class Deadly(Metric):
    """The candidate as a number; a process that measures `killer` dies, and so does the first with `once FILE`."""

    name = "deadly"
    summary = "the number in the text"
    defined = "here"
    needs = frozenset({"candidate"})
    bounds = (None, None)

    def settings(self) -> Mapping[str, object]:
        return {"pid": "any"}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return [self.score_text(case.candidate, evidence) for case in cases]

    def score_text(self, text: str, evidence: bool) -> Score:
        if text.startswith("killer"):
            os.kill(os.getpid(), signal.SIGKILL)
        if text.startswith("once "):
            mark = Path(text.removeprefix("once "))
            if not mark.exists():
                mark.touch()
                os._exit(9)
            return Score(-1.0)
        if text == "user":
            raise MedassayError("nothing to be done")
        if text.startswith("where"):
            return Score(float(os.getpid()))
        return Score(float(text), parts={}, evidence={"seen": text} if evidence else {})


def rows(texts: Sequence[str]) -> list[Row]:
    return [Row(i, Case(str(i), text)) for i, text in enumerate(texts)]
