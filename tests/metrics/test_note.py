"""The ensemble for notes, and the pair model's estimates of facts; the model is made."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

import medassay.models
from medassay.cases import Case, make_cases
from medassay.errors import MedassayError
from medassay.metrics.base import depends_on_set
from medassay.metrics.note import MEMBERS, WITHOUT_SOURCE
from medassay.metrics.registry import load_metric
from medassay.models.quality import PairJudgement

REFERENCE = "The patient denies fever and chills. She takes lisinopril 20 mg daily."
SOURCE = "Doctor: Fever, chills? Patient: No. Doctor: What do you take? Patient: Lisinopril, twenty milligrams a day."


class Estimates:
    """Precision 0.5, recall 0.25, fidelity 0.75 for every pair."""

    name = "made/quality"
    heads = frozenset({"fidelity"})

    def judge(self, pairs: Sequence[tuple[str, str]], *, sentences: object = None) -> list[PairJudgement]:
        return [PairJudgement(0.75, ()) for _ in pairs]

    def facts(self, pairs: Sequence[tuple[str, str]], *, sentences: object = None) -> np.ndarray:
        return np.array([[0.5, 0.25, 0.1, 0.7]] * len(pairs), np.float32)


@pytest.fixture(autouse=True)
def made_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(medassay.models, "load", lambda role, spec="embedded": Estimates())


def test_facts_is_the_harmonic_mean() -> None:
    # 2 × 0.5 × 0.25 / 0.75 = 1/3
    score = load_metric("facts").score(make_cases(["Denies fever."], [REFERENCE]))[0]
    assert score.value == pytest.approx(1 / 3)
    assert score.parts["omission"] == pytest.approx(0.7)


@pytest.mark.parametrize("source", [SOURCE, None])
def test_a_single_note_by_hand(source: str | None) -> None:
    case = Case("1", "Denies fever. She has diabetes.", (REFERENCE,), source=source)
    score = load_metric("note").score([case])[0]
    values = {name: load_metric(name).score([case])[0].value for name in ("omission", "hallucination")}
    values |= {"facts.recall": 0.25, "fidelity": 0.75}
    stored = MEMBERS if source else {**MEMBERS, "hallucination": WITHOUT_SOURCE}
    expected = math.fsum(w * (values[name] - mean) / sd for name, (w, mean, sd) in stored.items())  # type: ignore[operator]
    assert score.value == pytest.approx(expected)
    assert [one["name"] for one in score.evidence["members"]] == list(MEMBERS)
    # Every member's z says how good the note is: signs are turned where lower is better.
    assert score.value == pytest.approx(sum(abs(MEMBERS[m["name"]][0]) * m["z"] for m in score.evidence["members"]))


def test_better_notes_are_higher() -> None:
    notes = ["Denies fever and chills. Takes lisinopril 20 mg daily.", "Denies fever.", "She has diabetes."]
    cases = make_cases(notes, [REFERENCE] * 3, sources=[SOURCE] * 3)
    values = [score.value for score in load_metric("note").score(cases)]
    assert values == sorted(values, reverse=True)  # type: ignore[type-var]


def test_alone_or_among_others_the_same() -> None:
    cases = make_cases(["Denies fever.", "She has diabetes."], [REFERENCE] * 2)
    metric = load_metric("note")
    assert not depends_on_set(metric)
    assert metric.score(cases)[1] == metric.score(cases[1:])[0]


def test_what_cannot_be_scored_says_why() -> None:
    assert load_metric("note").score([Case("1", "Text.", ())])[0].unscored == "no reference"
    assert (
        load_metric("note").score([Case("1", "Text.", ("…",))])[0].unscored
        == "omission: no fact found in the reference"
    )


def test_a_model_that_estimates_no_facts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(medassay.models, "load", lambda role, spec="embedded": type("Hub", (), {"name": "hub/one"})())
    with pytest.raises(MedassayError, match="hub/one does not estimate facts"):
        load_metric("facts")
