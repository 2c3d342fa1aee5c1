"""An estimate of the score that an expert pathologist would give, 0 to 5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from medassay.cases import Case
from medassay.metrics.base import Metric
from medassay.metrics.quality import same_text
from medassay.scores import Score


class Expert(Metric):
    """HARE's expert scale (section 4.2), estimated by a cross-encoder trained on judged report pairs.

    5 identical in diagnosis and description; 4 diagnosis right, a description wrong; 3 diagnosis right,
    no description; 2 broad category right; 1 diagnosis wrong, some description right; 0 nothing right.
    `low` and `high` are the interval that held the expert's score nine times in ten on unseen
    references. Most training scores are careful readers', not a pathologist's (see the model card).
    The explanation is HARE's alignment of the same pair. A candidate that is only a template states nothing of the
    reference and has 0 (nothing right), the reference itself has 5 by the scale's definition; a text that is not
    English is unscored.
    """

    name = "expert"
    summary = "estimate of an expert's 0–5 score of a pathology report, with an interval"
    defined = "scale: HARE §4.2; estimator: MODEL_CARD.md, role expert"
    made_for = "pathology report"
    parts = ("low", "high")
    bounds = (0.0, 5.0)

    def __init__(self, *, models: str = "embedded", references: Literal["best", "mean"] = "best") -> None:
        super().__init__(references=references)
        from medassay.models import load

        self.models = models
        self.model = load("expert", models)
        self.roles = (("expert", models), ("ner", models), ("re", models), ("align", models))

    def settings(self) -> Mapping[str, object]:
        return {"models": self.model.name}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        from medassay.language.checks import NOT_ENGLISH, looks_english
        from medassay.language.layout import diagnosis_first
        from medassay.metrics.hare import template_score

        decided = [
            (template_score(case) or _identical(case))
            if looks_english(case.candidate)
            else Score.none(f"candidate {NOT_ENGLISH}")
            for case in cases
        ]
        ready = [case for case, score in zip(cases, decided) if score is None]
        pairs = [(diagnosis_first(case.references[0]), diagnosis_first(case.candidate)) for case in ready]
        judgements = iter(self.model.judge(pairs))
        explanations = iter(self._explained(ready) if evidence else [{}] * len(ready))
        scores = []
        for score in decided:
            if score is not None:
                scores.append(score)
                continue
            judgement = next(judgements)
            interval = {"low": judgement.low, "high": judgement.high}
            parts = {name: value for name, value in interval.items() if value is not None}
            scores.append(Score(judgement.score, parts=parts, evidence=next(explanations)))
        return scores

    def _explained(self, cases: Sequence[Case]) -> list[Mapping[str, object]]:
        """HARE's alignment of each pair, as evidence."""
        from medassay.metrics.hare import Hare

        return [score.evidence for score in Hare(models=self.models).measure(cases, evidence=True)]


def _identical(case: Case) -> Score | None:
    """The highest score where the candidate is the reference, white space and case aside."""
    highest = Expert.bounds[1]
    same = same_text(case.references[0], case.candidate)
    return Score(highest, parts={"low": highest, "high": highest}) if same else None
