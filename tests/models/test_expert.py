"""Role `expert`: contracts that hold whatever the weights are."""

from __future__ import annotations

import pytest

from medassay.models import load, model_set
from medassay.models.expert import open_expert
from medassay.models.graphs import HOME, ModelSet

REPORT = (
    "FINAL DIAGNOSIS: Left breast, core biopsy: Invasive ductal carcinoma, Nottingham grade 2. "
    "No lymphovascular invasion is seen. Tumor cells are strongly positive for ER and negative for HER2."
)
HOSTILE = ["", " \n\t", "\x00\x01", "😀👩‍⚕️", "سرطان الثدي", "tumor \ud800 of the breast", "???..."]


@pytest.fixture(scope="module")
def models() -> ModelSet:
    if not (HOME / "manifest.json").is_file():
        pytest.skip("needs the embedded weights")
    return model_set()


def test_judgements_stay_on_the_scale_with_their_interval(models: ModelSet) -> None:
    pairs = [
        (REPORT, REPORT),
        (REPORT, "Normal colon."),
        *((REPORT, text) for text in HOSTILE),
        (REPORT * 30, "x " * 5000),
    ]
    judged = open_expert(models).judge(pairs)
    for one in judged:
        assert one.low is not None
        assert one.high is not None
        assert 0.0 <= one.low <= one.score <= one.high <= 5.0
    assert judged[0].score > judged[1].score


def test_judgements_do_not_depend_on_company_or_order(models: ModelSet) -> None:
    pairs = [(REPORT, REPORT), (REPORT, "Normal colon."), ("Kidney: oncocytoma.", REPORT), (REPORT, REPORT)]
    expert = open_expert(models)
    together = expert.judge(pairs)
    assert together[0] == together[-1]
    for pair, judgement in reversed(list(zip(pairs, together))):
        assert expert.judge([pair])[0].score == pytest.approx(judgement.score, abs=2e-3)
    assert expert.judge([]) == []


def test_the_fast_set_answers_by_all_layers(models: ModelSet) -> None:
    """The early head follows shared words: a near copy with another diagnosis would stand above a paraphrase."""
    assert load("expert", "fast").name == f"{models.name}/expert"
    assert not load("expert", "fast").reader.fast
