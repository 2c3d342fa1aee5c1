"""Fact counting: five questions per text, four scores from the raw counts.

The annotator counts facts as they see them; the scores are ratios, so that two annotators who split
facts more and less finely still agree (their counts do not). Paper: sections 5 and 6.1.
"""

from __future__ import annotations

from medassay.human.protocols.base import (
    Answers,
    DraftRules,
    MarkKind,
    Protocol,
    Question,
    WordCounts,
    f_score,
    part_of,
    ratio,
)


def derive(answers: Answers, words: WordCounts) -> dict[str, float | None]:
    """Precision R&G / G, recall R&G / R, their F-score, accuracy C / G; each 0…1, higher is better.

    >>> derive({"R": 4, "G": 2, "RG": 2, "C": 1}, WordCounts(10, 10))["accuracy"]
    0.5
    """
    precision = ratio(answers.get("RG"), answers.get("G"))
    recall = ratio(answers.get("RG"), answers.get("R"))
    return {
        "precision": precision,
        "recall": recall,
        "f_score": f_score(precision, recall),
        "accuracy": ratio(answers.get("C"), answers.get("G")),
    }


PROTOCOL = Protocol(
    name="fact-counting",
    needs=("source", "reference"),
    questions=(
        Question("R", per="case", fed_by=("reference_fact", None)),
        Question("G", fed_by=("fact", None)),
        Question("RG", fed_by=("fact", "in_reference")),
        Question("C", fed_by=("fact", "correct")),
        Question("coherence", choices=(1.0, 0.5, 0.0)),
    ),
    marks=(
        MarkKind("reference_fact", "reference", per="case"),
        MarkKind("fact", "candidate", flags=("in_reference", "correct"), look=2),
    ),
    derive=derive,
    limits=(part_of("RG", "G"), part_of("RG", "R"), part_of("C", "G")),
    no_errors={"G": "R", "RG": "G", "C": "G", "coherence": 1},
    draft=DraftRules(
        candidate=dict.fromkeys(("supported", "not_stated", "contradicted"), "fact"),
        supported={"in_reference": ("reference",), "correct": ("reference", "source")},
    ),
)
