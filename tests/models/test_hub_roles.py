"""Roles encoder, align, ner and expert on transformers models, checked against the library called by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medassay.errors import ModelError
from medassay.models.hub import load_hub

from .conftest import BIO, MEANINGS, by_hand

pytestmark = pytest.mark.hf


Tiny = Callable[..., Path]


Dictionary = Callable[[dict[str, str], Sequence[str]], Path]


@pytest.mark.parametrize(("role", "first"), [("encoder", False), ("align", True)])
def test_pooling_by_role(tiny: Tiny, role: str, first: bool) -> None:
    folder = tiny("BertModel")
    states = by_hand(folder, "AutoModel", "cd20 is positive").last_hidden_state[0].numpy()
    expected = states[0] if first else states.mean(0)
    vectors = load_hub(role, str(folder)).embed(["cd20 is positive"])
    np.testing.assert_allclose(vectors[0], expected / np.linalg.norm(expected), atol=1e-5)


@pytest.mark.parametrize(("mode", "first"), [("pooling_mode_cls_token", True), ("pooling_mode_mean_tokens", False)])
def test_pooling_as_sentence_transformers_wrote_it(tiny: Tiny, mode: str, first: bool) -> None:
    folder = tiny("BertModel")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({mode: True}))
    states = by_hand(folder, "AutoModel", "no tumour").last_hidden_state[0].numpy()
    expected = states[0] if first else states.mean(0)
    for role in ("encoder", "align"):
        vector = load_hub(role, str(folder)).embed(["no tumour"])[0]
        np.testing.assert_allclose(vector, expected / np.linalg.norm(expected), atol=1e-5)


def test_other_pooling_is_refused(tiny: Tiny) -> None:
    folder = tiny("BertModel")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(ModelError, match="only cls and mean pooling"):
        load_hub("encoder", str(folder))


def test_vectors_do_not_depend_on_company_or_order(tiny: Tiny) -> None:
    model = load_hub("encoder", str(tiny("BertModel")))
    texts = ["cd20 is positive", "", "no tumour of the left breast " * 40, "ki", "cd20 is positive", "\x00😀\ud800"]
    together = model.embed(texts)
    assert together.shape == (6, 32)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)
    model.cache.clear()
    alone = np.concatenate([model.embed([text]) for text in reversed(texts)])[::-1]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert model.embed([]).shape == (0, 32)


def test_labels_become_spans_of_the_text_as_given(dictionary: Dictionary) -> None:
    model = load_hub("ner", str(dictionary(MEANINGS, BIO)))
    text = "  CD20 is strongly positive,\n LEFT breast; Ki"
    spans = model.spans([text])[0]
    assert [(text[s.start : s.end], s.type) for s in spans] == [
        ("CD20", "marker"),
        ("LEFT breast", "site"),
        ("Ki", "marker"),
    ]
    assert all(0.999 < s.score <= 1.0 for s in spans)


def test_a_word_is_labelled_by_the_mean_of_its_pieces(dictionary: Dictionary) -> None:
    # "cab" is read as c, ##a, ##b: two pieces of three say marker.
    model = load_hub("ner", str(dictionary({"##a": "I-IHC marker", "##b": "I-IHC marker"}, BIO)))
    spans = model.spans(["is cab positive"])[0]
    assert [(s.start, s.end, s.type) for s in spans] == [(3, 6, "marker")]
    assert spans[0].score == pytest.approx(2 / 3, abs=1e-3)


def test_long_texts_keep_their_offsets_and_every_entity(dictionary: Dictionary) -> None:
    model = load_hub("ner", str(dictionary(MEANINGS, BIO)))
    sentence = "the tumour of the left breast is cd20 positive "
    for text in (sentence * 60, (sentence.strip() + ". ") * 60, "cd20" + " is" * 4000 + " ki"):
        spans = model.spans([text])[0]
        found = [text[s.start : s.end] for s in spans]
        assert found.count("left breast") == text.count("left breast")
        assert found.count("cd20") == text.count("cd20")
        assert all(a.end <= b.start for a, b in pairwise(spans))


def test_unknown_types_and_empty_texts_give_no_span(dictionary: Dictionary) -> None:
    model = load_hub("ner", str(dictionary({"lung": "B-Person", "ki": "B-IHC marker"}, BIO)))
    hostile = "\x00\u202e😀 ki \ud800"
    spans = model.spans(["", " ", "lung", hostile])
    assert spans[:3] == [[], [], []]
    assert [hostile[s.start : s.end] for s in spans[3]] == ["ki"]


def test_labels_without_names_are_refused(tiny: Tiny) -> None:
    with pytest.raises(ModelError, match="id2label"):
        load_hub("ner", str(tiny("BertForTokenClassification", ["LABEL_0", "LABEL_1"])))


@pytest.mark.parametrize(
    ("config", "to_score"),
    [
        ({"problem_type": "regression"}, lambda x: x),
        (
            {"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}},
            lambda x: 5 / (1 + np.exp(-x)),
        ),
        ({"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}, lambda x: x),
    ],
)
def test_the_expert_reads_its_scale_from_the_folder(
    tiny: Tiny, config: dict[str, Any], to_score: Callable[[float], float]
) -> None:
    folder = tiny("BertForSequenceClassification", ["LABEL_0"], **config)
    pairs = [("no tumour", "tumour of the lung"), ("cd20 is positive", "cd20 is negative"), ("no tumour", "ki")]
    judged = load_hub("expert", str(folder)).judge([*pairs, pairs[0]])
    for pair, judgement in zip([*pairs, pairs[0]], judged):
        raw = float(by_hand(folder, "AutoModelForSequenceClassification", *pair).logits[0, 0])
        assert judgement.score == pytest.approx(min(max(to_score(raw), 0.0), 5.0), abs=1e-4)
        assert (judgement.low, judgement.high) == (None, None)


def test_the_expert_reads_long_and_empty_texts(tiny: Tiny) -> None:
    model = load_hub("expert", str(tiny("BertForSequenceClassification", ["LABEL_0"], problem_type="regression")))
    judged = model.judge([("no tumour. " * 300, "lung " * 300), ("", ""), ("\ud800", "x" * 1000)])
    assert all(0.0 <= one.score <= 5.0 for one in judged)


def test_an_expert_without_a_scale_or_with_many_outputs_is_refused(tiny: Tiny) -> None:
    with pytest.raises(ModelError, match="does not say what the output means"):
        load_hub("expert", str(tiny("BertForSequenceClassification", ["LABEL_0"])))
    with pytest.raises(ModelError, match=r"one output, this one has 2 \(no, yes\)"):
        load_hub("expert", str(tiny("BertForSequenceClassification", ["no", "yes"], where="two")))
