"""The words that annotators read: defaults, a study's own, and names that do not exist."""

from __future__ import annotations

import pytest

from medassay.errors import UnknownName
from medassay.human.protocols import PROTOCOLS, WordCounts, load_protocol
from medassay.human.wording import default_wording, read_wording

WORDS = WordCounts(candidate=40, reference=50)


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
