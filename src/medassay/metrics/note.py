"""`note`: one number for a generated clinical note, and `facts`: the pair model's estimates of counted facts.

`note` is one fixed ensemble. Its members, weights, means and deviations are stored, so that a single note can be
scored and two runs compared. It was chosen by correlation with counted facts (docs/metrics/note.md). For research
and quality assurance, not for clinical decisions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from medassay.cases import Case
from medassay.errors import MedassayError
from medassay.language.sentences import sentences
from medassay.metrics.base import Metric
from medassay.metrics.quality import Fidelity
from medassay.metrics.source import Hallucination, Omission
from medassay.scores import Score

Member = tuple[float, float, float]
"""Weight, mean and standard deviation of a member over the 244 system notes of MTS-Dialog that people counted,
each scored by a regression or model that had not seen its facts counted (`fidelity`: by the model as shipped)."""

MEMBERS: Mapping[str, Member] = {
    "omission": (-0.45, 0.3652, 0.2936),
    "fidelity": (0.32, 0.3488, 0.3093),
    "facts.recall": (0.19, 0.6140, 0.2299),
    "hallucination": (-0.26, 0.0164, 0.0374),
}
WITHOUT_SOURCE: Member = (-0.26, 0.0092, 0.0196)
"""`hallucination` where there is a reference but no source."""

_PAPER = "Ben Abacha et al., Evaluation Methods in Automatic Medical Note Generation, 2023"


class Facts(Metric):
    """The pair model's estimate of factual F1 from counted facts, 0 to 1; higher is better.

    A cross-encoder reads reference and candidate together and estimates what people would count. Parts:
    `precision` and `recall` (higher is better), rates of `hallucination` and `omission` (lower is better). The value
    is the harmonic mean of precision and recall. It says nothing of where an error is; `omission`,
    `hallucination` and `fidelity` quote.
    """

    name = "facts"
    summary = "a cross-encoder's estimate of factual precision, recall and F1"
    defined = f"{_PAPER}, section 3 (the counted facts); estimated by the embedded pair model"
    parts = ("precision", "recall", "hallucination", "omission")

    def __init__(self, *, models: str = "embedded", references: Literal["best", "mean"] = "best") -> None:
        super().__init__(references=references)
        from medassay.models import load

        # No paper has a model for this question, so the preset `paper` leaves it embedded.
        source = "embedded" if models == "paper" else models
        self.model: Any = load("quality", source)
        self.roles = (("quality", source),)
        if not hasattr(self.model, "facts"):
            raise MedassayError(f"facts: {self.model.name} does not estimate facts; use models=embedded")

    def settings(self) -> Mapping[str, object]:
        return {"models": self.model.name}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        rows = self.model.facts([(case.references[0], case.candidate) for case in cases], sentences=sentences)
        made = []
        for row in rows:
            parts = {name: float(value) for name, value in zip(self.parts, row)}
            total = parts["precision"] + parts["recall"]
            made.append(Score(2 * parts["precision"] * parts["recall"] / total if total else 0.0, parts=parts))
        return made


class Note(Metric):
    """One number for a clinical note: 0 is an average system note, 1 about one standard deviation better.

    Higher is better; no bounds, in practice −3 to 2. A weighted sum of z-scores against stored distributions:
    what the note leaves out of the reference (`omission`, 0.45), whether it says the same (`fidelity`, 0.32), the
    pair model's estimate of factual recall (0.19), and what it invents (`hallucination`, 0.26), checked against the
    source too where one is given. The evidence names each member's share and quotes the facts that are missing or
    not borne out.
    """

    name = "note"
    summary = "one number for a clinical note: omissions, fidelity, factual recall, inventions"
    defined = "medassay, docs/metrics/note.md"
    reads = frozenset({"source"})
    parts = ("omission", "fidelity", "recall", "hallucination")
    bounds = (None, None)

    def __init__(self, *, models: str = "embedded", references: Literal["best", "mean"] = "best") -> None:
        super().__init__(references=references)
        self.omission = Omission(references=references)
        self.hallucination = Hallucination(references=references)
        self.fidelity = Fidelity(models=models, references=references)
        self.facts = Facts(models=models, references=references)
        self.roles = (*self.fidelity.roles, *self.facts.roles)

    def settings(self) -> Mapping[str, object]:
        weights = "+".join(f"{name}*{member[0]:g}" for name, member in MEMBERS.items())
        return {"members": weights, **self.omission.settings(), **self.facts.settings()}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        columns = [metric.measure(cases) for metric in (self.omission, self.fidelity, self.facts, self.hallucination)]
        return [self._one(case, *scores) for case, *scores in zip(cases, *columns)]

    def _one(self, case: Case, omission: Score, fidelity: Score, facts: Score, invented: Score) -> Score:
        for name, score in (("omission", omission), ("fidelity", fidelity), ("hallucination", invented)):
            if score.value is None:
                return Score.none(f"{name}: {score.unscored}")
        values = {
            "omission": omission.value or 0.0,
            "fidelity": fidelity.value or 0.0,
            "facts.recall": facts.parts["recall"],
            "hallucination": invented.value or 0.0,
        }
        stored = MEMBERS if case.has("source") else {**MEMBERS, "hallucination": WITHOUT_SOURCE}
        raised = {name: (values[name] - mean) / deviation for name, (_, mean, deviation) in stored.items()}
        total = math.fsum(stored[name][0] * z for name, z in raised.items())
        shown = [
            {"name": name, "value": values[name], "z": math.copysign(1.0, stored[name][0]) * z}
            for name, z in raised.items()
        ]
        quoted = [*invented.evidence.get("sentences", ()), *omission.evidence.get("sentences", ())]
        parts = dict(zip(self.parts, values.values()))
        return Score(total, parts=parts, evidence={"members": shown, **({"sentences": quoted} if quoted else {})})
