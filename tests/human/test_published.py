"""Tables of raw counts from elsewhere."""

from __future__ import annotations

import pytest

from medassay.errors import InputError
from medassay.human.protocols import load_protocol
from medassay.human.published import read_table

FACTS = load_protocol("fact-counting")


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
        ("id,annotator,G,omisions\n1,a,1,2\n", "column 'omisions' is none of fact-counting"),
        ("id,annotator,G,Cc\n1,a,1,2\n", "column 'Cc' .*rename it"),
        ("id,annotator,G,g facts\n1,a,1,2\n", "columns 'G' and 'g facts' both mean G"),
        ("id,system,annotator,R\n1,x,a,4\n1,y,a,5\n", "row 3, column 'R': 5, but 4 in row 2 for the same case '1'"),
    ],
)
def test_mistakes_in_a_table_are_named(tmp_path, text, message):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_table(path, FACTS)


def test_the_papers_own_column_names_are_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "id,annotator,crit-ommissions,hallucinations,correct-facts,incorrect-facts\n1,a,2,1,5,0\n", encoding="utf-8"
    )
    (row,) = read_table(path, load_protocol("fact-categories")).rows
    assert [row.values[name] for name in ("omitted_critical", "hallucinated", "correct", "incorrect")] == [2, 1, 5, 0]
