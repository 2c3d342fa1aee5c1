"""Roles on transformers models, checked against the library called by hand."""

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
from medassay.models.hub_relations import mark
from medassay.spans import Span

from .conftest import VOCABULARY, write_tokenizer

pytestmark = pytest.mark.hf
Tiny = Callable[..., Path]
Dictionary = Callable[[dict[str, str], Sequence[str]], Path]

BIO = ["O", "B-Anatomical_Site", "I-Anatomical_Site", "B-IHC marker", "I-IHC marker", "B-Person"]
MEANINGS = {"left": "B-Anatomical_Site", "breast": "I-Anatomical_Site", "cd20": "B-IHC marker", "ki": "B-IHC marker"}


def by_hand(folder: Path, kind: str, *texts: str) -> Any:
    """The library's own answer to one text or pair."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = getattr(transformers, kind).from_pretrained(folder).eval()
    with torch.inference_mode():
        return model(**tokenizer(*texts, return_tensors="pt"))


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


def test_a_fetched_model_is_found_by_its_name(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = "0123456789" * 4
    store = tmp_path / "cache" / "models--some--model"
    (store / "refs").mkdir(parents=True)
    (store / "refs" / "main").write_text(commit)
    folder = tiny("BertModel", where=f"cache/models--some--model/snapshots/{commit}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    model = load_hub("encoder", "some/model")
    assert model.name == "some/model@01234567"
    np.testing.assert_array_equal(model.embed(["ki"]), load_hub("encoder", str(folder)).embed(["ki"]))


def test_the_paper_family_of_encoders_is_read(tmp_path: Path) -> None:
    """GatorTron is a Megatron BERT."""
    transformers = pytest.importorskip("transformers")
    config = transformers.MegatronBertConfig(
        vocab_size=len(VOCABULARY), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64
    )
    transformers.MegatronBertModel(config).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    assert load_hub("encoder", str(tmp_path)).embed(["cd20 is weak", ""]).shape == (2, 32)


def test_labels_without_names_are_refused(tiny: Tiny) -> None:
    with pytest.raises(ModelError, match="id2label"):
        load_hub("ner", str(tiny("BertForTokenClassification", ["LABEL_0", "LABEL_1"])))


TEXT = "cd20 is strongly positive, ki is weak."
SPANS = [
    Span(0, 4, "marker", 1.0),
    Span(8, 25, "modifier", 1.0),
    Span(27, 29, "marker", 1.0),
    Span(33, 37, "modifier", 1.0),
]


def chances_by_hand(folder: Path, first: Span, second: Span, output: int) -> float:
    marked = mark(TEXT, (first.start, first.end), (second.start, second.end))
    logits = by_hand(folder, "AutoModelForSequenceClassification", marked).logits[0]
    return float(logits.softmax(-1)[output])


def test_relations_are_what_the_marked_text_gives(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medassay.models.hub_relations.RELATED", 0.0)
    folder = tiny("BertForSequenceClassification", ["NO_REL", "Relation"])
    reading = load_hub("re", str(folder)).read([TEXT], [SPANS])[0]
    assert reading.assertions == ()
    assert [(k.head, k.tail) for k in reading.links] == [(0, 1), (0, 3), (2, 1), (2, 3)]
    assert {k.type for k in reading.links} == {"marker_modifier"}
    for link in reading.links:
        head, tail = SPANS[link.head], SPANS[link.tail]
        surer = max(chances_by_hand(folder, head, tail, 1), chances_by_hand(folder, tail, head, 1))
        assert link.score == pytest.approx(surer, abs=1e-5)


def test_a_label_that_names_its_types_fixes_the_order(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medassay.models.hub_relations.RELATED", 0.0)
    folder = tiny("BertForSequenceClassification", ["modifier-marker", "none"])
    links = load_hub("re", str(folder)).read([TEXT], [SPANS])[0].links
    assert links[0].score == pytest.approx(chances_by_hand(folder, SPANS[1], SPANS[0], 0), abs=1e-5)


def test_incompatible_and_distant_pairs_are_never_asked(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medassay.models.hub_relations.RELATED", 0.0)
    model = load_hub("re", str(tiny("BertForSequenceClassification", ["NO_REL", "Relation"])))
    far = "cd20." + " no tumour of the lung." * 60 + " weak"
    spans = [Span(0, 4, "marker", 1.0), Span(len(far) - 4, len(far), "modifier", 1.0)]
    two_sites = [Span(0, 4, "site", 1.0), Span(8, 25, "modifier", 1.0)]
    assert [reading.links for reading in model.read([far, TEXT, ""], [spans, two_sites, []])] == [(), (), ()]


def test_equal_questions_are_asked_once(tiny: Tiny) -> None:
    model = load_hub("re", str(tiny("BertForSequenceClassification", ["NO_REL", "Relation"])))
    rows: list[int] = []
    rows_of = model.network.rows_of
    model.network.rows_of = lambda texts: (rows.append(len(texts)), rows_of(texts))[1]
    first, second = model.read([TEXT, TEXT], [SPANS[:2], SPANS[:2]])
    assert first == second
    assert rows == [2]  # one pair, in both orders
    assert model.read([TEXT], [SPANS[:2]]) == [first]
    assert rows == [2]  # a later call of the same run asks nothing again


def test_half_precision_answers_are_close(tiny: Tiny, dictionary: Dictionary) -> None:
    """What runs on a GPU, on the CPU: every role takes the model's half-precision outputs."""
    folders = {
        "encoder": tiny("BertModel"),
        "ner": dictionary(MEANINGS, BIO),
        "expert": tiny("BertForSequenceClassification", ["LABEL_0"], "expert", problem_type="regression"),
    }
    whole, half = (
        {role: load_hub(role, str(folder), dtype=dtype) for role, folder in folders.items()}
        for dtype in ("float32", "bfloat16")
    )
    texts, pairs = ["cd20 is weak"], [("no tumour", "tumour")]
    np.testing.assert_allclose(half["encoder"].embed(texts), whole["encoder"].embed(texts), atol=0.05)
    found = [[(s.start, s.end, s.type) for s in some["ner"].spans(["left breast"])[0]] for some in (whole, half)]
    assert found[0] == found[1] != []
    scores = [some["expert"].judge(pairs)[0].score for some in (whole, half)]
    assert scores[1] == pytest.approx(scores[0], abs=0.1)


def test_an_untrained_head_is_refused(tiny: Tiny) -> None:
    folder = tiny("BertModel")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["BertForTokenClassification"]}))
    with pytest.raises(ModelError, match=r"weights lack classifier.* not trained for the role 'ner'"):
        load_hub("ner", str(folder))


def test_broken_weights_and_tokenizers_are_named(tiny: Tiny) -> None:
    folder = tiny("BertModel")
    (folder / "model.safetensors").write_bytes(b"\x01" * 100)
    with pytest.raises(ModelError, match="its weights cannot be opened"):
        load_hub("encoder", str(folder))
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match="its tokenizer cannot be opened"):
        load_hub("encoder", str(folder))


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


def test_other_families_of_models_read_any_length(tmp_path: Path) -> None:
    """Byte-level pieces with the space inside, and positions counted from after the padding index."""
    transformers = pytest.importorskip("transformers")
    from tokenizers import ByteLevelBPETokenizer

    backend = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    backend.train_from_iterator(["cd20 is positive in the left breast"] * 9, vocab_size=320, special_tokens=special)
    tokenizer = transformers.RobertaTokenizerFast(tokenizer_object=backend._tokenizer, model_max_length=10**9)
    config = transformers.RobertaConfig(
        vocab_size=320,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=66,
        type_vocab_size=1,
        id2label={0: "site", 1: "marker"},
        label2id={"site": 0, "marker": 1},
    )
    torch = pytest.importorskip("torch")
    torch.manual_seed(7)
    transformers.RobertaForTokenClassification(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model = load_hub("ner", str(tmp_path))
    assert model.network.limit == 64
    text = "cd20 is positive in the left breast é😀 " * 50
    spans = model.spans([text])[0]
    assert spans[0].start == 0
    assert all(text[s.start : s.end] == text[s.start : s.end].strip() != "" for s in spans)
