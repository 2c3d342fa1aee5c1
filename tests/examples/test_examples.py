"""The bundled cases keep what they promise."""

from __future__ import annotations

import pytest

from medassay.errors import InputError
from medassay.examples import FILES, example, load


@pytest.mark.parametrize("name", FILES)
def test_two_systems_on_every_case(name: str) -> None:
    cases = load(name)
    assert len({case.id for case in cases}) >= 14
    for case in cases:
        (twin,) = [other for other in cases if other.id == case.id and other.system != case.system]
        assert (twin.references, twin.source, twin.extra["topic"]) == (
            case.references,
            case.source,
            case.extra["topic"],
        )
        assert {case.system, twin.system} == {"alder", "birch"}
        assert case.has("reference")
        assert (case.source is not None) is (name == "notes.csv")


@pytest.mark.parametrize("name", FILES)
def test_planted_errors_and_scores_agree(name: str) -> None:
    for case in load(name):
        error, human = str(case.extra["error"]), float(str(case.extra["human_score"]))
        assert 0 <= human <= 5
        assert error.startswith("none") is (human == 5)
        if error == "none (copy)":
            assert case.candidate == case.reference
        else:
            assert case.candidate != case.reference


def test_several_references() -> None:
    cases = load("references.jsonl")
    assert len(cases) >= 5
    assert all(len(case.references) >= 2 for case in cases)


def test_an_unknown_example() -> None:
    with pytest.raises(
        InputError, match=r"no example 'x\.csv'; there are pathology\.csv, notes\.csv, references\.jsonl"
    ):
        example("x.csv")
