"""`reg2025` equals the challenge's formula, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
import sacrebleu
from rouge_score.rouge_scorer import RougeScorer

from medassay.cases import Case
from medassay.metrics.reg2025 import Reg2025
from medassay.models import load

CANDIDATE = "Breast, core-needle biopsy; Invasive carcinoma of no special type, grade II."
REFERENCE = "Breast, core-needle biopsy; Invasive carcinoma of no special type, grade III with necrosis."


@pytest.fixture(scope="module")
def metric() -> Reg2025:
    return Reg2025()


def test_the_formula_by_hand(metric: Reg2025) -> None:
    """Keywords: breast, core needle biopsy, the diagnosis and grade 2 against the same with grade 3 and necrosis.

    Three are shared, six are in either: KEY = 3/6.
    """
    (score,) = metric.score([Case("1", CANDIDATE, (REFERENCE,))])
    rouge = RougeScorer(["rougeL"]).score(REFERENCE, CANDIDATE)["rougeL"].fmeasure
    bleu = sacrebleu.BLEU(effective_order=False).sentence_score(CANDIDATE, [REFERENCE]).score / 100
    a, b = load("encoder").embed([CANDIDATE, REFERENCE]).astype(float)
    cosine = float(a @ b / np.sqrt((a @ a) * (b @ b)))
    assert score.parts == pytest.approx({"rouge": rouge, "bleu": bleu, "key": 0.5, "emb": cosine}, abs=1e-6)
    assert score.value == pytest.approx(0.15 * (rouge + bleu) + 0.4 * 0.5 + 0.3 * cosine, abs=1e-6)
    assert score.evidence["only_reference"] == ["grade 3", "necrosis"]


def test_a_copy_has_the_highest_value(metric: Reg2025) -> None:
    (score,) = metric.score([Case("1", REFERENCE, (REFERENCE,))])
    assert score.value == pytest.approx(1.0, abs=1e-5)


def test_bleu_counts_all_four_orders(metric: Reg2025) -> None:
    """A text of three words has no 4-gram, so smoothing alone decides that order: not 1 even for a copy."""
    (score,) = metric.score([Case("1", "Lung, biopsy", ("Lung, biopsy",))])
    assert score.parts["bleu"] == pytest.approx(
        sacrebleu.BLEU(effective_order=False).sentence_score("Lung, biopsy", ["Lung, biopsy"]).score / 100
    )
    assert score.parts["bleu"] < 1


def test_without_keywords_there_is_no_score(metric: Reg2025) -> None:
    (score,) = metric.score([Case("1", "Hello there.", ("Good day.",))])
    assert score.unscored == "neither text has a keyword"


def test_the_signature_names_the_encoder_and_the_list(metric: Reg2025) -> None:
    assert f"encoder:{load('encoder').name}" in metric.signature and "keywords:medassay-1" in metric.signature
