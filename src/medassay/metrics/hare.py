"""HARE: an entity- and relation-centred score of a pathology report against a reference.

`mode=paper` is the published method (`metrics/hare_paper.py`). `mode=clinical`, the default, reads the reports'
entities with their assertions and concepts and asks what a pathologist would ask: is the diagnosis
right, what is missed, what is invented, what is contradicted? (`metrics/hare_clinical.py`)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from medassay.cases import Case
from medassay.language.checks import TEMPLATE, problem
from medassay.language.graph import Report, read_reports
from medassay.metrics.base import Metric
from medassay.metrics.hare_paper import PARTS as PAPER_PARTS
from medassay.metrics.hare_paper import PaperRules
from medassay.metrics.settings import Range
from medassay.models import load
from medassay.models.base import Encoder
from medassay.scores import Score


class Hare(Metric):
    """HARE (paper: sections 3.3 and 3.4).

    clinical: 0–1, weighted F1 over aligned entities, conflicts counted against it; parts are
    precision, recall and the F1 of each entity type. A side without entities is unscored. paper: F1 of the
    entities' best cosines plus F1 of the relation triples (0–2, `total=sum`) or their mean (0–1, `total=mean`, as
    the authors' code returns it). Higher is better. A candidate that is only a template states nothing of the
    reference and has 0.

    threshold: confidence an entity or relation must exceed in paper mode, 0.7 as published; `none`
    keeps all; `keep=below` inverts it (the published ablation). The settings after it are the other choices of
    paper mode (`PaperRules`), by default as in the authors' code: `empty=zero` scores 0 where a side has no
    entities. Clinical mode has none of them.
    """

    name = "hare"
    summary = "entities and relations of a pathology report met with the reference's"
    defined = "HARE §3.3–3.4 (paper mode); docs/metrics/hare.md (clinical mode)"
    made_for = "pathology report"

    def __init__(
        self,
        *,
        mode: Literal["clinical", "paper"] = "clinical",
        models: str = "embedded",
        threshold: Annotated[float | None, Range(0, 1)] = 0.7,
        keep: Literal["above", "below"] = "above",
        entities: Literal["mentions", "distinct"] = "mentions",
        case: Literal["lower", "mixed"] = "lower",
        types: Literal["five", "graded", "seven"] = "five",
        triples: Literal["words", "typed", "aligned"] = "words",
        ends: Literal["all", "kept"] = "all",
        empty: Literal["zero", "unscored"] = "zero",
        total: Literal["sum", "mean"] = "sum",
        references: Literal["best", "mean"] = "best",
    ) -> None:
        super().__init__(references=references)
        self.mode, self.models = mode, models
        self.rules = PaperRules(threshold, keep, entities, case, types, triples, ends, empty, total)
        self.aligner: Encoder = load("align", models)
        self.roles = (("ner", models), ("re", models), ("align", models))
        if mode == "paper":
            self.parts = PAPER_PARTS
            self.bounds = (0.0, 2.0) if total == "sum" else (0.0, 1.0)
        else:
            from medassay.metrics.hare_clinical import PARTS

            self.parts = PARTS

    def settings(self) -> Mapping[str, object]:
        common = {"mode": self.mode, "models": self.aligner.name.removesuffix("/align")}
        if self.mode == "paper":
            return {**common, **self.rules.signature_settings()}
        from medassay.metrics.hare_clinical import WEIGHTS

        return {**common, "weights": WEIGHTS.version, "empty": "unscored"}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        # As published, every text is read; a text that is no report has no entities and scores 0.
        reads_all = self.mode == "paper" and self.rules.empty == "zero"
        reasons = [None] * len(cases) if reads_all else unreadable_reasons(cases)
        ready = [case for case, reason in zip(cases, reasons) if reason is None]
        texts = [case.references[0] for case in ready] + [case.candidate for case in ready]
        reports = read_reports(texts, models=self.models)
        pairs = list(zip(reports[: len(ready)], reports[len(ready) :]))
        scores = iter(self._paper(pairs) if self.mode == "paper" else self._clinical(pairs, evidence))
        return [
            next(scores) if reason is None else template_score(case) or Score.none(reason)
            for case, reason in zip(cases, reasons)
        ]

    def _clinical(self, pairs: Sequence[tuple[Report, Report]], evidence: bool) -> list[Score]:
        from medassay.metrics.hare_clinical import score_pairs

        return score_pairs(pairs, self.aligner, evidence=evidence)

    def _paper(self, pairs: Sequence[tuple[Report, Report]]) -> list[Score]:
        from medassay.metrics.hare_paper import score_pairs

        return score_pairs(pairs, self.aligner, self.rules)


def template_score(case: Case) -> Score | None:
    """0, with the reason as evidence, where the candidate is only a template: it states nothing of the reference."""
    if problem(case.candidate) != TEMPLATE or problem(case.references[0]):
        return None
    note = f"candidate {TEMPLATE}: it states nothing"
    span = {"side": "candidate", "start": 0, "end": len(case.candidate), "score": 0.0, "note": note}
    return Score(0.0, evidence={"sentences": [span]})


def unreadable_reasons(cases: Sequence[Case]) -> list[str | None]:
    """Why each case cannot be read as two English reports, or None; equal texts are checked once."""
    sides = [(("candidate", case.candidate), ("reference", case.references[0])) for case in cases]
    problems = {text: problem(text) for text in {text for pair in sides for _, text in pair}}
    return [next((f"{side} {problems[text]}" for side, text in pair if problems[text]), None) for pair in sides]
