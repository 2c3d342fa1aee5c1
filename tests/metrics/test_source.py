"""Hallucination and omission: facts checked one by one, and quoted."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.cases import Case, make_cases
from medassay.metrics.registry import load_metric
from medassay.metrics.source import Hallucination, Weights
from medassay.scores import Score

DIALOGUE = (
    "Doctor: How old are you? Patient: Fifty nine. Doctor: Any fever or chills? Patient: No. "
    "Doctor: What do you take? Patient: Lisinopril, twenty milligrams a day."
)
REFERENCE = "The patient is a 59-year-old who denies fever and chills. She takes lisinopril 20 mg daily."
FAITHFUL = "59-year-old patient. Denies fever, chills. Takes lisinopril 20 mg."
INVENTED = FAITHFUL + " She has diabetes and a family history of melanoma."


def rate(name: str, candidate: str, reference: str | None = REFERENCE, source: str | None = DIALOGUE) -> float:
    case = Case("1", candidate, (reference,) if reference else (), source=source)
    value = load_metric(name).score([case])[0].value
    assert value is not None
    return value


@pytest.mark.parametrize(("reference", "source"), [(REFERENCE, DIALOGUE), (REFERENCE, None), (None, DIALOGUE)])
def test_an_invention_raises_the_rate(reference: str | None, source: str | None) -> None:
    assert (
        rate("hallucination", INVENTED, reference, source) > rate("hallucination", FAITHFUL, reference, source) + 0.02
    )


@pytest.mark.parametrize(("reference", "source"), [(REFERENCE, None), (None, DIALOGUE)])
def test_leaving_out_raises_the_rate(reference: str | None, source: str | None) -> None:
    assert rate("omission", "Denies fever.", reference, source) > rate("omission", FAITHFUL, reference, source) + 0.1


def test_the_invented_fact_is_quoted_with_what_is_found_nowhere() -> None:
    score = load_metric("hallucination").score(make_cases([INVENTED], [REFERENCE], sources=[DIALOGUE]))[0]
    quoted = {INVENTED[one["start"] : one["end"]]: one["note"] for one in score.evidence["sentences"]}
    assert "She has diabetes" in quoted
    assert quoted["She has diabetes"] == "not borne out: diabetes"
    assert any("melanoma" in said for said in quoted)
    assert not any("fever" in said or "lisinopril" in said for said in quoted)
    assert score.parts["facts"] == 6


def test_the_missing_fact_is_quoted_from_the_reference() -> None:
    score = load_metric("omission").score(make_cases(["59-year-old, denies fever and chills."], [REFERENCE]))[0]
    quoted = [REFERENCE[one["start"] : one["end"]] for one in score.evidence["sentences"]]
    assert any("lisinopril" in said for said in quoted)
    assert not any("fever" in said for said in quoted)
    assert {one["side"] for one in score.evidence["sentences"]} == {"reference"}


def test_of_several_references_any_bears_out_and_the_nearest_counts() -> None:
    cases = [Case("1", "She has diabetes.", ("Denies fever.", "The patient has diabetes."))]
    hallucination, omission = (load_metric(name).score(cases)[0] for name in ("hallucination", "omission"))
    alone = load_metric("hallucination").score([Case("1", "She has diabetes.", ("Denies fever.",))])[0]
    assert hallucination.value is not None and alone.value is not None and hallucination.value < alone.value
    assert omission.value == rate("omission", "She has diabetes.", "The patient has diabetes.", None)


def test_without_anything_to_check_against() -> None:
    for name in ("hallucination", "omission"):
        score = load_metric(name).score([Case("1", "She has diabetes.", ())])[0]
        assert score.unscored == "no source and no reference; it needs one of them"
    assert load_metric("omission").score([Case("1", "Text.", ("...",))])[0].unscored == "no fact found in the reference"


def test_another_language_is_not_scored() -> None:
    spanish = "El paciente niega fiebre y escalofríos y toma lisinopril todos los días por la mañana."
    for name in ("hallucination", "omission"):
        score = load_metric(name).score(make_cases(["Denies fever."], [spanish]))[0]
        assert score.unscored == "reference is not English"


def test_a_rate_by_hand() -> None:
    # risk = 1 / (1 + e^0) = 0.5; two facts with a prior of two: 2 × 0.5² / 4 = 0.125
    weights = Weights(("words",), (-1.0,), 1.0, prior=2.0, power=2.0)
    assert weights.risk({"words": 1.0}) == 0.5
    assert weights.rate([0.5, 0.5]) == 0.125
    assert math.isclose(weights.risk({"words": 1000.0}), 0.0, abs_tol=1e-20)


@given(st.text(max_size=120), st.text(max_size=120))
def test_always_a_share_or_a_reason(candidate: str, reference: str) -> None:
    for name in ("hallucination", "omission"):
        score = load_metric(name).score([Case("1", candidate, (reference,) if reference.strip() else ())])[0]
        assert score.unscored is not None or 0.0 <= score.value <= 1.0  # type: ignore[operator]


class Follows:
    """An entailment model that answers the same to everything and remembers what it was asked."""

    name = "made"

    def __init__(self, answer: tuple[float, float, float]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str]] = []

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        self.asked += pairs
        return np.array([self.answer] * len(pairs), np.float32).reshape(-1, 3)


def with_model(model: Follows) -> Score:
    metric = Hallucination()
    metric.nli = model
    return metric.score(make_cases([INVENTED], [REFERENCE], sources=[DIALOGUE]))[0]


def test_entailment_is_asked_of_doubted_facts_alone_and_lowers_their_risk() -> None:
    model = Follows((1.0, 0.0, 0.0))
    asked, plain = with_model(model), rate("hallucination", INVENTED)
    assert {fact for _, fact in model.asked} >= {"She has diabetes"}
    assert not any("fever" in fact for _, fact in model.asked)
    # Risks are halved and squared in the rate: a quarter is left of the doubted facts' share.
    assert asked.value is not None and plain / 4 - 1e-9 <= asked.value < plain / 3


def test_a_contradiction_is_named() -> None:
    quoted = with_model(Follows((0.0, 0.1, 0.9))).evidence["sentences"]
    assert {one["note"].partition(":")[0] for one in quoted} == {"contradicted"}
    assert with_model(Follows((0.0, 1.0, 0.0))).value == rate("hallucination", INVENTED)
