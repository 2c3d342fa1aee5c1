"""Protocols: scores by hand, and wording that matches the questions."""

from __future__ import annotations

import pytest

from medassay.errors import UnknownName
from medassay.human.protocols import PROTOCOLS, Words, load_protocol
from medassay.human.wording import default_wording, read_wording

WORDS = Words(candidate=40, reference=50)


def test_fact_counting_by_hand():
    scores = load_protocol("fact-counting").derive({"R": 4, "G": 5, "RG": 2, "C": 4}, WORDS)
    # P = 2/5, R = 2/4, F = 2·.4·.5/.9 = 4/9, accuracy = 4/5.
    assert scores == pytest.approx({"precision": 0.4, "recall": 0.5, "f_score": 4 / 9, "accuracy": 0.8})


def test_no_fact_means_no_score_and_no_shared_fact_means_zero():
    derive = load_protocol("fact-counting").derive
    assert derive({"R": 4, "G": 0, "RG": 0, "C": 0}, WORDS)["precision"] is None
    assert derive({"R": 4, "G": 0, "RG": 0, "C": 0}, WORDS)["f_score"] is None
    assert derive({"R": 4, "G": 2, "RG": 0, "C": 0}, WORDS)["f_score"] == 0.0
    assert set(derive({"R": None, "G": None, "RG": None, "C": None}, WORDS).values()) == {None}


def test_fact_categories_by_hand():
    counts = {"R": 8, "correct": 4, "incorrect": 1, "hallucinated": 5, "omitted": 2, "omitted_critical": 1}
    scores = load_protocol("fact-categories").derive({**counts, "hallucinated_critical": 2}, WORDS)
    # 10 system facts: P = .4, R = .5, F1 = 4/9, hallucination 5/10, omission 2/8 (not 1 − recall).
    assert scores == pytest.approx(
        {
            "factual_precision": 0.4,
            "factual_recall": 0.5,
            "factual_f1": 4 / 9,
            "hallucination_rate": 0.5,
            "omission_rate": 0.25,
            "critical_hallucination_rate": 0.2,
            "critical_omission_rate": 0.125,
        }
    )


def test_key_phrases_are_normalised_by_length():
    scores = load_protocol("key-phrases").derive(
        {"hallucinated": 2, "incorrect": 1, "language": 0, "omitted": 5}, WORDS
    )
    assert scores == pytest.approx(
        {"hallucinated_rate": 0.05, "incorrect_rate": 0.025, "language_rate": 0, "omitted_rate": 0.1}
    )


def test_expert_scale_is_scaled():
    assert load_protocol("expert-scale").derive({"expert_score": 4}, WORDS) == {"expert_score_scaled": 0.8}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol_has_its_words(name):
    protocol = load_protocol(name)
    wording = read_wording(protocol, {}, "study.yaml")
    assert len(wording.examples) >= 2, "instructions come with worked examples"
    assert set(wording.labels) == {q.name for q in protocol.questions}
    assert set(wording.choices) == {q.name for q in protocol.questions if q.choices}
    assert {flag for kind in protocol.marks for flag in kind.flags} == set(wording.flags)
    assert wording.training and all(t.explanation for task in wording.training for t in task.candidates)
    assert set(protocol.derive({}, WORDS)) == set(protocol.derived)
    fed = {q.fed_by for q in protocol.questions if q.fed_by}
    for kind, flag in fed:
        found = protocol.mark(kind)
        assert found is not None and (flag is None or flag in found.flags)


def test_own_words_replace_the_defaults():
    protocol = load_protocol("expert-scale")
    own = {"title": "Note", "choices": {"expert_score": {5: "e", 4: "d", 3: "c", 2: "b", 1: "a", 0: "z"}}}
    wording = read_wording(protocol, own, "study.yaml")
    assert wording.title == "Note"
    assert wording.choices["expert_score"][0] == "z"
    assert wording.instructions == tuple(default_wording(protocol)["instructions"])


def test_wrong_names_are_refused_with_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'instructions'"):
        read_wording(load_protocol("expert-scale"), {"instruction": []}, "study.yaml")
    with pytest.raises(UnknownName, match=r"wording\.questions\.expert_skore"):
        read_wording(load_protocol("expert-scale"), {"questions": {"expert_skore": {"label": "x"}}}, "study.yaml")
    with pytest.raises(UnknownName, match="did you mean 'fact-counting'"):
        load_protocol("fact-countin")
