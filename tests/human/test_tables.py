"""Ratings, published-style tables, export, and tables of raw counts from elsewhere."""

from __future__ import annotations

import pytest
from tests.human.sample import FACTS, rate

from medassay.human.ratings import Ratings
from medassay.human.store import NewEvent, Store
from medassay.human.tables import agreement, choice_shares, span_agreement, system_table
from medassay.human.terminal import agreement_records
from medassay.study import krippendorff_alpha


def test_agreement_shows_the_gap_between_counts_and_scores(ratings):
    rows = {row.column: row for row in agreement(ratings, resamples=50)}
    assert rows["G"].alpha.value < 0.3
    assert rows["precision"].alpha.value == pytest.approx(1.0)
    assert rows["coherence"].kappa == 1.0
    assert rows["precision"].kappa is None and rows["G"].f1 == (0.0, 0.0, 0.25)
    assert rows["G"].pairs.keys() == {("anna", "ben")}


def test_system_means_by_evaluator_then_averaged(ratings):
    rows = {(row.system, row.column): row for row in system_table(ratings)}
    # System a: precision (4/4 + 3/4) / 2 for both evaluators.
    assert rows["a", "precision"].by_annotator == {"anna": 0.875, "ben": 0.875}
    assert rows["b", "coherence"].average == 0.25
    assert [row.column for row in system_table(ratings)][:5] == [
        "precision",
        "recall",
        "f_score",
        "accuracy",
        "coherence",
    ]


def test_alpha_of_a_count_per_case_is_named_for_cases_and_for_texts(ratings):
    rows = {row.column: row for row in agreement(ratings, resamples=20)}
    assert (rows["R"].unit, rows["R"].alpha.n, rows["R"].per_text.n) == ("case", 2, 4)
    assert rows["R"].per_text.value == pytest.approx(krippendorff_alpha([[4, 4, 5, 5], [8, 8, 10, 10]]))
    assert (rows["G"].unit, rows["G"].per_text) == ("text", None)
    records = [(record["column"], record["unit"]) for record in agreement_records(list(rows.values()))]
    assert records[:3] == [("R", "case"), ("R", "text"), ("G", "text")]


def test_shares_of_answers_and_unanimity():
    """Three people, four texts: nine of twelve answers are *coherent*, two texts are so for all three."""
    given = {"1": (1, 1, 1), "2": (1, 1, 1), "3": (1, 1, 0.5), "4": (1, 0.5, 0)}
    rows = [
        rate(case, "s", who, R=1, G=1, RG=1, C=1, coherence=value)
        for case, values in given.items()
        for who, value in zip("abc", values)
    ]
    shares = {row.value: row for row in choice_shares(Ratings(FACTS, rows))}
    assert shares[1.0].share == pytest.approx(9 / 12) and shares[1.0].unanimous == 0.5
    assert shares[0.5].share == pytest.approx(2 / 12) and shares[0.5].unanimous == 0.0
    assert shares[0.0].texts == 4
    alone = choice_shares(Ratings(FACTS, rows[:1]))
    assert alone[0].unanimous is None and alone[0].share == 1.0


def test_highlights_of_two_people_are_compared_by_overlap(make_study):
    store = Store(make_study([("c1", "s", "one two three four", "ref", "src")]))
    numbers = iter(range(1000))
    marks = {"anna": [(0, 3), (8, 13)], "ben": [(0, 7)]}
    for who, spans in marks.items():
        for task in store.tasks(who):
            slots = [str(i) for i in range(1, len(task.candidates) + 1)]
            for slot in slots:
                for start, end in spans if not task.training else []:
                    payload = {"slot": slot, "mark": f"m{next(numbers)}", "type": "fact", "start": start, "end": end}
                    store.append(task.id, who, NewEvent(f"e{next(numbers)}", "mark", payload))
                answered = {"RG": 1, "C": 1, "coherence": 1} | ({"G": 1} if task.training else {})
                for question, value in answered.items():
                    payload = {"slot": slot, "question": question, "value": value}
                    store.append(task.id, who, NewEvent(f"e{next(numbers)}", "set", payload))
            payload = {"slot": "case", "question": "R", "value": 2}
            store.append(task.id, who, NewEvent(f"e{next(numbers)}", "set", payload))
            store.append(task.id, who, NewEvent(f"e{next(numbers)}", "done", {}))
    (row,) = span_agreement(store)
    # Anna's first overlaps Ben's, her second does not: precision 1/2, recall 1/1.
    assert (row.kind, row.highlights, row.texts) == ("fact", 3, 1)
    assert row.relaxed == pytest.approx(2 / 3) and row.exact == 0.0
    store.close()
