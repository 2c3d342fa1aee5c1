"""HARE: an entity- and relation-centred score of a pathology report against a reference.

`mode=paper` is the published method to the letter. `mode=clinical`, the default, reads the reports'
entities with their assertions and concepts and asks what a pathologist would ask: is the diagnosis
right, what is missed, what is invented, what is contradicted? (`metrics/hare_clinical.py`)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np

from medassay.cases import Case
from medassay.language.checks import TEMPLATE, problem
from medassay.language.graph import Report, read_reports
from medassay.metrics.base import Metric
from medassay.metrics.settings import Range
from medassay.models import load
from medassay.models.base import Encoder, Matrix
from medassay.scores import Score
from medassay.spans import HARE_TYPES

Triple = tuple[str, str, str]


class Hare(Metric):
    """HARE (paper: sections 3.3 and 3.4).

    clinical: 0–1, weighted F1 over aligned entities, conflicts counted against it; parts are
    precision, recall and the F1 of each entity type. paper: F1 of the entities' best cosines plus F1 of
    the relation triples (0–2, `total=sum`) or their mean (0–1, `total=mean`, as the authors' code
    returns it). Higher is better. A side without entities is unscored, never 0; a candidate that is only a template
    states nothing of the reference and has 0.

    threshold: confidence an entity or relation must exceed in paper mode, 0.7 as published; `none`
    keeps all; `keep=below` inverts it (the published ablation).
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
        total: Literal["sum", "mean"] = "sum",
        references: Literal["best", "mean"] = "best",
    ) -> None:
        super().__init__(references=references)
        self.mode, self.models, self.threshold, self.keep, self.total = mode, models, threshold, keep, total
        self.aligner: Encoder = load("align", models)
        self.roles = (("ner", models), ("re", models), ("align", models))
        if mode == "paper":
            self.parts = ("precision", "recall", "entities", "relations")
            self.bounds = (0.0, 2.0) if total == "sum" else (0.0, 1.0)
        else:
            from medassay.metrics.hare_clinical import PARTS

            self.parts = PARTS

    def settings(self) -> Mapping[str, object]:
        common = {"mode": self.mode, "models": self.aligner.name.removesuffix("/align")}
        if self.mode == "paper":
            return {**common, "thr": self.threshold, "keep": self.keep, "total": self.total, "empty": "unscored"}
        from medassay.metrics.hare_clinical import WEIGHTS

        return {**common, "weights": WEIGHTS.version, "empty": "unscored"}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        reasons = unreadable(cases)
        ready = [case for case, reason in zip(cases, reasons) if reason is None]
        texts = [case.references[0] for case in ready] + [case.candidate for case in ready]
        reports = read_reports(texts, models=self.models)
        pairs = list(zip(reports[: len(ready)], reports[len(ready) :]))
        made = iter(self._paper(pairs) if self.mode == "paper" else self._clinical(pairs, evidence))
        return [
            next(made) if reason is None else nothing_stated(case) or Score.none(reason)
            for case, reason in zip(cases, reasons)
        ]

    def _clinical(self, pairs: Sequence[tuple[Report, Report]], evidence: bool) -> list[Score]:
        from medassay.metrics.hare_clinical import score_pairs

        return score_pairs(pairs, self.aligner, evidence=evidence)

    def _paper(self, pairs: Sequence[tuple[Report, Report]]) -> list[Score]:
        kept = [tuple(self._kept(report) for report in pair) for pair in pairs]
        words = sorted({words for pair in kept for entities, _ in pair for words in entities})
        vectors = dict(zip(words, self.aligner.embed(words)))
        return [self._paper_score(reference, candidate, vectors) for reference, candidate in kept]

    def _kept(self, report: Report) -> tuple[list[str], set[Triple]]:
        """The entities (HARE's five types) and relation triples on the wanted side of the threshold."""
        chosen = {i for i, e in enumerate(report.entities) if e.type in HARE_TYPES and self._passes(e.score)}
        triples = {
            (report.entities[r.head].text.lower(), report.entities[r.tail].text.lower(), r.type)
            for r in report.relations
            if r.head in chosen and r.tail in chosen and self._passes(r.score)
        }
        return [report.entities[i].text for i in sorted(chosen)], triples

    def _passes(self, confidence: float) -> bool:
        if self.threshold is None:
            return True
        return (confidence > self.threshold) == (self.keep == "above")

    def _paper_score(
        self,
        reference: tuple[list[str], set[Triple]],
        candidate: tuple[list[str], set[Triple]],
        vectors: Mapping[str, Matrix],
    ) -> Score:
        for side, (entities, _) in (("reference", reference), ("candidate", candidate)):
            if not entities:
                return Score.none(f"no entities found in the {side}")
        cosines = np.stack([vectors[e] for e in reference[0]]) @ np.stack([vectors[e] for e in candidate[0]]).T
        precision, recall, entity_f1 = entity_scores(cosines)
        relation_f1 = triple_f1(reference[1], candidate[1])
        total = entity_f1 + relation_f1
        return Score(
            total if self.total == "sum" else total / 2,
            parts={"precision": precision, "recall": recall, "entities": entity_f1, "relations": relation_f1},
        )


def entity_scores(cosines: Matrix) -> tuple[float, float, float]:
    """Precision, recall and F1 from cosines [reference entities, candidate entities].

    Recall is the mean over reference entities of the best cosine with any candidate entity; precision
    the other way round.

    >>> [round(x, 2) for x in entity_scores(np.array([[1.0, 0.2], [0.4, 0.1]]))]
    [0.6, 0.7, 0.65]
    """
    recall = float(cosines.max(axis=1).mean())
    precision = float(cosines.max(axis=0).mean())
    return precision, recall, harmonic(precision, recall)


def triple_f1(reference: set[Triple], candidate: set[Triple]) -> float:
    """F1 of two sets of (head, tail, type); 0 where nothing is shared.

    >>> triple_f1({("er", "positive", "marker_modifier")}, {("er", "positive", "marker_modifier")})
    1.0
    """
    shared = len(reference & candidate)
    return 2 * shared / (len(reference) + len(candidate)) if shared else 0.0


def harmonic(precision: float, recall: float) -> float:
    """The harmonic mean; 0 where both are not positive."""
    return 2 * precision * recall / (precision + recall) if precision > 0 and recall > 0 else 0.0


def nothing_stated(case: Case) -> Score | None:
    """0, with the reason as evidence, where the candidate is only a template: it states nothing of the reference."""
    if problem(case.candidate) != TEMPLATE or problem(case.references[0]):
        return None
    note = f"candidate {TEMPLATE}: it states nothing"
    whole = {"side": "candidate", "start": 0, "end": len(case.candidate), "score": 0.0, "note": note}
    return Score(0.0, evidence={"sentences": [whole]})


def unreadable(cases: Sequence[Case]) -> list[str | None]:
    """Why each case cannot be read as two English reports, or None; equal texts are looked at once."""
    sides = [(("candidate", case.candidate), ("reference", case.references[0])) for case in cases]
    found = {text: problem(text) for text in {text for pair in sides for _, text in pair}}
    return [next((f"{side} {found[text]}" for side, text in pair if found[text]), None) for pair in sides]
