"""Metrics that were fitted to the very cases are named."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from medassay.engine.score_table import ScoreTable, make_table
from medassay.language.lexicon import read_table
from medassay.study import fitted, validate


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    known = {"a" * 12: ("HARE", frozenset({"expert", "hare"})), "c" * 12: ("HARE", frozenset("-"))}
    monkeypatch.setattr(fitted, "known_references", lambda: known)
    fitted.trained_data_sets.cache_clear()
    yield
    fitted.trained_data_sets.cache_clear()


def table(signature: str = "expert|models:embedded-1|v:1") -> ScoreTable:
    keys = [letter * 12 for letter in "aaabbbcc"]
    rows = [
        (i + 1, {"id": str(i), "reference_key": key, "expert": i, "rouge1": i % 3, "h": i})
        for i, key in enumerate(keys)
    ]
    return make_table("scores.csv", rows, {"expert": True, "rouge1": True}, {"expert": signature})


def test_cases_are_counted_by_metric(seen: None) -> None:
    assert fitted.fitted_cases(table(), ["expert", "rouge1"]) == {"expert": 3}
    assert fitted.fitted_cases(table(), ["expert.low", "expert(x=1)"]) == {"expert.low": 3, "expert(x=1)": 3}
    assert fitted.fitted_cases(table("expert|models:my/folder|v:1"), ["expert"]) == {}


def test_the_warning_stands_among_the_notes(seen: None) -> None:
    study = validate(table(), ["h"], metrics=["expert", "rouge1"], resamples=20)
    assert [note for note in study.notes if note.startswith("Warning")] == [
        "Warning: expert was fitted to judgements of 3 of these 8 cases' references; its figures here are a fit, "
        "no forecast.",
        "Warning: expert was trained on other rows of HARE, which 2 of these 8 cases are of; it may agree less with "
        "people elsewhere.",
    ]


def test_neighbours_of_what_a_metric_was_fitted_to_are_counted_by_data_set(seen: None) -> None:
    assert fitted.neighbour_cases(table(), ["expert", "rouge1"]) == {"expert": {"HARE": 2}}
    assert fitted.neighbour_cases(table("expert|models:my/folder|v:1"), ["expert"]) == {}


def test_without_keys_nothing_is_said() -> None:
    plain = make_table("scores.csv", [(1, {"id": "1", "expert": 1.0, "h": 1.0})], {"expert": True}, {})
    assert fitted.fitted_cases(plain, ["expert"]) == {}


def test_the_table_holds_keys_and_no_text() -> None:
    rows = list(read_table(fitted.files("medassay.study") / "rules" / "trained_on.tsv"))
    assert len(rows) > 1000
    assert all(len(row["key"]) == 12 and set(row["key"]) <= set("0123456789abcdef") for row in rows)
    assert {row["set"] for row in rows} == {"HARE", "MTS-Dialog", "REG2025", "TCGA"}
    assert {("MTS-Dialog", "risk"), ("HARE", "expert")} <= fitted.trained_data_sets()
