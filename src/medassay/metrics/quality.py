"""Learned quality of a candidate against its reference: `clinicalbleurt`, `bleurt`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from medassay.cases import Case
from medassay.language.checks import looks_english
from medassay.language.sentences import sentences
from medassay.metrics.base import Metric
from medassay.scores import Score

_NEAREST = 0.9999
"""The highest score of a text that differs from the reference."""


def same_text(first: str, second: str) -> bool:
    """Whether two texts differ in white space and case at most.

    >>> same_text("No  tumor.", "no tumor.")
    True
    """
    return first == second or first.casefold().split() == second.casefold().split()


class _Pairwise(Metric):
    """A metric that asks a quality model about (reference, candidate) pairs."""

    def __init__(self, *, models: str = "embedded", references: Literal["best", "mean"] = "best") -> None:
        super().__init__(references=references)
        self.models = models
        self.model: Any = self._load(models)

    def _load(self, models: str) -> Any:
        from medassay.models import load

        self.roles = (("quality", models),)
        return load("quality", models)

    def settings(self) -> Mapping[str, object]:
        return {"models": self.model.name}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        reasons = [_unreadable(case) for case in cases]
        ready = [case for case, reason in zip(cases, reasons) if reason is None]
        scores = iter(self._scored(ready, evidence))
        return [next(scores) if reason is None else Score.none(reason) for reason in reasons]

    def _scored(self, cases: Sequence[Case], evidence: bool) -> list[Score]:
        raise NotImplementedError


def _unreadable(case: Case) -> str | None:
    """Why the case cannot be scored: the side that is not English; None where both are."""
    for side, text in (("candidate", case.candidate), ("reference", case.references[0])):
        if not looks_english(text):
            return f"{side} is not English"
    return None


class ClinicalBleurt(_Pairwise):
    """Quality = 1 − error score / sentences, estimated by a cross-encoder; 0–1, higher is better.

    The error score counts 1 for a critical error, 1/3 for a non-critical one, 1/12 for a slip of spelling or grammar;
    sentences: those of the longer text (Ben Abacha et al. 2023, section 4). The paper's model was never
    published; ours follows its recipe on public notes with errors made by rule. 1 is the reference itself.
    """

    name = "clinicalbleurt"
    summary = "estimate of 1 − weighed errors per sentence, after ClinicalBLEURT's recipe"
    defined = "Ben Abacha et al. 2023, §4; model: MODEL_CARD.md, role quality"

    def _load(self, models: str) -> Any:
        return super()._load("embedded" if models == "paper" else models)

    def _scored(self, cases: Sequence[Case], evidence: bool) -> list[Score]:
        values = self.model.scores([(case.references[0], case.candidate) for case in cases], sentences=sentences)
        return [
            Score(1.0 if same_text(case.references[0], case.candidate) else min(max(float(value), 0.0), _NEAREST))
            for case, value in zip(cases, values)
        ]


class Bleurt(_Pairwise):
    """BLEURT (Sellam et al. 2020; BLEURT-20: Pu et al. 2021), a learned regression of human ratings; higher is better.

    The number is the model's own, about 0–1 for BLEURT-20 and without bound. There is no embedded BLEURT: the
    model is fetched from the hub once (`medassay models fetch lucadiliello/BLEURT-20`) or given as a folder, and
    needs the extra `hf`. It reads 512 tokens of a pair; the tails of longer texts are not read.
    """

    name = "bleurt"
    summary = "BLEURT-20 or another regression of human ratings, from the hub or a folder"
    defined = "Sellam et al. 2020; Pu et al. 2021 (BLEURT-20)"
    bounds = (None, None)

    def _load(self, models: str) -> Any:
        return super()._load("paper" if models == "embedded" else models)

    def _scored(self, cases: Sequence[Case], evidence: bool) -> list[Score]:
        values = self.model.scores([(case.references[0], case.candidate) for case in cases], sentences=sentences)
        return [Score(float(value)) for value in values]
