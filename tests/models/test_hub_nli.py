"""Role `nli` on transformers models: the labels of other projects' models, and the library's own answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from medassay.errors import ModelError
from medassay.models.hub_nli import label_order


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
