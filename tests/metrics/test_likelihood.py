"""BARTScore and MedBARTScore: the arithmetic by hand on a made model, and the order of errors on the embedded one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from medassay.cases import Case, make_cases
from medassay.errors import MedassayError
from medassay.metrics.likelihood import BartScore, MedBartScore, least_likely
from medassay.metrics.registry import load_metric
from medassay.models.base import TokenLogs


class Counting:
    """A made model: a word has log-probability −1 where the source has it, −3 where not."""

    name = "counting"

    def token_logs(self, pairs: Sequence[tuple[str, str]]) -> list[TokenLogs]:
        made = []
        for source, target in pairs:
            words, offsets, at = target.split(), [], 0
            for word in words:
                start = target.index(word, at)
                at = start + len(word)
                offsets.append((start, at))
            logs = [-1.0 if word in source.split() else -3.0 for word in words]
            made.append(TokenLogs(np.array(logs, np.float32), offsets))
        return made

    def log_likelihood(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        return np.array([one.logs.mean() for one in self.token_logs(pairs)])


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medassay.models.load", lambda role, spec="embedded": Counting(), raising=False)


@pytest.fixture
def case() -> Case:
    return make_cases(["no carcinoma seen here"], ["no carcinoma"], sources=["carcinoma seen"])[0]


@pytest.mark.usefixtures("counting")
def test_each_direction_by_hand(case: Case) -> None:
    # candidate given reference: no, carcinoma −1; seen, here −3. Reference given candidate: both −1.
    # candidate given source: carcinoma, seen −1; no, here −3.
    score = BartScore().score([case])[0]
    assert score.value == score.parts["precision"] == pytest.approx(-2.0)
    assert score.parts == pytest.approx({"precision": -2.0, "recall": -1.0, "f1": -1.5, "faithfulness": -2.0})
    for direction in ("recall", "f1", "faithfulness"):
        value = BartScore(direction=direction).score([case])[0].value
        assert value == pytest.approx(score.parts[direction])
    assert BartScore(formula="printed").score([case])[0].value == pytest.approx(-8.0)


@pytest.mark.usefixtures("counting")
def test_medical_words_count_double(case: Case) -> None:
    # Only `carcinoma` is medical: weights 1 2 1 1 on −1 −1 −3 −3, so −9 in all and −9 / 5 as a mean.
    assert MedBartScore(formula="printed").score([case])[0].value == pytest.approx(-9.0)
    assert MedBartScore().score([case])[0].value == pytest.approx(-9 / 5)
    assert MedBartScore(alpha=0.0).score([case])[0].value == BartScore().score([case])[0].value
    assert "alpha:1.0" in MedBartScore().signature and "direction:precision" in MedBartScore().signature


@pytest.mark.usefixtures("counting")
def test_a_medical_word_at_the_very_start_counts_too() -> None:
    first = make_cases(["carcinoma seen"], ["seen"])
    # weights 2 1 on −3 −1
    assert MedBartScore().score(first)[0].value == pytest.approx(-7 / 3)


@pytest.mark.usefixtures("counting")
def test_lift_is_what_the_given_text_adds(case: Case) -> None:
    # Given nothing, every word has −3; given the reference two of four have −1: (2 + 2 + 0 + 0) / 4.
    score = BartScore(lift=True).score([case])[0]
    assert score.value == pytest.approx(1.0) and score.parts["recall"] == pytest.approx(2.0)
    assert BartScore(lift=True).bounds == (None, None)


@pytest.mark.usefixtures("counting")
def test_what_a_direction_needs() -> None:
    plain = make_cases(["no carcinoma"], ["no carcinoma"])
    assert "faithfulness" not in BartScore().score(plain)[0].parts
    faithful = BartScore(direction="faithfulness")
    assert faithful.needs == {"candidate", "source"}
    assert faithful.score(plain)[0].unscored == "no source"
    with pytest.raises(MedassayError, match=r"direction: 'recal' is not one of .*did you mean 'recall'"):
        BartScore(direction="recal")


@pytest.mark.usefixtures("counting")
def test_evidence_names_the_sentence_and_its_least_likely_words(case: Case) -> None:
    metric = BartScore()
    assert metric.score([case])[0].evidence == {}
    shown = metric.score([case], evidence=True)[0].evidence["sentences"]
    assert shown[0] == {
        "side": "candidate",
        "start": 0,
        "end": 22,
        "score": -2.0,
        "note": "least likely: no, seen, here",
    }
    assert [one["side"] for one in shown] == ["candidate", "reference"]


def test_a_note_shows_whole_words() -> None:
    text = "A pheochromocytoma."
    logs = TokenLogs(np.array([-0.1, -0.2, -9.0, -0.3]), [(0, 1), (2, 7), (7, 18), (18, 19)])
    assert "pheochromocytoma" in str(least_likely(text, logs, "candidate")[0]["note"])


REFERENCE = "Left breast, core biopsy: invasive ductal carcinoma, grade 2. No lymphovascular invasion."
LADDER = [
    REFERENCE,
    "Left breast, core biopsy: invasive ductal carcinoma, grade 3. No lymphovascular invasion.",
    "Left breast, core biopsy: benign fibroadenoma with usual hyperplasia. No lymphovascular invasion.",
    "The patient complains of headache and nausea after a long flight and was given ibuprofen.",
]


@pytest.mark.parametrize("request_", ["bartscore", "medbartscore", "bartscore_r", "bartscore_f"])
def test_correct_above_wrong_fact_above_wrong_disease_above_off_topic(request_: str) -> None:
    values = [score.value for score in load_metric(request_).score(make_cases(LADDER, [REFERENCE] * 4))]
    assert values == sorted(values, reverse=True) and len(set(values)) == 4
    assert all(value is not None and value <= 0 for value in values)
