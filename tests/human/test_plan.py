"""Who judges what, in which order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from medassay.human.plan import assign, clean, tasks_for


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
