"""The expert estimate: what needs no model, and what the model adds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import medassay.models
from medassay.cases import make_cases
from medassay.metrics.expert import Expert
from medassay.models.base import Judgement


class Fixed:
    """An expert model that gives every pair 3.5 and keeps the pairs."""

    name = "fixed/expert"

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Judgement]:
        self.pairs += pairs
        return [Judgement(3.5, 3.0, 4.0) for _ in pairs]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Fixed:
    fixed = Fixed()
    monkeypatch.setattr(medassay.models, "load", lambda role, models: fixed)
    return fixed


REPORT = "Colon, biopsy: invasive adenocarcinoma, moderately differentiated."


def test_a_copy_has_the_highest_score_without_the_model(model: Fixed) -> None:
    (score,) = Expert().score(make_cases([REPORT.upper()], [REPORT]))
    assert score.value == 5.0 and score.parts == {"low": 5.0, "high": 5.0}
    assert not model.pairs


def test_the_model_gives_the_score_and_its_interval(model: Fixed) -> None:
    texts = ["Colon, biopsy: tubular adenoma with low-grade dysplasia.", REPORT]
    other, copy = Expert().score(make_cases(texts, [REPORT, REPORT]))
    assert other.value == 3.5 and other.parts == {"low": 3.0, "high": 4.0}
    assert copy.value == 5.0 and len(model.pairs) == 1


def test_a_text_that_is_not_english_is_unscored(model: Fixed) -> None:
    (score,) = Expert().score(make_cases(["Colon, biopsie: adénocarcinome moyennement différencié."], [REPORT]))
    assert score.value is None and "candidate" in (score.unscored or "")
