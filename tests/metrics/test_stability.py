"""Stability: S_s = 1 − ½(Δ_stain + Δ_attack), with failures told apart from changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from medassay.cases import Case
from medassay.errors import MedassayError
from medassay.metrics.stability import Stability

REPORT = "Colon, biopsy: Invasive adenocarcinoma. No lymphovascular invasion is identified."


class Fixed:
    """A distance that is known: by the first word of the other report."""

    name = "fixed"
    roles: tuple[tuple[str, str], ...] = ()

    def settings(self) -> Mapping[str, object]:
        return {}

    def between(self, pairs: Sequence[tuple[str, str]]) -> list[float | str]:
        self.asked = list(pairs)
        return [float(b.split()[0]) if b[0].isdigit() else "no entities found in the other report" for _, b in pairs]


@pytest.fixture
def stability() -> Stability:
    metric = Stability(distance="encoder")
    metric.distance = Fixed()
    return metric


def case(**extra: str | None) -> Case:
    return Case("1", REPORT, extra=extra)


def test_the_formula(stability: Stability) -> None:
    [score] = stability.score([case(candidate_stain="0.2 x", candidate_attack="0.6 x")])
    # 1 − ½(0.2 + 0.6)
    assert score.value == pytest.approx(0.6)
    assert score.parts == {"stain": 0.8, "attack": 0.4, "halves": 2.0}
    assert "partial" not in score.evidence


def test_one_half_alone_is_that_half_and_says_so(stability: Stability) -> None:
    [score] = stability.score([case(candidate_attack="0.6 x")])
    assert score.value == pytest.approx(0.4)
    assert score.parts == {"attack": 0.4, "halves": 1.0}
    assert score.evidence["partial"] == "only attack: no candidate_stain"


@pytest.mark.parametrize("empty", ["", "  \n"])
def test_an_empty_report_is_a_failure_and_never_a_match(stability: Stability, empty: str) -> None:
    [score] = stability.score([case(candidate_stain=empty, candidate_attack=REPORT)])
    assert score.value is None
    assert score.unscored == "stain: the generation failed (candidate_stain is empty)"


def test_a_known_reason_of_a_failure_is_repeated(stability: Stability) -> None:
    [score] = stability.score([case(candidate_stain="", candidate_stain_error="HTTP 500", candidate_attack=REPORT)])
    assert score.unscored == "stain: the generation failed (HTTP 500)"


def test_nothing_generated_is_not_assessed(stability: Stability) -> None:
    scores = stability.score([case(), case(candidate_stain=None)])
    assert {score.unscored for score in scores} == {"no candidate_stain and no candidate_attack"}


def test_a_report_without_content_is_not_assessed(stability: Stability) -> None:
    [score] = stability.score([case(candidate_stain="I cannot help.", candidate_attack=REPORT)])
    assert score.unscored == "stain: no entities found in the other report"


def test_equal_reports_need_no_model(stability: Stability) -> None:
    [score] = stability.score([case(candidate_stain=REPORT, candidate_attack=REPORT.replace(" ", "\n"))])
    assert score.value == 1.0
    assert stability.distance.asked == []  # type: ignore[attr-defined]


def test_hare_sees_a_turned_negation_and_another_diagnosis() -> None:
    reworded = "Biopsy of the colon shows an invasive adenocarcinoma; lymphovascular invasion is not seen."
    turned = REPORT.replace("No lymphovascular", "Lymphovascular")
    other = REPORT.replace("Invasive adenocarcinoma", "Chronic active colitis")
    cases = [case(candidate_stain=text) for text in (reworded, turned, other)]
    same, negated, wrong = [score.value for score in Stability().score(cases)]
    assert same is not None and negated is not None and wrong is not None
    assert same > 0.9 > negated + 0.05
    assert negated > wrong


def test_the_distance_goes_both_ways() -> None:
    metric = Stability()
    pair = (REPORT, "Colon, biopsy: Invasive adenocarcinoma with necrosis. Lymph nodes are free.")
    there, back = metric.distance.between([pair, pair[::-1]])
    assert there == pytest.approx(back)
    assert 0 < there < 1  # type: ignore[operator]


def test_the_signature_names_the_distance() -> None:
    assert "distance:hare-clinical|models:embedded" in str(Stability().signature)
    assert "distance:encoder" in str(Stability(distance="encoder").signature)
    with pytest.raises(MedassayError, match="distance"):
        Stability(distance="cosine")


def test_the_mode_chooses_the_distance_and_a_distance_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    from medassay.metrics import stability as module

    monkeypatch.setattr(module, "HareDistance", lambda models: Fixed())
    monkeypatch.setattr(module, "EncoderDistance", lambda models: _Named("encoder"))
    assert Stability().distance.name == Fixed().name
    assert Stability(mode="paper").distance.name == "encoder"
    assert Stability(mode="paper", distance="hare").distance.name == Fixed().name
    assert "mode:paper|distance:encoder" in Stability(mode="paper").signature


class _Named(Fixed):
    def __init__(self, name: str) -> None:
        self.name = name
