"""Key phrases: highlight the wrong stretches of a text and say what is wrong with each.

Counts are normalised by length: hallucinated and incorrect phrases by the words of the candidate,
omitted phrases by the words of the reference. A text without errors is given an explicit 0 for each type.
"""

from __future__ import annotations

from medassay.human.protocols.base import Answers, DraftRules, MarkKind, Protocol, Question, WordCounts, part_of, ratio

_IN_CANDIDATE = ("hallucinated", "incorrect", "language")


def derive(answers: Answers, words: WordCounts) -> dict[str, float | None]:
    """Phrases per word, for each type of error: 0 is best, and there is no upper bound in principle.

    >>> derive({"hallucinated": 2, "incorrect": 0, "language": 0, "omitted": 1}, WordCounts(40, 50))["omitted_rate"]
    0.02
    """
    return {
        **{f"{name}_rate": ratio(answers.get(name), words.candidate) for name in _IN_CANDIDATE},
        "omitted_rate": ratio(answers.get("omitted"), words.reference),
    }


PROTOCOL = Protocol(
    name="key-phrases",
    needs=("reference",),
    questions=tuple(
        question
        for name in (*_IN_CANDIDATE, "omitted")
        for question in (
            Question(name, fed_by=(name, None), default=0),
            *(
                (Question(f"{name}_critical", fed_by=(name, "critical"), required=False, default=0),)
                if name != "language"
                else ()
            ),
        )
    ),
    marks=(
        MarkKind("hallucinated", "candidate", flags=("critical",), look=4),
        MarkKind("incorrect", "candidate", flags=("critical",), look=3),
        MarkKind("language", "candidate"),
        MarkKind("omitted", "reference", flags=("critical",), look=5),
    ),
    derive=derive,
    limits=tuple(part_of(f"{name}_critical", name) for name in ("hallucinated", "incorrect", "omitted")),
    no_errors=dict.fromkeys((*_IN_CANDIDATE, "omitted"), 0),
    draft=DraftRules(
        candidate={"contradicted": "incorrect", "not_stated": "hallucinated"},
        reference={"not_stated": "omitted"},
        critical="critical",
    ),
)
