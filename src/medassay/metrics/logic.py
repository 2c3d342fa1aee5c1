"""PathGLS logic: does a report contradict itself? No reference is needed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from medassay.cases import Case
from medassay.language.checks import problem
from medassay.language.clauses import Clause, Pair, clauses, described, pairs
from medassay.language.graph import Report, read_reports
from medassay.language.inference import CombinedNli, load_nli
from medassay.language.rules import CONTRADICTS, RuleVerdict, compare, strongest_verdict, within
from medassay.metrics.base import Metric
from medassay.metrics.settings import Range
from medassay.models import load
from medassay.scores import Score

SHARE = 0.3
"""Share of the pairs whose mean counts (the authors' code: K = ceil(0.3 · pairs))."""

TELLS = 0.5
"""Probability from which a contradiction is quoted as evidence."""

RULED = 0.95
"""Probability of a contradiction that a rule found: the rules inside one report are strict."""

AGREED = 0.02
"""Probability of a contradiction where a rule found that the two agree."""

LOOSE = ("benignity", "cytology", "number", "grade", "margin")
"""Kinds of verdicts that do not hold in a report of several specimens, where each part has its own."""

RARE = 0.05
"""Share of a report's pairs that contradict each other: the model learnt on pairs of which a third did, so its
odds are scaled down to this share."""


@dataclass(frozen=True, slots=True)
class Found:
    """One compared pair: p(contradiction) and, where a rule spoke, its verdict. Both of a pair may be one statement."""

    pair: Pair
    probability: float
    verdict: RuleVerdict | None

    @property
    def open(self) -> bool:
        """Whether no rule spoke, so that the model has to."""
        return self.verdict is None


class Logic(Metric):
    """S_l of PathGLS (section 3.3): 1 − the mean of the K highest p(contradiction) over pairs of statements.

    0 to 1, higher is better; 1 means that no two statements exclude one another. Pairs come from the report's
    own statements: those that speak of the same marker, finding, diagnosis, margin, node, stage, grade, side or
    measured thing, and descriptions with the diagnosis they are to support; where these are few, every statement
    with the diagnosis. Statements on different specimens or other points in time are never paired. p is 0.95
    where the structured comparison finds a contradiction and 0.02 where it finds agreement; otherwise the role
    `nli` says it, its odds scaled to how rare contradictions are. Part `pairs` counts the pairs,
    `contradictions` those above one half.

    mode: `clinical`, as above, or `paper`: the published pairs alone (statements of findings with statements of
    diagnoses) and the model's plain p(contradiction), no rules. k: how many pairs count; by default
    ceil(0.3 · pairs), as in the authors' code. A report without comparable statements is not assessed, never 1.

    Evidence: {"pairs": n, "contradictions": [{"premise": [start, end], "hypothesis": [start, end], "kind",
    "probability", "by": "rule" | "model"}], "sentences": […]}, offsets in the candidate.
    """

    name = "logic"
    summary = "does the report contradict itself (PathGLS, no reference)"
    defined = "PathGLS §3.3; docs/metrics/logic.md"
    needs = frozenset({"candidate"})
    parts = ("pairs", "contradictions")

    def __init__(
        self,
        *,
        mode: Literal["clinical", "paper"] = "clinical",
        models: str = "embedded",
        k: Annotated[int | None, Range(1)] = None,
    ) -> None:
        super().__init__()
        self.mode, self.models, self.k = mode, models, k
        self.model = load("nli", models) if mode == "paper" else load_nli(models)
        self.roles = (("nli", models), ("ner", models), ("re", models))

    def settings(self) -> Mapping[str, object]:
        return {"mode": self.mode, "models": self.model.name, "k": self.k or f"ceil({SHARE}·pairs)", "few": "unscored"}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        reasons = [problem(case.candidate) for case in cases]
        ready = [case for case, reason in zip(cases, reasons) if reason is None]
        made = iter(self._scores(read_reports([case.candidate for case in ready], self.models)))
        return [Score.none(f"candidate {reason}") if reason is not None else next(made) for reason in reasons]

    def _scores(self, reports: Sequence[Report]) -> list[Score]:
        """All pairs of all reports go to the model at once, each distinct pair of texts once."""
        cut = [clauses(report) for report in reports]
        if self.mode == "paper":
            ruled = [[Found(pair, 0.0, None) for pair in described(some)] for some in cut]
        else:
            ruled = [[*_inside(some), *_between(some)] for some in cut]
        chances = self._asked(cut, ruled)
        return [
            self._score(
                some,
                [
                    replace(one, probability=self._share(chances[_texts(some, one)])) if one.open else one
                    for one in found
                ],
            )
            for some, found in zip(cut, ruled)
        ]

    def _asked(self, cut: Sequence[Sequence[Clause]], ruled: Sequence[Sequence[Found]]) -> dict[tuple[str, str], float]:
        """The model's p(contradiction) of the pairs that no rule decided."""
        read: dict[str, Report] = {one.sentence: one.report for some in cut for one in some}
        asked = list(dict.fromkeys(_texts(some, one) for some, found in zip(cut, ruled) for one in found if one.open))
        if not asked:
            return {}
        if isinstance(self.model, CombinedNli):
            judged = self.model.judge(asked, read, strict=True)
            return {pair: one.probabilities[2] for pair, one in zip(asked, judged)}
        return dict(zip(asked, self.model.probabilities(asked)[:, 2].tolist()))

    def _share(self, chance: float) -> float:
        return chance if self.mode == "paper" else scaled(chance)

    def _score(self, found: Sequence[Clause], judged: Sequence[Found]) -> Score:
        if not judged:
            few = f"its {len(found)} statements share no subject" if len(found) > 1 else "too few statements to compare"
            return Score.none(f"not assessed: {few}")
        value = 1.0 - top_mean([one.probability for one in judged], self.k)
        told = [one for one in judged if one.probability >= TELLS]
        parts = {"pairs": float(len(judged)), "contradictions": float(len(told))}
        return Score(value, parts=parts, evidence=drawn(found, told, len(judged)))


def _inside(found: Sequence[Clause]) -> Iterator[Found]:
    """What a statement says twice."""
    for i, one in enumerate(found):
        for verdict in within(one.report):
            yield Found(Pair(i, i, verdict.kind), _chance(verdict), verdict)


def _between(found: Sequence[Clause]) -> Iterator[Found]:
    """The pairs of statements, with the verdict of the structured comparison where it has one."""
    for pair in pairs(list(found)):
        verdict = strongest_verdict(compare(found[pair.premise].report, found[pair.hypothesis].report, strict=True))
        if verdict is not None and verdict.kind in LOOSE and found[pair.premise].many:
            verdict = None
        yield Found(pair, 0.0 if verdict is None else _chance(verdict), verdict)


def _chance(verdict: RuleVerdict) -> float:
    return RULED if verdict.label == CONTRADICTS else AGREED


def _texts(found: Sequence[Clause], one: Found) -> tuple[str, str]:
    """Premise and hypothesis as they are put to the model."""
    return found[one.pair.premise].sentence, found[one.pair.hypothesis].sentence


def top_mean(chances: Sequence[float], k: Annotated[int | None, Range(1)] = None) -> float:
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


def drawn(found: Sequence[Clause], told: Sequence[Found], count: int) -> dict[str, Any]:
    """The contradictions as evidence, the surest first, and the statements that carry them for the page."""
    ordered = sorted(told, key=lambda one: (-one.probability, found[one.pair.premise].start))
    listed, sentences = [], []
    for one in ordered:
        premise, hypothesis = _places(found, one)
        by = "model" if one.verdict is None else "rule"
        kind = one.pair.kind if one.verdict is None else one.verdict.kind
        listed.append(
            {
                "premise": list(premise[:2]),
                "hypothesis": list(hypothesis[:2]),
                "kind": kind,
                "probability": round(one.probability, 3),
                "by": by,
            }
        )
        score = round(1 - one.probability, 3)
        for this, other in ((premise, hypothesis), (hypothesis, premise)):
            note = f"contradicts “{other[2]}” ({kind}, by {by})"
            sentences.append({"side": "candidate", "start": this[0], "end": this[1], "score": score, "note": note})
    return {"pairs": count, "contradictions": listed, "sentences": sentences}


def _places(found: Sequence[Clause], one: Found) -> tuple[tuple[int, int, str], tuple[int, int, str]]:
    """(start, end, words) of both sides; inside one statement the two parts of it."""
    premise, hypothesis = found[one.pair.premise], found[one.pair.hypothesis]
    if premise is not hypothesis or one.verdict is None:
        return (premise.start, premise.end, premise.report.text), (
            hypothesis.start,
            hypothesis.end,
            hypothesis.report.text,
        )
    text = premise.report.text
    (a, b), (c, d) = one.verdict.premise, one.verdict.hypothesis
    return (premise.start + a, premise.start + b, text[a:b]), (premise.start + c, premise.start + d, text[c:d])
