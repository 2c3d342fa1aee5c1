"""Which entities of two reports meet; vectors are given, one direction for each wording unless said otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from tests.language.readings import reading

from medassay.language.alignment import GENERAL, SURE, WORDED, align, similarities
from medassay.language.graph import Report
from medassay.models.base import Matrix


def vectors(*reports: Report) -> dict[str, Matrix]:
    """Wordings at right angles to one another."""
    wordings = sorted({entity.text.lower() for report in reports for entity in report.entities})
    return dict(zip(wordings, np.eye(len(wordings), dtype=np.float32)))


def fates(reference: str, candidate: str) -> tuple[list[str], list[str]]:
    """The verdicts on the entities of both marked texts."""
    left, right = reading(reference), reading(candidate)
    aligned = align(left, right, vectors(left, right))
    return [fate.verdict for fate in aligned.reference.values()], [fate.verdict for fate in aligned.candidate.values()]


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ("<diagnosis Oncocytoma>.", "An <diagnosis oncocytoma>.", (["matched"], ["matched"])),
        ("<finding Necrosis>.", "No <finding necrosis>.", (["contradicted"], ["contradicted"])),
        ("<finding Necrosis>.", "Suspicious for <finding necrosis>.", (["hedged"], ["hedged"])),
        ("<finding Necrosis>.", "<finding Fibrosis>.", (["lost"], ["lost"])),
        ("<site Left kidney>.", "<site Right kidney>.", (["contradicted"], ["contradicted"])),
        ("<grade Grade 2>.", "<grade Grade 3>.", (["contradicted"], ["contradicted"])),
        ("<grade 1.5 cm>.", "<grade 15 mm>.", (["matched"], ["matched"])),
        ("No <diagnosis tumor>.", "A <diagnosis tumor>.", (["hedged"], ["hedged"])),
        ("", "", ([], [])),
    ],
)
def test_fates(reference: str, candidate: str, expected: tuple[list[str], list[str]]) -> None:
    assert fates(reference, candidate) == expected


def test_an_entity_agrees_with_its_best_counterpart() -> None:
    assert fates("<finding Necrosis>.", "No <finding necrosis>. <finding Necrosis>.")[0] == ["matched"]


def test_words_that_are_no_entity_of_the_other_report_count_a_little_less() -> None:
    left, right = reading("<finding Necrosis>."), reading("Necrosis is seen.")
    (fate,) = align(left, right, vectors(left)).reference.values()
    assert (fate.verdict, fate.similarity, fate.partner) == ("matched", WORDED, None)


def test_a_contradiction_needs_surer_likeness() -> None:
    left, right = reading("<finding Streaming>."), reading("No <finding palisading>.")
    # A cosine of 0.76 is 0.7 on the scale of similarities: enough to meet, too little to contradict.
    near = {"streaming": np.array([1, 0], np.float32), "palisading": np.array([0.76, 0.65], np.float32)}
    assert 0.6 < similarities(left.entities, right.entities, near)[0, 0] < SURE
    (fate,) = align(left, right, near).reference.values()
    assert fate.verdict == "lost"


def test_general_words_are_known_concepts() -> None:
    (entity,) = reading("A <diagnosis neoplasm>.").entities
    assert entity.concept is not None and entity.concept.id in GENERAL
