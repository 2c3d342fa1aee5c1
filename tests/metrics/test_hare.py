"""HARE: its settings, its embedded models, and texts that are no reports."""

from __future__ import annotations

import pytest

from medassay.cases import make_cases
from medassay.errors import MedassayError
from medassay.metrics.hare import Hare
from medassay.metrics.registry import load_metric
from medassay.models.graphs import HOME


def test_settings_are_checked_and_signed() -> None:
    with pytest.raises(MedassayError, match="mode"):
        Hare(mode="other")  # type: ignore[arg-type]
    assert "mode:paper" not in Hare().signature and "triples" not in Hare().signature


def test_embedded_models_see_the_difference() -> None:
    reference = "Right breast, excision: invasive ductal carcinoma, grade 2. No lymphovascular invasion. ER positive."
    wrong = "Right breast, excision: fibroadenoma. Lymphovascular invasion is present. ER negative."
    cases = make_cases([reference, wrong], [reference, reference])
    copy, other = Hare().score(cases)
    assert copy.value == pytest.approx(1.0)
    assert other.value is not None and other.value < 0.7


TEMPLATE = "Gross: [describe specimen]\nMicroscopy: [describe]\nDiagnosis: [insert diagnosis]"


@pytest.mark.parametrize("name", ["hare", "expert"])
def test_a_template_states_nothing_and_has_zero(name: str) -> None:
    if not (HOME / "manifest.json").is_file():
        pytest.skip("the embedded set has not been built in this checkout")
    (score, unread) = load_metric(name).score(make_cases([TEMPLATE, TEMPLATE], ["Colon: adenocarcinoma.", " "]))
    assert score.value == 0.0
    assert score.evidence["sentences"][0]["note"] == "candidate is only a template: it states nothing"
    assert unread.unscored == "no reference"
