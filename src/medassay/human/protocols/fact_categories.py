"""Fact categories: each fact of a generated note is correct, incorrect or hallucinated; each fact of the
reference that is missing is omitted; every one of them critical or not.

Facts are subject–predicate–object statements. Omission is counted by itself and is not 1 − recall: a
fact of the reference may be there and wrong.
"""

from __future__ import annotations

from medassay.human.protocols.base import (
    MAX_COUNT,
    Answers,
    DraftRules,
    Limit,
    MarkKind,
    Protocol,
    Question,
    WordCounts,
    f_score,
    part_of,
    ratio,
)

_SYSTEM = ("correct", "incorrect", "hallucinated")
_ALL = (*_SYSTEM, "omitted")


def derive(answers: Answers, words: WordCounts) -> dict[str, float | None]:
    """Factual precision, recall and F1 (higher is better); hallucination and omission rates (lower is).

    System facts are correct + incorrect + hallucinated. Each score lies in 0…1.

    >>> counts = {"R": 4, "correct": 3, "incorrect": 0, "hallucinated": 1, "omitted": 1, "omitted_critical": 0}
    >>> derive(counts, WordCounts(20, 20))["factual_f1"]
    0.75
    """
    parts = [answers.get(name) for name in _SYSTEM]
    known = [part for part in parts if part is not None]
    system = sum(known) if len(known) == len(parts) else None
    precision = ratio(answers.get("correct"), system)
    recall = ratio(answers.get("correct"), answers.get("R"))
    return {
        "factual_precision": precision,
        "factual_recall": recall,
        "factual_f1": f_score(precision, recall),
        "hallucination_rate": ratio(answers.get("hallucinated"), system),
        "omission_rate": ratio(answers.get("omitted"), answers.get("R")),
        "critical_hallucination_rate": ratio(answers.get("hallucinated_critical"), system),
        "critical_omission_rate": ratio(answers.get("omitted_critical"), answers.get("R")),
    }


def _questions() -> tuple[Question, ...]:
    questions = [Question("R", per="case", fed_by=("reference_fact", None))]
    for name in _ALL:
        questions += [
            Question(name, fed_by=(name, None), default=0),
            Question(f"{name}_critical", fed_by=(name, "critical"), required=False, default=0),
        ]
    return tuple(questions)


_LIMITS = (
    Limit({"correct": 1, "omitted": 1, "R": -1}, "“{correct}” and “{omitted}” together cannot be more than “{R}”."),
    # Incorrect facts may be many for one fact of the reference, but there must be one that is not omitted.
    Limit(
        {"incorrect": 1, "omitted": MAX_COUNT, "R": -MAX_COUNT},
        "“{incorrect}” needs a fact of the reference that is not omitted: “{omitted}” leaves none.",
    ),
    *(part_of(f"{name}_critical", name) for name in _ALL),
)

PROTOCOL = Protocol(
    name="fact-categories",
    needs=("reference",),
    questions=_questions(),
    marks=(
        MarkKind("reference_fact", "reference", per="case", typed=True),
        *(
            MarkKind(name, "candidate", flags=("critical",), look=look, typed=True)
            for look, name in enumerate(_SYSTEM, 2)
        ),
        MarkKind("omitted", "reference", flags=("critical",), look=5, typed=True),
    ),
    derive=derive,
    limits=_LIMITS,
    no_errors={"correct": "R", "incorrect": 0, "hallucinated": 0, "omitted": 0},
    draft=DraftRules(
        candidate={"supported": "correct", "contradicted": "incorrect", "not_stated": "hallucinated"},
        reference={"not_stated": "omitted"},
        critical="critical",
    ),
)
