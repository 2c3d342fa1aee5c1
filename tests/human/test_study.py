"""The study file and the plan: who gets what, blinded, balanced, seeded."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medassay.errors import MedassayError
from medassay.human.plan import assign, clean, tasks_for
from medassay.human.study import load_study


def test_new_file_reads_back_as_asked(make_study):
    study = make_study(assignment="2", seed=7, annotators=["anna", "b.en", "chi ng"])
    assert study.annotators == ("anna", "b.en", "chi ng")
    assert (study.per_case, study.seed, study.training) == (2, 7, True)
    assert study.url().startswith("sqlite:///")
    assert [unit.case_id for unit in study.units()] == ["c1", "c2", "c3"]
    assert [item.system for item in study.units()[0].items] == ["alpha", "beta"]


@pytest.mark.parametrize(
    ("find", "replace", "message"),
    [
        ("protocol: fact-counting", "protocol: fact-cuonting", "did you mean 'fact-counting'"),
        ("annotators: [anna, ben, chi]", "annotators: anna", "list of names"),
        ("annotators: [anna, ben, chi]", "annotators: [anna, anna]", "stands twice"),
        ("annotators: [anna, ben, chi]", "annotators: ['<b>']", "use letters"),
        ("annotators: [anna, ben, chi]", "annotators: [Coordinator]", "meaning of its own"),
        ("assignment: all", "assignment: 4", "there are 3 annotators"),
        ("assignment: all", "assignment: some", "'all' or how many"),
        ("seed: 1", "sead: 1", "did you mean 'seed'"),
        ("cases: cases.csv", "cases: none.csv", "none.csv"),
        ("training: true", "training: [1]", "true or false"),
        ("name: made-up", "name: [", "YAML"),
    ],
)
def test_mistakes_in_the_file_are_named(make_study, find, replace, message):
    study = make_study()
    text = study.path.read_text(encoding="utf-8")
    assert find in text
    study.path.write_text(text.replace(find, replace, 1), encoding="utf-8")
    with pytest.raises(MedassayError, match=message):
        load_study(study.path).units()


def test_a_case_needs_what_its_protocol_needs(make_study):
    with pytest.raises(MedassayError, match="row 2: 'source' is empty; fact-counting needs it"):
        make_study([("c1", "a", "text", "reference", "")]).units()
    with pytest.raises(MedassayError, match="another source or reference than in row 2"):
        make_study([("c1", "a", "t", "r", "s"), ("c1", "b", "t", "other", "s")]).units()


@given(st.integers(1, 40), st.integers(2, 7), st.data(), st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_assignment_is_balanced_and_seeded(cases, people, data, seed):
    per_case = data.draw(st.integers(1, people))
    names, ids = [f"p{i}" for i in range(people)], [f"c{i}" for i in range(cases)]
    chosen = assign(ids, names, per_case, seed)
    load = [sum(name in team for team in chosen.values()) for name in names]
    assert max(load) - min(load) <= 1
    assert all(len(set(team)) == per_case for team in chosen.values())
    assert chosen == assign(ids, names, per_case, seed)


def test_every_pair_overlaps_where_two_judge_each_case():
    chosen = assign([f"c{i}" for i in range(12)], ["a", "b", "c", "d"], 2, 1)
    pairs = {tuple(team) for team in chosen.values()}
    assert len(pairs) == 6


def test_orders_differ_between_annotators_and_do_not_follow_the_file(make_study):
    rows = [(f"c{i}", f"s{k}", f"text {i} {k}", "ref", "src") for i in range(12) for k in range(4)]
    units = make_study(rows).units()
    anna, ben = tasks_for("anna", units, 1), tasks_for("ben", units, 1)
    assert [t.case_id for t in anna] != [t.case_id for t in ben] != [u.case_id for u in units]
    assert len({t.order for t in anna}) > 4
    assert anna == tasks_for("anna", units, 1) != tasks_for("anna", units, 2)
    assert all("c" not in t.id or t.case_id not in t.id for t in anna)


def test_texts_are_frozen_with_offsets_that_hold_everywhere():
    assert clean("a\r\nb\rc\ud800\0") == "a\nb\nc\ufffd "
