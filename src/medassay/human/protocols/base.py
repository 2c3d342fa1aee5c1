"""What a protocol is: questions, kinds of highlight, and the scores that follow from the answers.

A task is one case (source, reference) with one or several candidate texts. Questions and highlights
belong to the case as a whole (`per="case"`: facts in the reference are counted once) or to one
candidate. A count is the number of its highlights plus what the annotator typed on top.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from medassay.study import Level

Per = Literal["case", "candidate"]
Side = Literal["reference", "candidate"]
Answers = Mapping[str, float | None]
"""Question name → value; None where unanswered."""

CASE = "case"
"""The slot of what belongs to the case as a whole; candidates have the slots "1", "2", …"""

MAX_COUNT = 999
"""A higher count is taken for a typing error."""


@dataclass(frozen=True, slots=True)
class WordCounts:
    """Lengths that counts are normalised by: words of the candidate and of the reference."""

    candidate: int
    reference: int


@dataclass(frozen=True, slots=True)
class MarkKind:
    """A kind of highlight: in which text it stands, whose it is, and what may be ticked on it.

    `typed`: whether such a fact may also be typed (`patient – takes – aspirin`) in place of being highlighted; it
    counts as a highlight does.
    `look` chooses one of five styles (colour and kind of line): 1 amber, 2 green, 3 red, 4 violet, 5 blue.
    """

    name: str
    side: Side
    per: Per = "candidate"
    flags: tuple[str, ...] = ()
    look: int = 1
    typed: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """One question and how its answers are compared between annotators.

    `fed_by` is the kind of highlight that a count adds up, with the flag it must carry (None: any).
    `required` questions need an explicit answer (a highlight, a number, 0 included, or a choice) before a
    task can be finished. `default` is the answer of a finished task where there is none. `choices` are the
    values on offer.
    """

    name: str
    per: Per = "candidate"
    choices: tuple[float, ...] = ()
    fed_by: tuple[str, str | None] | None = None
    required: bool = True
    default: int | None = None
    level: Level = "interval"

    @property
    def is_count(self) -> bool:
        """Whether the answer is a number of things (typed or highlighted), not one of the choices."""
        return not self.choices


@dataclass(frozen=True)
class Limit:
    """A sum of counts that cannot be exceeded: Σ coefficient × count ≤ `at_most`.

    It holds for answers and for decisions alike. `reason` names questions in braces; a study puts its own
    labels in their place.
    """

    terms: Mapping[str, int]
    reason: str
    at_most: float = 0

    def excess(self, answers: Answers) -> float | None:
        """How far the sum lies above the limit (0 or less: kept); None where it cannot be told yet.

        A count without an answer is taken as 0 where it adds to the sum; where it takes away from it (it is
        what the others are bounded by), nothing can be told.

        >>> Limit({"RG": 1, "G": -1}, "").excess({"RG": 5, "G": 3})
        2.0
        >>> Limit({"RG": 1, "G": -1}, "").excess({"RG": 5, "G": None}) is None
        True
        """
        total = 0.0
        for name, coefficient in self.terms.items():
            answer = answers.get(name)
            if answer is None and coefficient < 0:
                return None
            total += coefficient * (answer or 0)
        return total - self.at_most


def part_of(part: str, whole: str) -> Limit:
    """The limit of a count that is part of another."""
    return Limit({part: 1, whole: -1}, f"“{{{part}}}” cannot be more than “{{{whole}}}”.")


@dataclass(frozen=True)
class DraftRules:
    """The highlights that follow from the machine's verdicts.

    `candidate` and `reference`: verdict on a statement of that text → kind of highlight. `supported`: a tick
    for a statement that one of these texts supports. `critical`: the tick for a critical error.
    """

    candidate: Mapping[str, str] = field(default_factory=dict)
    reference: Mapping[str, str] = field(default_factory=dict)
    supported: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    critical: str | None = None


@dataclass(frozen=True)
class Protocol:
    """A way of judging texts: what is asked, and `derive`, which turns answers into scores.

    `needs` are the case fields it cannot do without; `limits` what counts cannot exceed. `derive` gives None where a
    score is undefined (no fact to divide by). `no_errors` are the answers of a text without any error: a value, or
    the name of the question whose answer is taken.
    """

    name: str
    needs: tuple[str, ...]
    questions: tuple[Question, ...]
    marks: tuple[MarkKind, ...]
    derive: Callable[[Answers, WordCounts], dict[str, float | None]]
    limits: tuple[Limit, ...] = ()
    no_errors: Mapping[str, float | str] = field(default_factory=dict)
    draft: DraftRules = field(default_factory=DraftRules)

    def broken(self, answers: Answers) -> list[Limit]:
        """The limits that these answers exceed."""
        return [limit for limit in self.limits if (limit.excess(answers) or 0) > 0]

    def question(self, name: str) -> Question | None:
        """The question of that name, or None."""
        return next((q for q in self.questions if q.name == name), None)

    def mark(self, name: str) -> MarkKind | None:
        """The kind of highlight of that name, or None."""
        return next((m for m in self.marks if m.name == name), None)

    @cached_property
    def derived(self) -> tuple[str, ...]:
        """The names of the derived scores."""
        return tuple(self.derive({}, WordCounts(0, 0)))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Raw answers, then derived scores: the columns of an export."""
        return tuple(q.name for q in self.questions) + self.derived


def ratio(part: float | None, whole: float | None) -> float | None:
    """part / whole; None where either is unknown or there is nothing to divide by.

    >>> ratio(1, 4), ratio(0, 0)
    (0.25, None)
    """
    return part / whole if part is not None and whole else None


def f_score(precision: float | None, recall: float | None) -> float | None:
    """The harmonic mean; 0 where both are 0, None where either is undefined."""
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
