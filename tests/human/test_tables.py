"""Ratings, published-style tables, export, and tables of raw counts from elsewhere."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from medassay.cases import read_cases
from medassay.errors import InputError
from medassay.files import csv_text, write_rows
from medassay.human.export import per_annotator, per_text
from medassay.human.highlights import span_agreement
from medassay.human.plan import Item, Unit
from medassay.human.protocols import load_protocol
from medassay.human.protocols.base import Words
from medassay.human.published import read_table
from medassay.human.ratings import Rating, Ratings, from_store, with_derived
from medassay.human.report import agreement_html, human_result, write_page
from medassay.human.show import agreement_records
from medassay.human.store import NewEvent, Store
from medassay.human.tables import agreement, choice_shares, system_table
from medassay.study import krippendorff_alpha

FACTS = load_protocol("fact-counting")
UNITS = [
    Unit("c1", "src", "ref one", (Item("a", "text a", {"group": "x", "recall": 9}), Item("b", "=b()", {}))),
    Unit("c2", "src", "ref two", (Item("a", "text", {}), Item("b", "text", {}))),
]


def rate(case: str, system: str, who: str, *, fine: int = 1, **counts: float) -> Rating:
    raw = {name: value * fine if name != "coherence" else value for name, value in counts.items()}
    return Rating(case, system, who, with_derived(FACTS, raw, Words(10, 10)))


@pytest.fixture
def ratings():
    """Two people who judge alike; one splits every fact in two."""
    rows = []
    for who, fine in (("anna", 1), ("ben", 2)):
        rows.append(rate("c1", "a", who, fine=fine, R=4, G=4, RG=4, C=4, coherence=1))
        rows.append(rate("c1", "b", who, fine=fine, R=4, G=3, RG=1, C=2, coherence=0.5))
        rows.append(rate("c2", "a", who, fine=fine, R=5, G=4, RG=3, C=4, coherence=1))
        rows.append(rate("c2", "b", who, fine=fine, R=5, G=2, RG=0, C=2, coherence=0))
    return Ratings(FACTS, rows)


def test_tables_are_raters_by_items_with_reference_facts_once_a_case(ratings):
    assert ratings.table("G").shape == (2, 4)
    assert ratings.table("R").tolist() == [[4, 5], [8, 10]]
    assert np.isnan(ratings.table("G", ["anna", "nobody"])[1]).all()


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


def test_one_row_a_text_is_a_case_file_that_carries_the_scores(ratings, tmp_path):
    path = tmp_path / "human.csv"
    write_rows(per_text(ratings, UNITS), path)
    rows = [row.case for row in read_cases(path)]
    assert [(case.id, case.system) for case in rows] == [("c1", "a"), ("c1", "b"), ("c2", "a"), ("c2", "b")]
    assert float(rows[1].extra["precision"]) == pytest.approx(1 / 3)
    assert float(rows[0].extra["G"]) == 6  # the mean of 4 and 8
    assert (rows[0].extra["group"], rows[0].extra["file.recall"]) == ("x", "9")
    assert rows[0].extra["annotators"] == "2"


def test_decisions_replace_averages(ratings):
    decided = Ratings(FACTS, ratings.rows, {("c1", "a"): {"G": 9.0}})
    row = per_text(decided, UNITS)[0]
    assert (row["G"], row["decided"], row["RG"]) == (9.0, True, 6.0)
    assert per_annotator(decided)[-1]["annotator"] == "adjudicated"


def test_no_cell_is_a_formula(ratings):
    assert ", =b()," in csv_text(per_text(ratings, UNITS)), "a text gets a space, which no metric minds"
    commented = Ratings(FACTS, [Rating("1", "a", "=x", {}, "=cmd()")])
    assert "'=x" in csv_text(per_annotator(commented)) and "'=cmd()" in csv_text(per_annotator(commented))


def test_long_form_reads_back_as_the_same_ratings(ratings, tmp_path):
    path = tmp_path / "long.csv"
    write_rows(per_annotator(ratings), path)
    again = read_table(path, FACTS)
    assert [(r.key, r.annotator) for r in again.rows] == [(r.key, r.annotator) for r in ratings.rows]
    assert [dict(r.values) for r in again.rows] == [pytest.approx(dict(r.values)) for r in ratings.rows]


def test_published_names_words_and_gaps(tmp_path):
    path = tmp_path / "published.csv"
    path.write_text(
        "Task,Model,Evaluator,R facts,G facts,G&R facts,G acc facts,Coherence\n"
        "1,Lead-3,E1,4,9,4,9,Coherent\n1,Lead-3,E2,3,6,,6,Minor Errors\n",
        encoding="utf-8",
    )
    one, two = read_table(path, FACTS).rows
    assert one.values["precision"] == pytest.approx(4 / 9) and one.values["coherence"] == 1.0
    assert two.values["RG"] is None and two.values["precision"] is None and two.values["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,R\n1,2\n", "no column 'annotator'"),
        ("id,annotator,system\n1,a,s\n", "needs id, annotator"),
        ("id,annotator,G\n1,a,many\n", "row 2, column 'G': 'many' is not a number"),
        ("id,annotator,G\n1,a,-1\n", "not a count"),
        ("id,annotator,G\n1,a,1\n1,a,2\n", "row 3: the same text and annotator stand in row 2"),
    ],
)
def test_mistakes_in_a_table_are_named(tmp_path, text, message):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_table(path, FACTS)


def test_ratings_of_a_study_leave_out_practice_and_unfinished_tasks(make_study):
    store = Store(make_study([("c1", "s", "one two", "ref", "src"), ("c2", "s", "x", "ref", "src")]))
    numbers = iter(range(1000))
    for task in store.tasks("anna")[:2]:
        for question, value in {"R": 2, "G": 2, "RG": 1, "C": 2, "coherence": 1}.items():
            slot = "case" if question == "R" else "1"
            payload = {"slot": slot, "question": question, "value": value}
            store.append(task.id, "anna", NewEvent(f"e{next(numbers)}", "set", payload, active_ms=500))
        store.append(task.id, "anna", NewEvent(f"e{next(numbers)}", "done", {}))
    ratings = from_store(store)
    assert len(ratings.rows) == 1
    assert ratings.rows[0].values["precision"] == 0.5 and ratings.rows[0].seconds == 2.5
    store.close()


def test_the_page_and_the_records(ratings, tmp_path):
    rows, systems = agreement(ratings, resamples=20), system_table(ratings)
    page = tmp_path / "people.html"
    write_page(ratings, rows, systems, page, title="<b>study</b>", units=UNITS)
    write_page(ratings, rows, systems, tmp_path / "no-texts.html", title="table")
    assert human_result(ratings, UNITS).mean["coherence"] == 0.625
    text = page.read_text(encoding="utf-8")
    assert "Means by system" in text and "<b>study</b>" not in text
    assert "&lt;b&gt;" in agreement_html(
        Ratings(FACTS, [rate("1", "<b>", "x", R=1, G=1, RG=1, C=1)]),
        [],
        [*system_table(Ratings(FACTS, [rate("1", "<b>", "x", R=1, G=1, RG=1, C=1)]))],
    )
    json.dumps(agreement_records(rows), allow_nan=False)
    assert next(csv.DictReader(io.StringIO(csv_text(agreement_records(rows)))))["column"] == "R"


def test_the_papers_own_column_names_are_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "id,annotator,crit-ommissions,hallucinations,correct-facts,incorrect-facts\n1,a,2,1,5,0\n", encoding="utf-8"
    )
    (row,) = read_table(path, load_protocol("fact-categories")).rows
    assert [row.values[name] for name in ("omitted_critical", "hallucinated", "correct", "incorrect")] == [2, 1, 5, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,annotator,G,omisions\n1,a,1,2\n", "column 'omisions' is none of fact-counting"),
        ("id,annotator,G,Cc\n1,a,1,2\n", "column 'Cc' .*rename it"),
        ("id,annotator,G,g facts\n1,a,1,2\n", "columns 'G' and 'g facts' both mean G"),
        ("id,system,annotator,R\n1,x,a,4\n1,y,a,5\n", "row 3, column 'R': 5, but 4 in row 2 for the same case '1'"),
    ],
)
def test_nothing_vanishes_from_a_table(tmp_path, text, message):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_table(path, FACTS)


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
