"""HARE's clinical mode by hand, on reports whose entities are given."""

from __future__ import annotations

import numpy as np
import pytest

from medassay.language.alignment import align
from medassay.language.concepts import link
from medassay.language.graph import Entity, Relation, Report
from medassay.metrics.hare_clinical import Weights, concluding, score_pairs, word_overlap


def report(text: str, *marks: tuple[str, str, str], relations: tuple[tuple[int, int], ...] = ()) -> Report:
    """A report with entities given as (words, type, assertion)."""
    entities = []
    for words, kind, assertion in marks:
        start = text.index(words)
        entities.append(Entity(start, start + len(words), words, kind, assertion, 1.0, link(words, kind)))
    kinds = [mark[1] for mark in marks]
    joined = tuple(Relation(h, t, f"{kinds[h]}_{kinds[t]}", 1.0) for h, t in relations)
    return Report(text, tuple(entities), joined)


class OneHot:
    """An encoder for which different words have nothing in common."""

    name = "one-hot/align"

    def embed(self, texts: list[str]) -> np.ndarray:
        return np.eye(len(texts), max(len(texts), 1), dtype=np.float32)


REFERENCE = report(
    "Left kidney: clear cell renal cell carcinoma, Fuhrman grade 2, no necrosis. CD10 positive.",
    ("Left kidney", "site", "present"),
    ("clear cell renal cell carcinoma", "diagnosis", "present"),
    ("Fuhrman grade 2", "grade", "present"),
    ("necrosis", "finding", "absent"),
    ("CD10", "marker", "present"),
    ("positive", "modifier", "present"),
    relations=((1, 2), (4, 5)),
)


def clinical(candidate: Report, **weights: float) -> float:
    score = score_pairs([(REFERENCE, candidate)], OneHot(), evidence=True, weights=Weights(**weights))[0]
    assert score.value is not None
    return score.value


def test_a_copy_is_perfect() -> None:
    assert clinical(REFERENCE) == 1.0


def test_an_absence_and_a_conflict_differ() -> None:
    marks = [(e.text, e.type, e.assertion) for e in REFERENCE.entities]
    shorter = REFERENCE.text.replace(", no necrosis", "")
    omitted = report(shorter, *[m for m in marks if m[0] != "necrosis"], relations=((1, 2), (3, 4)))
    negated = report(
        REFERENCE.text,
        *[(words, kind, "present" if words == "necrosis" else how) for words, kind, how in marks],
        relations=((1, 2), (4, 5)),
    )
    assert clinical(negated) < clinical(omitted) < 1.0


@pytest.mark.parametrize(
    ("was", "becomes", "reason"),
    [
        ("Left kidney", "Right kidney", "another side"),
        ("Fuhrman grade 2", "Fuhrman grade 4", "another value"),
    ],
)
def test_what_is_said_otherwise_is_contradicted(was: str, becomes: str, reason: str) -> None:
    text = REFERENCE.text.replace(was, becomes)
    marks = [(e.text.replace(was, becomes), e.type, e.assertion) for e in REFERENCE.entities]
    candidate = report(text, *marks, relations=((1, 2), (4, 5)))
    score = score_pairs([(REFERENCE, candidate)], OneHot(), evidence=True)[0]
    assert score.parts["contradicted"] == 1
    assert [link.get("note") for link in score.evidence["links"] if link["verdict"] == "contradicted"] == [reason]
    assert score.value is not None and score.value < 1


def test_a_broad_diagnosis_is_broadly_right() -> None:
    def with_diagnosis(words: str) -> Report:
        return report(f"Kidney: {words}.", ("Kidney", "site", "present"), (words, "diagnosis", "present"))

    reference = with_diagnosis("clear cell renal cell carcinoma")
    scored = score_pairs(
        [(reference, with_diagnosis(w)) for w in ("clear cell renal cell carcinoma", "renal cell carcinoma", "lipoma")],
        OneHot(),
        evidence=False,
    )
    exact, broad, wrong = (score.parts["diagnosis_recall"] for score in scored)
    assert exact == 1.0 > broad > wrong == 0.0


def test_synonyms_meet_without_sharing_a_word() -> None:
    left = report("HER-2/neu positive", ("HER-2/neu", "marker", "present"))
    right = report("c-erbB-2 positive", ("c-erbB-2", "marker", "present"))
    vectors = {"her-2/neu": np.array([1, 0], np.float32), "c-erbb-2": np.array([0, 1], np.float32)}
    assert [fate.verdict for fate in align(left, right, vectors).reference.values()] == ["matched"]


def test_what_is_said_twice_is_not_invented() -> None:
    left = report("carcinoma", ("carcinoma", "diagnosis", "present"))
    text = "carcinoma, carcinoma"
    twice = Report(
        text,
        tuple(
            Entity(s, s + 9, "carcinoma", "diagnosis", "present", 1.0, link("carcinoma", "diagnosis")) for s in (0, 11)
        ),
        (),
    )
    alignment = align(left, twice, {"carcinoma": np.array([1.0], np.float32)})
    assert [fate.verdict for fate in alignment.candidate.values()] == ["matched", "matched"]


def test_an_entity_that_the_reader_overlooked_is_found_by_its_words() -> None:
    left = report("perineural invasion is seen", ("perineural invasion", "finding", "present"))
    right = report("invasion of perineural spaces; carcinoma", ("carcinoma", "diagnosis", "present"))
    vectors = {words: np.eye(2, dtype=np.float32)[i] for i, words in enumerate(("perineural invasion", "carcinoma"))}
    assert [fate.verdict for fate in align(left, right, vectors).reference.values()] == ["matched"]
    assert [fate.verdict for fate in align(left, right, vectors).candidate.values()] == ["lost"]


def test_a_general_word_is_hedged_not_contradicted() -> None:
    left = report("tumor in the colon", ("tumor", "diagnosis", "present"))
    right = report("no tumor in the nodes", ("tumor", "diagnosis", "absent"))
    fates = align(left, right, {"tumor": np.ones(1, np.float32)}).reference.values()
    assert [fate.verdict for fate in fates] == ["hedged"]


def test_the_last_diagnosis_section_concludes() -> None:
    text = "Microscopic Description: reactive atypia.\nFinal Diagnosis: Tubular adenoma."
    two = report(text, ("reactive atypia", "diagnosis", "present"), ("Tubular adenoma", "diagnosis", "present"))
    assert concluding(two) == [1]
    assert concluding(report("carcinoma, not sarcoma", ("carcinoma", "diagnosis", "present"))) == [0]


def test_no_entities_is_a_reason_never_a_zero() -> None:
    empty = report("See above.")
    for pair in ((empty, REFERENCE), (REFERENCE, empty)):
        score = score_pairs([pair], OneHot(), evidence=False)[0]
        assert score.value is None and "no entities found" in (score.unscored or "")


def test_word_overlap_by_hand() -> None:
    assert word_overlap("no tumor", "no tumor") == 1.0
    assert word_overlap("tumor", "") == 0.0
