"""The study file and the plan: who gets what, blinded, balanced, seeded."""

from __future__ import annotations

import pytest

from medassay.errors import MedassayError
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
