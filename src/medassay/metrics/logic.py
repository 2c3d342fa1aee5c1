"""PathGLS logic: does a report contradict itself? No reference is needed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medassay.cases import Case
from medassay.errors import MedassayError
from medassay.language.checks import problem
from medassay.language.contradiction import CONTRADICTS, Verdict, compare, settle
from medassay.language.graph import Report, read_reports
from medassay.language.statements import Pair, Statement, pairs, statements
from medassay.metrics.base import Metric
from medassay.models import load
from medassay.scores import Score

SHARE = 0.3
"""Share of the pairs whose mean counts (the authors' code: K = ceil(0.3 · pairs))."""

TELLS = 0.5
"""Probability from which a contradiction is quoted as evidence."""

RULED = 0.95
"""Probability of a contradiction that a rule found: the rules inside one report are strict."""

RARE = 0.05
"""Share of a report's pairs that contradict each other: the model learnt on pairs of which a third did, so its
odds are scaled down to this share."""


@dataclass(frozen=True, slots=True)
class Found:
    """One compared pair: p(contradiction) and, where a rule found it, the rule's verdict."""

    pair: Pair
    probability: float
    verdict: Verdict | None


class Logic(Metric):
    """S_l of PathGLS (section 3.2): 1 − the mean of the K highest p(contradiction) over pairs of statements.

    0 to 1, higher is better; 1 means that no two statements exclude one another. Pairs come from the report's
    own statements: those that speak of the same marker, finding, diagnosis, margin, node, stage, grade, side or
    measured thing, and descriptions with the diagnosis they are to support; where these are few, every statement
    with the diagnosis. Statements on different specimens or other points in time are never paired. p is 0.95 where
    the structured comparison finds a contradiction, otherwise the role `nli` says it, its odds scaled to how rare
    contradictions are. Part `pairs` counts the pairs, `contradictions` those above one half.

    k: how many pairs count; by default ceil(0.3 · pairs), as in the authors' code. A report with fewer than two
    comparable statements is not assessed, never 1.

    Evidence: {"pairs": n, "contradictions": [{"premise": [start, end], "hypothesis": [start, end], "kind",
    "probability", "by": "rule" | "model"}], "sentences": […]}, offsets in the candidate.
    """

    name = "logic"
    summary = "does the report contradict itself (PathGLS, no reference)"
    defined = "PathGLS §3.2; docs/metrics/logic.md"
    needs = frozenset({"candidate"})
    parts = ("pairs", "contradictions")
    keep_every = 64

    def __init__(self, *, models: str = "embedded", k: int | None = None) -> None:
        super().__init__()
        if k is not None and (not isinstance(k, int) or k < 1):
            raise MedassayError(f"logic: k = {k!r}; give a whole number from 1, or leave it out for ceil(0.3 · pairs)")
        self.models, self.k = models, k
        self.model = load("nli", models)

    def settings(self) -> Mapping[str, object]:
        return {"models": self.model.name, "k": self.k or f"ceil({SHARE}·pairs)", "few": "unscored"}

    def measure(self, cases: Sequence[Case]) -> list[Score]:
        reasons = [problem(case.candidate) for case in cases]
        ready = [case for case, reason in zip(cases, reasons) if reason is None]
        made = iter(self._scores(read_reports([case.candidate for case in ready], self.models)))
        return [Score.none(f"candidate {reason}") if reason is not None else next(made) for reason in reasons]

    def _scores(self, reports: Sequence[Report]) -> list[Score]:
        """All pairs of all reports go to the model at once, each distinct pair of texts once."""
        cut = [statements(report) for report in reports]
        paired = [pairs(some) for some in cut]
        ruled = [[_rule(some, pair) for pair in chosen] for some, chosen in zip(cut, paired)]
        asked = [
            (some[pair.premise].report.text, some[pair.hypothesis].report.text)
            for some, chosen, verdicts in zip(cut, paired, ruled)
            for pair, verdict in zip(chosen, verdicts)
            if verdict is None
        ]
        distinct = list(dict.fromkeys(asked))
        chances = dict(zip(distinct, self.model.probabilities(distinct)[:, 2].tolist())) if distinct else {}
        scores = []
        for some, chosen, verdicts in zip(cut, paired, ruled):
            found = [
                Found(pair, RULED, verdict)
                if verdict is not None
                else Found(pair, scaled(chances[some[pair.premise].report.text, some[pair.hypothesis].report.text]), None)
                for pair, verdict in zip(chosen, verdicts)
            ]
            scores.append(self._score(some, found))
        return scores

    def _score(self, found: Sequence[Statement], judged: Sequence[Found]) -> Score:
        if len(found) < 2:
            return Score.none(f"not assessed: {len(found) or 'no'} statement{'s' if not found else ''} to compare")
        if not judged:
            return Score.none(f"not assessed: none of its {len(found)} statements share a subject")
        value = 1.0 - top_mean([one.probability for one in judged], self.k)
        told = [one for one in judged if one.probability >= TELLS]
        parts = {"pairs": float(len(judged)), "contradictions": float(len(told))}
        return Score(value, parts=parts, evidence=drawn(found, told, len(judged)))


def _rule(found: Sequence[Statement], pair: Pair) -> Verdict | None:
    """The contradiction that the structured comparison finds in a pair of statements of one report, or None."""
    verdict = settle(compare(found[pair.premise].report, found[pair.hypothesis].report, strict=True))
    return verdict if verdict is not None and verdict.label == CONTRADICTS else None


def top_mean(chances: Sequence[float], k: int | None = None) -> float:
    """The mean of the K highest; K = ceil(0.3 · n) where not given.

    >>> top_mean([0.9, 0.1, 0.1, 0.1]), top_mean([0.9, 0.1], k=1)
    (0.5, 0.9)
    """
    count = min(k or math.ceil(SHARE * len(chances)), len(chances))
    return sum(sorted(chances, reverse=True)[:count]) / count


def scaled(chance: float, rare: float = RARE) -> float:
    """A probability learnt where one pair in three contradicts, for reports where a share `rare` does.

    >>> round(scaled(1 / 3), 3), scaled(0.0), scaled(1.0)
    (0.05, 0.0, 1.0)
    """
    odds = (rare / (1 - rare)) / 0.5
    return chance * odds / (chance * odds + (1.0 - chance))


def drawn(found: Sequence[Statement], told: Sequence[Found], count: int) -> dict[str, Any]:
    """The contradictions as evidence, the surest first, and the statements that carry them for the page."""
    ordered = sorted(told, key=lambda one: (-one.probability, found[one.pair.premise].start))
    listed, sentences = [], []
    for one in ordered:
        premise, hypothesis = found[one.pair.premise], found[one.pair.hypothesis]
        by = "model" if one.verdict is None else "rule"
        kind = one.pair.kind if one.verdict is None else one.verdict.kind
        listed.append(
            {
                "premise": [premise.start, premise.end],
                "hypothesis": [hypothesis.start, hypothesis.end],
                "kind": kind,
                "probability": round(one.probability, 3),
                "by": by,
            }
        )
        for this, other in ((premise, hypothesis), (hypothesis, premise)):
            note = f"contradicts “{other.report.text}” ({kind}, by {by})"
            sentences.append(
                {"side": "candidate", "start": this.start, "end": this.end, "score": round(1 - one.probability, 3), "note": note}
            )
    return {"pairs": count, "contradictions": listed, "sentences": sentences}
