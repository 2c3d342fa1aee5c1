"""Expert scale: one judgement from 0 (nothing right) to 5 (identical), as HARE's experts gave it."""

from __future__ import annotations

from medassay.human.protocols.base import Answers, Protocol, Question, WordCounts


def derive(answers: Answers, words: WordCounts) -> dict[str, float | None]:
    """The judgement on a scale of 0…1, as it is compared with metrics; higher is better."""
    score = answers.get("expert_score")
    return {"expert_score_scaled": None if score is None else score / 5}


PROTOCOL = Protocol(
    name="expert-scale",
    needs=("reference",),
    questions=(Question("expert_score", choices=(5, 4, 3, 2, 1, 0), level="ordinal"),),
    marks=(),
    derive=derive,
    no_errors={"expert_score": 5},
)
