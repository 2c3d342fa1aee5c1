"""Role `nli`: the combination by hand, labels of other people's models, and the hub's answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.errors import ModelError
from medassay.language.verdict import CONTRADICTS, ENTAILS, Verdict
from medassay.models.hub_nli import label_order
from medassay.models.nli import FEATURES, LABELS, combine, features

WEIGHTS = np.zeros((3, len(FEATURES)))
WEIGHTS[[0, 1, 2], [0, 1, 2]] = 1.0


def test_without_rules_the_cross_encoder_passes_through() -> None:
    chances = np.array([0.2, 0.5, 0.3], np.float32)
    assert combine(chances, [0.0] * 9, WEIGHTS) == pytest.approx((0.2, 0.5, 0.3), abs=1e-6)


def test_a_rule_shifts_its_class() -> None:
    weights = WEIGHTS.copy()
    weights[2, FEATURES.index("contradicts by structure")] = 2.0
    rules = [0.9, *[0.0] * 8]
    # odds of contradiction are multiplied by e^(2 * 0.9)
    odds = 0.3 * np.exp(1.8)
    expected = odds / (0.2 + 0.5 + odds)
    assert combine(np.array([0.2, 0.5, 0.3]), rules, weights)[2] == pytest.approx(expected, abs=1e-6)


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.lists(st.floats(0, 1), min_size=9, max_size=9))
def test_probabilities_always(chances: list[float], rules: list[float]) -> None:
    made = combine(np.array(chances), rules, WEIGHTS)
    assert sum(made) == pytest.approx(1.0)
    assert all(0.0 <= one <= 1.0 for one in made)


def test_features_take_the_greatest_weight_of_each_family() -> None:
    found = [
        Verdict(CONTRADICTS, "marker", (0, 1), (0, 1), 0.9),
        Verdict(CONTRADICTS, "number", (0, 1), (0, 1), 0.6),
        Verdict(ENTAILS, "profile", (0, 1), (0, 1), 0.7),
    ]
    rules = features(("Ki-67 pending", "Ki-67 in another patient"), found)
    assert rules[:6] == [0.9, 0.0, 0.0, 0.0, 0.0, 0.7]
    assert rules[6:8] == [1.0, 1.0]
    assert 0.0 < rules[8] <= 1.0
    assert len(rules) + len(LABELS) + 1 == len(FEATURES)


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (["entailment", "neutral", "contradiction"], [0, 1, 2]),
        (["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], [2, 1, 0]),
        (["contradicts", "entails", "is_neutral"], [1, 2, 0]),
    ],
)
def test_the_order_of_labels_is_read(labels: list[str], order: list[int]) -> None:
    assert label_order(labels, "model") == order


@pytest.mark.parametrize("labels", [["LABEL_0", "LABEL_1", "LABEL_2"], ["entailment", "not_entailment"], ["yes"]])
def test_labels_that_do_not_say_what_they_mean(labels: list[str]) -> None:
    with pytest.raises(ModelError, match="id2label"):
        label_order(labels, "model")


@pytest.mark.hf
def test_a_hub_model_answers_as_the_library_does(tiny: Callable[..., Path]) -> None:
    import torch
    import transformers

    from medassay.models.hub import load_hub

    folder = tiny("BertForSequenceClassification", ["contradiction", "entailment", "neutral"])
    pairs = [
        ("no tumour", "invasive carcinoma"),
        ("left breast", "the left breast is positive"),
        ("no tumour", "invasive carcinoma"),
    ]
    made = load_hub("nli", str(folder)).probabilities(pairs)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        for row, pair in zip(made, pairs, strict=True):
            logits = model(**tokenizer(*pair, return_tensors="pt")).logits[0]
            expected = torch.softmax(logits, -1).numpy()[[1, 2, 0]]
            np.testing.assert_allclose(row, expected, atol=1e-5)
    assert load_hub("nli", str(folder)).probabilities([]).shape == (0, 3)
