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

TOP_SHARE = 0.3
"""Share of the pairs whose mean counts (the authors' code: K = ceil(0.3 · pairs))."""

EVIDENCE_FROM = 0.5
"""Probability from which a contradiction is quoted as evidence."""

CONTRADICTION_BY_RULE = 0.95
"""Probability of a contradiction that a rule found: the rules inside one report are strict."""

AGREEMENT_BY_RULE = 0.02
"""Probability of a contradiction where a rule found that the two agree."""

PER_SPECIMEN = ("benignity", "cytology", "number", "grade", "margin")
"""Kinds of verdicts that do not hold in a report of several specimens, where each part has its own."""

CONTRADICTION_SHARE = 0.05
"""Share of a report's pairs that contradict each other: the model learnt on pairs of which a third did, so its
odds are scaled down to this share."""


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """Two compared statements, which may be the same one: p(contradiction) and, where a rule decided, its verdict."""

    pair: Pair
    probability: float
    verdict: RuleVerdict | None

    @property
    def undecided(self) -> bool:
        """Whether no rule decided, so that the model is asked."""
        return self.verdict is None


class Logic(Metric):
    """S_l of PathGLS (section 3.3): 1 − the mean of the K highest p(contradiction) over pairs of statements.

    0 to 1, higher is better; 1 means that no two statements exclude one another. Pairs come from the report's
    own statements: those that speak of the same marker, finding, diagnosis, margin, node, stage, grade, side or
    measurement, and descriptions with the diagnosis they are to support; where these are few, every statement
    with the diagnosis. Statements on different specimens or other points in time are never paired. p is 0.95
    where the structured comparison finds a contradiction and 0.02 where it finds agreement; otherwise the role
    `nli` gives it, its odds scaled to how rare contradictions are. Part `pairs` counts the pairs,
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
        return {
            "mode": self.mode,
            "models": self.model.name,
            "k": self.k or f"ceil({TOP_SHARE}·pairs)",
            "few": "unscored",
        }

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        reasons = [problem(case.candidate) for case in cases]
        ready = [case for case, reason in zip(cases, reasons) if reason is None]
        scores = iter(self._scores(read_reports([case.candidate for case in ready], self.models)))
        return [Score.none(f"candidate {reason}") if reason is not None else next(scores) for reason in reasons]

    def _scores(self, reports: Sequence[Report]) -> list[Score]:
        """All pairs of all reports go to the model at once, each distinct pair of texts once."""
        clauses_by_report = [clauses(report) for report in reports]
        if self.mode == "paper":
            pairs_by_report = [
                [ComparedPair(statement_pair, 0.0, None) for statement_pair in described(statements)]
                for statements in clauses_by_report
            ]
        else:
            pairs_by_report = [[*_inside(statements), *_between(statements)] for statements in clauses_by_report]
        probabilities = self._model_probabilities(clauses_by_report, pairs_by_report)
        return [
            self._score(
                statements,
                [
                    replace(pair, probability=self._calibrated(probabilities[_texts(statements, pair)]))
                    if pair.undecided
                    else pair
                    for pair in compared
                ],
            )
            for statements, compared in zip(clauses_by_report, pairs_by_report)
        ]

    def _model_probabilities(
        self, clauses_by_report: Sequence[Sequence[Clause]], pairs_by_report: Sequence[Sequence[ComparedPair]]
    ) -> dict[tuple[str, str], float]:
        """The model's p(contradiction) of the pairs that no rule decided."""
        read: dict[str, Report] = {
            clause.sentence: clause.report for statements in clauses_by_report for clause in statements
        }
        questions = list(
            dict.fromkeys(
                _texts(statements, pair)
                for statements, compared in zip(clauses_by_report, pairs_by_report)
                for pair in compared
                if pair.undecided
            )
        )
        if not questions:
            return {}
        if isinstance(self.model, CombinedNli):
            judged = self.model.judge(questions, read, strict=True)
            return {question: verdict.probabilities[2] for question, verdict in zip(questions, judged)}
        return dict(zip(questions, self.model.probabilities(questions)[:, 2].tolist()))

    def _calibrated(self, chance: float) -> float:
        """The model's probability, scaled to how rare contradictions are; as it is in paper mode."""
        return chance if self.mode == "paper" else scaled(chance)

    def _score(self, statements: Sequence[Clause], compared: Sequence[ComparedPair]) -> Score:
        if not compared:
            few = (
                f"its {len(statements)} statements share no subject"
                if len(statements) > 1
                else "too few statements to compare"
            )
            return Score.none(f"not assessed: {few}")
        value = 1.0 - top_mean([pair.probability for pair in compared], self.k)
        contradictions = [pair for pair in compared if pair.probability >= EVIDENCE_FROM]
        parts = {"pairs": float(len(compared)), "contradictions": float(len(contradictions))}
        return Score(value, parts=parts, evidence=contradiction_evidence(statements, contradictions, len(compared)))


def _inside(statements: Sequence[Clause]) -> Iterator[ComparedPair]:
    """The parts of one statement that a rule finds to contradict or to repeat each other."""
    for i, statement in enumerate(statements):
        for verdict in within(statement.report):
            yield ComparedPair(Pair(i, i, verdict.kind), _chance(verdict), verdict)


def _between(statements: Sequence[Clause]) -> Iterator[ComparedPair]:
    """The pairs of statements, with the verdict of the structured comparison where it has one."""
    for pair in pairs(list(statements)):
        verdict = strongest_verdict(
            compare(statements[pair.premise].report, statements[pair.hypothesis].report, strict=True)
        )
        if verdict is not None and verdict.kind in PER_SPECIMEN and statements[pair.premise].many:
            verdict = None
        yield ComparedPair(pair, 0.0 if verdict is None else _chance(verdict), verdict)


def _chance(verdict: RuleVerdict) -> float:
    return CONTRADICTION_BY_RULE if verdict.label == CONTRADICTS else AGREEMENT_BY_RULE


def _texts(statements: Sequence[Clause], pair: ComparedPair) -> tuple[str, str]:
    """Premise and hypothesis as they are put to the model."""
    return statements[pair.pair.premise].sentence, statements[pair.pair.hypothesis].sentence


def top_mean(chances: Sequence[float], k: Annotated[int | None, Range(1)] = None) -> float:
    """The mean of the K highest; K = ceil(0.3 · n) where not given.

    >>> top_mean([0.9, 0.1, 0.1, 0.1]), top_mean([0.9, 0.1], k=1)
    (0.5, 0.9)
    """
    count = min(k or math.ceil(TOP_SHARE * len(chances)), len(chances))
    return sum(sorted(chances, reverse=True)[:count]) / count


def scaled(chance: float, rare: float = CONTRADICTION_SHARE) -> float:
    """A probability learnt where one pair in three contradicts, for reports where a share `rare` does.

    >>> round(scaled(1 / 3), 3), scaled(0.0), scaled(1.0)
    (0.05, 0.0, 1.0)
    """
    odds = (rare / (1 - rare)) / 0.5
    return chance * odds / (chance * odds + (1.0 - chance))


def contradiction_evidence(
    statements: Sequence[Clause], contradictions: Sequence[ComparedPair], pairs_compared: int
) -> dict[str, Any]:
    """The contradictions as evidence, the surest first, and the statements that carry them for the page."""
    ordered = sorted(contradictions, key=lambda pair: (-pair.probability, statements[pair.pair.premise].start))
    listed, sentences = [], []
    for pair in ordered:
        premise, hypothesis = _spans(statements, pair)
        by = "model" if pair.verdict is None else "rule"
        kind = pair.pair.kind if pair.verdict is None else pair.verdict.kind
        listed.append(
            {
                "premise": list(premise[:2]),
                "hypothesis": list(hypothesis[:2]),
                "kind": kind,
                "probability": round(pair.probability, 3),
                "by": by,
            }
        )
        score = round(1 - pair.probability, 3)
        for this, other in ((premise, hypothesis), (hypothesis, premise)):
            note = f"contradicts “{other[2]}” ({kind}, by {by})"
            sentences.append({"side": "candidate", "start": this[0], "end": this[1], "score": score, "note": note})
    return {"pairs": pairs_compared, "contradictions": listed, "sentences": sentences}


def _spans(statements: Sequence[Clause], pair: ComparedPair) -> tuple[tuple[int, int, str], tuple[int, int, str]]:
    """(start, end, words) of both sides; inside one statement the two parts of it."""
    premise, hypothesis = statements[pair.pair.premise], statements[pair.pair.hypothesis]
    if premise is not hypothesis or pair.verdict is None:
        return (premise.start, premise.end, premise.report.text), (
            hypothesis.start,
            hypothesis.end,
            hypothesis.report.text,
        )
    text = premise.report.text
    (a, b), (c, d) = pair.verdict.premise, pair.verdict.hypothesis
    return (premise.start + a, premise.start + b, text[a:b]), (premise.start + c, premise.start + d, text[c:d])
