"""HARE's published arithmetic by hand, on reports whose entities and confidences are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from medassay.cases import make_cases
from medassay.language.graph import Entity, Relation, Report
from medassay.metrics.base import f1
from medassay.metrics.hare import Hare
from medassay.metrics.hare_paper import PaperRules, entity_scores, read_side, score_pairs, triple_f1
from medassay.scores import Score


def report(
    *marks: tuple[str, str, float], relations: Sequence[tuple[int, int]] = (), relation_score: float = 1.0
) -> Report:
    """A report with entities given as (words, type, confidence), and relations by their indices."""
    entities = tuple(Entity(0, 0, words, kind, "present", score, None) for words, kind, score in marks)
    kinds = [kind for _, kind, _ in marks]
    links = tuple(Relation(h, t, f"{kinds[h]}_{kinds[t]}", relation_score) for h, t in relations)
    return Report("", entities, links)


class OneHot:
    """An encoder for which different words have nothing in common."""

    name = "one-hot/align"

    def embed(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        return np.eye(len(texts), max(len(texts), 1), dtype=np.float32)


class Letters:
    """An encoder by hand: the cosine of `a…` and `b…` is 0.6, of words with the same first letter 1."""

    name = "letters/align"

    def embed(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        return np.array([[1.0, 0.0] if text.startswith("a") else [0.6, 0.8] for text in texts], np.float32)


def score(reference: Report, candidate: Report, aligner: Any = None, **rules: Any) -> Score:
    return score_pairs([(reference, candidate)], aligner or OneHot(), PaperRules(**rules))[0]


REFERENCE = report(
    ("ER", "marker", 0.9), ("positive", "modifier", 0.9), ("carcinoma", "diagnosis", 0.9), relations=[(0, 1)]
)


def test_entity_scores_are_means_of_best_cosines() -> None:
    # rows: reference; best per row 0.9, 0.5 → recall 0.7; best per column 0.9, 0.5, 0.1 → precision 0.5
    cosines = np.array([[0.9, 0.2, 0.1], [0.3, 0.5, 0.0]], dtype=np.float32)
    assert entity_scores(cosines) == pytest.approx((0.5, 0.7, 2 * 0.5 * 0.7 / 1.2))


def test_triple_f1_counts_shared_triples() -> None:
    a = {("er", "positive", "marker_modifier"), ("pr", "negative", "marker_modifier")}
    assert triple_f1(a, {("er", "positive", "marker_modifier")}) == pytest.approx(2 / 3)
    assert triple_f1(a, set()) == 0.0
    assert f1(0.0, 1.0) == 0.0


def test_a_copy_has_both_halves() -> None:
    copy = score(REFERENCE, REFERENCE)
    assert copy.value == pytest.approx(2.0)
    assert copy.parts["entities"] == pytest.approx(1.0) and copy.parts["relations"] == 1.0
    assert copy.parts["reference_relations"] == copy.parts["candidate_relations"] == 1.0
    assert score(REFERENCE, REFERENCE, total="mean").value == pytest.approx(1.0)


def test_words_are_compared_in_lower_case_unless_asked_otherwise() -> None:
    candidate = report(("er", "marker", 0.9), ("Positive", "modifier", 0.9), relations=[(0, 1)])
    assert score(REFERENCE, candidate).parts["relations"] == 1.0
    assert score(REFERENCE, candidate, case="mixed").parts["relations"] == 0.0


def test_mentions_count_each_time_and_distinct_words_once() -> None:
    # reference: tumour, tumour, ER; candidate: tumour. Recall 2/3 by mention, 1/2 by distinct word; precision 1.
    reference = report(("tumour", "diagnosis", 0.9), ("Tumour", "diagnosis", 0.9), ("ER", "marker", 0.9))
    candidate = report(("tumour", "diagnosis", 0.9))
    assert score(reference, candidate).parts["recall"] == pytest.approx(2 / 3)
    assert score(reference, candidate, entities="distinct").parts["recall"] == pytest.approx(1 / 2)


def test_the_type_of_a_relation_matters_only_where_asked() -> None:
    other = report(("ER", "diagnosis", 0.9), ("positive", "descriptor", 0.9), relations=[(0, 1)])
    assert score(REFERENCE, other).parts["relations"] == 1.0
    assert score(REFERENCE, other, triples="typed").parts["relations"] == 0.0


def test_aligned_triples_take_the_product_of_both_cosines() -> None:
    # heads a–b: 0.6, tails a–a: 1.0, one triple a side → precision = recall = F1 = 0.6.
    reference = report(("a1", "marker", 0.9), ("a2", "modifier", 0.9), relations=[(0, 1)])
    candidate = report(("b1", "marker", 0.9), ("a3", "modifier", 0.9), relations=[(0, 1)])
    assert score(reference, candidate, Letters(), triples="aligned").parts["relations"] == pytest.approx(0.6)
    assert score(reference, candidate, Letters()).parts["relations"] == 0.0
    another = report(("b1", "diagnosis", 0.9), ("a3", "descriptor", 0.9), relations=[(0, 1)])
    assert score(reference, another, Letters(), triples="aligned").parts["relations"] == 0.0


def test_the_threshold_is_on_entities_and_relations_and_can_be_turned_round() -> None:
    unsure = report(("ER", "marker", 0.6), ("positive", "modifier", 0.9), relations=[(0, 1)], relation_score=0.71)
    assert read_side(unsure, PaperRules()).entities == ("positive",)
    assert len(read_side(unsure, PaperRules()).triples) == 1, "as in the authors' code, an end need not be sure"
    assert not read_side(unsure, PaperRules(ends="kept")).triples
    assert read_side(unsure, PaperRules(keep="below")).entities == ("er",)
    assert not read_side(unsure, PaperRules(keep="below")).triples
    assert read_side(unsure, PaperRules(threshold=None)).entities == ("er", "positive")
    assert not read_side(unsure, PaperRules(threshold=0.71)).triples, "above, not at the threshold"


def test_types_say_which_entities_and_relations_count() -> None:
    mixed = report(
        ("carcinoma", "diagnosis", 0.9),
        ("grade 2", "grade", 0.9),
        ("necrosis", "finding", 0.9),
        ("focal", "grade", 0.9),
        relations=[(0, 1), (2, 3)],
    )
    assert read_side(mixed, PaperRules()).entities == ("carcinoma",)
    assert not read_side(mixed, PaperRules()).triples
    graded = read_side(mixed, PaperRules(types="graded", triples="typed"))
    assert graded.entities == ("carcinoma", "grade 2")
    assert graded.triples == {("carcinoma", "grade 2", "diagnosis_descriptor")}
    seven = read_side(mixed, PaperRules(types="seven"))
    assert len(seven.entities) == 4 and len(seven.triples) == 2


def test_an_empty_side_is_zero_or_unscored() -> None:
    empty = report()
    for pair in ((empty, REFERENCE), (REFERENCE, empty)):
        assert score(*pair).value == 0.0
        assert "no entities found" in (score(*pair, empty="unscored").unscored or "")


def test_an_empty_side_leaves_the_relation_half() -> None:
    unsure = report(("ER", "marker", 0.5), ("positive", "modifier", 0.5), relations=[(0, 1)])
    found = score(REFERENCE, unsure)
    assert (found.parts["entities"], found.parts["relations"], found.value) == (0.0, 1.0, 1.0)


SETTINGS: dict[str, Any] = {
    "threshold": None,
    "keep": "below",
    "entities": "distinct",
    "case": "mixed",
    "types": "graded",
    "triples": "aligned",
    "ends": "kept",
    "empty": "unscored",
    "total": "mean",
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_choice_is_signed(setting: str) -> None:
    assert Hare(mode="paper").signature != Hare(mode="paper", **{setting: SETTINGS[setting]}).signature


def test_all_rules_are_settings_of_the_metric() -> None:
    assert set(SETTINGS) == set(PaperRules.__slots__)
    assert Hare(mode="paper").rules == PaperRules()


def test_embedded_models_fill_both_halves() -> None:
    reference = "Left breast, biopsy: invasive ductal carcinoma. ER positive, PR negative."
    candidate = "Left breast, core biopsy: invasive carcinoma. ER positive, PR positive."
    same, other = Hare(mode="paper").score(make_cases([reference, candidate], [reference, reference]))
    assert same.value == pytest.approx(2.0, abs=1e-5)
    assert other.value is not None and 0 < other.parts["relations"] < 1
    assert Hare(mode="paper").score(make_cases(["1234"], [reference]))[0].value == 0.0
    assert Hare(mode="paper", empty="unscored").score(make_cases(["1234"], [reference]))[0].value is None
