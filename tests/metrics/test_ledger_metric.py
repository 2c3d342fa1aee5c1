"""What all metrics over a ledger share: one reading per case, and reasons where there is no number."""

from __future__ import annotations

import pickle
import time

import pytest

from medassay.cases import Case, make_cases
from medassay.errors import ModelError
from medassay.metrics.registry import load_metric, load_metrics

from ..language.checker_double import WordChecker

ALL = ("facts", "hallucination", "omission", "fidelity", "note", "risk")
GERMAN = "Die Patientin hat kein Fieber und keine Schmerzen, die Lunge ist frei und ohne Befund."


def test_a_case_is_read_once_for_all_metrics(checker: WordChecker) -> None:
    cases = make_cases(["She has fever."], ["She has gout."])
    for metric in load_metrics(",".join(ALL)):
        metric.score(cases)
    # Once for the ledger of all, and once as passages for fidelity.
    assert len(checker.asked) == 4 and len(set(checker.asked)) == 4


@pytest.mark.parametrize("name", ALL)
def test_reasons(checker: WordChecker, name: str) -> None:
    metric = load_metric(name)
    cases = [
        Case("1", "She has fever.", ()),
        Case("2", " ", ("She has fever.",)),
        Case("3", "She has fever.", (GERMAN,)),
        Case("4", GERMAN, ("She has fever.",)),
        Case("5", "She has fever.", ("...",)),
        Case("6", "She has fever.", (), source="..."),
        Case("7", "She has fever.", ("She has fever.",), source=GERMAN),
    ]
    assert [score.unscored for score in metric.score(cases)] == [
        "no reference and no source; it needs one of them",
        "empty candidate",
        "reference is not English",
        "candidate is not English",
        "no statement found in the reference",
        "no statement found in the source",
        "source is not English",
    ]


def test_a_candidate_without_statements(checker: WordChecker) -> None:
    case = Case("1", "...", ("She has fever. She has gout.",))
    values = {name: load_metric(name).score([case])[0] for name in ALL}
    assert values["facts"].value == 0.0 and values["facts"].parts["recall"] == 0.0
    assert values["omission"].value == 1.0
    assert values["fidelity"].value == 0.0 and values["note"].value == 0.0
    assert values["risk"].value == pytest.approx(2.5)  # certainly wrong, critical with 0.5: 1 + 1 + 0.5
    assert values["hallucination"].unscored == "candidate has no statement: it states nothing"
    assert "hallucination" not in values["note"].parts


@pytest.mark.parametrize("name", ALL)
def test_line_endings_make_no_difference(checker: WordChecker, name: str) -> None:
    texts = [f"She has fever.{end}She has cough.{end}{end}PLAN:{end}Rest at home." for end in ("\n", "\r\n", "\r")]
    reference = "She has fever.\r\nShe has gout.\nPLAN:\r\nRest at home."
    scores = load_metric(name).score(make_cases(texts, [reference] * 3))
    assert len({score.value for score in scores}) == 1 and scores[0].value is not None


@pytest.mark.parametrize("name", ["facts", "risk"])
def test_two_thousand_statements_and_a_long_source_take_linear_time(checker: WordChecker, name: str) -> None:
    candidate = " ".join(f"There is a cyst of {number} mm." for number in range(2_100))
    source = " ".join(f"Visit {number}: no fever was noted and the wound was dry." for number in range(9_000))
    started = time.perf_counter()
    (score,) = load_metric(name).score([Case("1", candidate, ("There is a cyst of 4 mm.",), source=source)])
    assert score.value is not None
    assert score.evidence["cut"] == ["candidate: its first 2,000 statements were judged"]
    assert time.perf_counter() - started < 120


def test_with_the_embedded_reader() -> None:
    """No double: a copy reads as the same, one denial turned round is told and costs."""
    try:
        metrics = [load_metric(name) for name in ("facts", "fidelity", "risk")]
    except ModelError as error:
        pytest.skip(f"no reader in this checkout ({error})")
    reference = "She denies chest pain. She takes metformin 500 mg daily for diabetes."
    cases = make_cases([reference, reference.replace("denies", "has")], [reference] * 2)
    (facts, fidelity, risk) = (metric.score(cases) for metric in metrics)
    assert (facts[0].value or 0.0) > 0.9 and (fidelity[0].value or 0.0) > 0.9
    assert (fidelity[1].value or 1.0) < 0.5 and (risk[1].value or 0.0) > (risk[0].value or 4.0) + 1.0
    wrong = [item for item in facts[1].evidence["sentences"] if item["verdict"] == "contradicted"]
    assert "chest pain" in wrong[0]["text"]


def test_signature_and_journey_to_another_process(checker: WordChecker) -> None:
    metric = load_metric("note(counts=hard)")
    assert str(metric.signature) == "note|models:words|counts:hard|refs:best|v:0.2.0"
    assert pickle.loads(pickle.dumps(metric)).signature == metric.signature
    assert metric.roles == (("checker", "embedded"),)
