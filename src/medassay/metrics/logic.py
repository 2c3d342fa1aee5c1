"""PathGLS logic: does a report contradict itself? No reference is needed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from medassay.cases import Case
from medassay.language.checks import problem
from medassay.language.graph import Report, read_reports
from medassay.language.passages import Passage, comparable, passages
from medassay.metrics.base import Metric
from medassay.metrics.settings import Range
from medassay.models import load
from medassay.scores import Score

TOP_SHARE = 0.3
"""Share of the questions whose mean counts (the authors' code: K = ceil(0.3 · pairs))."""

EVIDENCE_FROM = 0.5
"""Probability from which a contradiction is quoted as evidence."""

CONTRADICTION_SHARE = 0.05
"""Share of a report's passages that contradict the others: the model learnt on pairs of which a third did, so its
odds are scaled down to this share."""

MOST = 100
"""Passages of one specimen that are asked about at most, the first ones; only very long texts reach it."""


@dataclass(frozen=True, slots=True)
class Question:
    """A passage that is held against other passages of its report.

    In the mode `clinical` these are all others on the same specimen, in the mode `paper` a single one.
    """

    premise: tuple[Passage, ...]
    hypothesis: Passage

    @property
    def text(self) -> str:
        """The premise as one text."""
        return " ".join(passage.text for passage in self.premise)

    def position(self, offset: int) -> int:
        """Where a character of the premise's text stands in the report."""
        for passage in self.premise:
            if offset <= len(passage.text):
                return passage.start + offset
            offset -= len(passage.text) + 1
        return self.premise[-1].end


@dataclass(frozen=True, slots=True)
class Answer:
    """p(contradiction) of a question, where the premise decides it ([start, end) of the report), and in what kind."""

    question: Question
    probability: float
    start: int
    end: int
    kind: str


class Logic(Metric):
    """S_l of PathGLS (section 3.3): 1 − the mean of the K highest p(contradiction).

    0 to 1, higher is better; 1 means that nothing the report says excludes anything else in it. Each passage (sentence
    or line) is held against all others on the same specimen: the role `checker` says how likely they contradict it,
    and its odds are scaled to how rare contradictions are. Passages about another time, and the clinical and gross
    sections, are left out. Part `statements` counts the passages that were asked about, `contradictions` those above
    one half, two passages that contradict each other once.

    mode: `clinical`, as above, or `paper`: every statement of findings with every statement of a diagnosis, and the
    plain p(contradiction) of the role `nli` (part `statements` counts the pairs). k: how many count; by default
    ceil(0.3 · n), as in the authors' code. A report without passages to compare is not assessed, never 1.

    Evidence: {"statements": n, "contradictions": [{"premise": [start, end], "hypothesis": [start, end], "kind",
    "probability"}], "sentences": […]}, offsets in the candidate; the premise is what decides.
    """

    name = "logic"
    summary = "does the report contradict itself (PathGLS, no reference)"
    defined = "PathGLS §3.3; docs/metrics/logic.md"
    needs = frozenset({"candidate"})
    parts = ("statements", "contradictions")

    def __init__(
        self,
        *,
        mode: Literal["clinical", "paper"] = "clinical",
        models: str = "embedded",
        k: Annotated[int | None, Range(1)] = None,
    ) -> None:
        super().__init__()
        self.mode, self.models, self.k = mode, models, k
        if mode == "paper":
            self.model: Any = load("nli", models)
            self.roles = (("nli", models), ("ner", models), ("re", models))
        else:
            self.model = load("checker", models)
            self.roles = (("checker", models),)

    def settings(self) -> Mapping[str, object]:
        return {
            "mode": self.mode,
            "models": self.model.name,
            "k": self.k or f"ceil({TOP_SHARE}·n)",
            "few": "unscored",
        }

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        reasons = [problem(case.candidate) for case in cases]
        texts = [case.candidate for case, reason in zip(cases, reasons) if reason is None]
        scores = iter(self._scores(texts))
        return [Score.none(f"candidate {reason}") if reason is not None else next(scores) for reason in reasons]

    def _scores(self, texts: Sequence[str]) -> list[Score]:
        """All questions of all reports go to the model at once."""
        if self.mode == "paper":
            asked = [list(described(passages(report.text), report)) for report in read_reports(texts, self.models)]
            answers = iter(self._inferred([question for questions in asked for question in questions]))
        else:
            asked = [list(against_the_rest(text)) for text in texts]
            answers = iter(self._checked([question for questions in asked for question in questions]))
        return [self._score([next(answers) for _ in questions]) for questions in asked]

    def _checked(self, questions: Sequence[Question]) -> list[Answer]:
        checks = self.model.check([(question.text, question.hypothesis.text) for question in questions])
        return [
            Answer(
                question,
                scaled(check.probabilities[2]),
                question.position(check.start),
                question.position(check.end),
                check.kind,
            )
            for question, check in zip(questions, checks)
        ]

    def _inferred(self, questions: Sequence[Question]) -> list[Answer]:
        chances = self.model.probabilities([(question.text, question.hypothesis.text) for question in questions])
        return [
            Answer(question, float(chance), question.premise[0].start, question.premise[0].end, "description")
            for question, chance in zip(questions, chances[:, 2])
        ]

    def _score(self, answers: Sequence[Answer]) -> Score:
        if not answers:
            return Score.none("not assessed: too few statements to compare")
        value = 1.0 - top_mean([answer.probability for answer in answers], self.k)
        contradictions = found_once([answer for answer in answers if answer.probability >= EVIDENCE_FROM])
        parts = {"statements": float(len(answers)), "contradictions": float(len(contradictions))}
        return Score(value, parts=parts, evidence=contradiction_evidence(contradictions, len(answers)))


def against_the_rest(text: str) -> Iterator[Question]:
    """Each passage of a report with all others on the same specimen."""
    for group in comparable(text):
        if len(group) < 2:
            continue
        for number, passage in enumerate(group[:MOST]):
            if not passage.is_heading:
                yield Question((*group[:number], *group[number + 1 :]), passage)


def described(statements: Sequence[Passage], report: Report) -> Iterator[Question]:
    """Every statement of findings with every statement of a diagnosis: the pairs of the published method."""
    types = [
        {entity.type for entity in report.entities if passage.start <= entity.start and entity.end <= passage.end}
        for passage in statements
    ]
    diagnoses = [passage for passage, kinds in zip(statements, types) if "diagnosis" in kinds]
    for passage, kinds in zip(statements, types):
        if "diagnosis" not in kinds and kinds & {"finding", "marker"}:
            yield from (Question((passage,), diagnosis) for diagnosis in diagnoses)


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


def found_once(answers: Sequence[Answer]) -> list[Answer]:
    """The contradictions, the surest first; of two passages that are each contradicted by the other, one."""
    kept: list[Answer] = []
    for answer in sorted(answers, key=lambda answer: (-answer.probability, answer.question.hypothesis.start)):
        passage = answer.question.hypothesis
        if not any(
            _overlap((passage.start, passage.end), (other.start, other.end))
            and _overlap((answer.start, answer.end), (other.question.hypothesis.start, other.question.hypothesis.end))
            for other in kept
        ):
            kept.append(answer)
    return kept


def _overlap(first: tuple[int, int], second: tuple[int, int]) -> bool:
    return first[0] < second[1] and second[0] < first[1]


def contradiction_evidence(contradictions: Sequence[Answer], asked: int) -> dict[str, Any]:
    """The contradictions as evidence, and the statements that carry them for the page."""
    listed, sentences = [], []
    for answer in contradictions:
        passage = answer.question.hypothesis
        listed.append(
            {
                "premise": [answer.start, answer.end],
                "hypothesis": [passage.start, passage.end],
                "kind": answer.kind,
                "probability": round(answer.probability, 3),
            }
        )
        note = f"contradicted by the rest of the report ({answer.kind})"
        score = round(1 - answer.probability, 3)
        sentences.append(
            {"side": "candidate", "start": passage.start, "end": passage.end, "score": score, "note": note}
        )
    return {"statements": asked, "contradictions": listed, "sentences": sentences}
