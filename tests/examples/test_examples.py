"""The bundled cases keep what they promise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from medassay.errors import InputError
from medassay.examples import FILES, example, load

ERRORS = Path(__file__).parents[2] / "corpus/demo/errors.jsonl"


@pytest.mark.parametrize("name", FILES)
def test_two_systems_on_every_case(name: str) -> None:
    cases = load(name)
    assert len({case.id for case in cases}) >= 36
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


@pytest.mark.skipif(not ERRORS.is_file(), reason="needs a checkout: the corpus is not in the package")
def test_every_planted_error_is_recorded_with_its_words() -> None:
    planted: dict[tuple[str, str], list[dict[str, str]]] = {}
    for line in ERRORS.read_text(encoding="utf-8").splitlines():
        error = json.loads(line)
        planted.setdefault((error["id"], error["system"]), []).append(error)
    for case in (case for name in FILES for case in load(name)):
        errors = planted.pop((case.id, str(case.system)), [])
        listed = "; ".join(f"{error['kind']} ({error['severity']})" for error in errors)
        assert listed == ("" if str(case.extra["error"]).startswith("none") else case.extra["error"])
        for error in errors:
            assert error["wrong"] or error["kind"] == "omission"
            assert error["right"] or error["kind"] == "invention"
            assert error["wrong"] in case.candidate, case.id
            assert error["right"] in str(case.reference), case.id
    assert not planted


@pytest.mark.parametrize("name", FILES)
def test_the_careless_system_makes_the_errors(name: str) -> None:
    wrong = dict.fromkeys(("alder", "birch"), 0)
    for case in load(name):
        wrong[str(case.system)] += not str(case.extra["error"]).startswith("none")
    assert wrong["alder"] <= 4 and wrong["birch"] >= 34


def test_several_references() -> None:
    cases = load("references.jsonl")
    assert len(cases) >= 5
    assert all(len(case.references) >= 2 for case in cases)


def test_an_unknown_example() -> None:
    with pytest.raises(
        InputError, match=r"no example 'x\.csv'; there are pathology\.csv, notes\.csv, references\.jsonl"
    ):
        example("x.csv")
