"""Likelihoods of transformers models, checked against the library called by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medassay.errors import ModelError
from medassay.models.hub import load_hub
from medassay.models.likelihood import SEEN

from .conftest import VOCABULARY, write_tokenizer

pytestmark = pytest.mark.hf
Maker = Callable[[str], Path]

SHORT = ("cd20 is positive in the left breast", "no tumour of the left kidney")
LONG = "high grade necrosis of the left breast is possible . " * 30


@pytest.fixture
def language_model(tmp_path: Path) -> Maker:
    """Save a small random BART or GPT-2 that reads rows of 64 tokens."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")

    def make(kind: str) -> Path:
        torch.manual_seed(3)
        special = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
        if kind == "bart":
            config = transformers.BartConfig(
                vocab_size=len(VOCABULARY),
                d_model=32,
                encoder_layers=2,
                decoder_layers=2,
                encoder_attention_heads=2,
                decoder_attention_heads=2,
                encoder_ffn_dim=64,
                decoder_ffn_dim=64,
                max_position_embeddings=64,
                decoder_start_token_id=3,
                init_std=0.3,
                **special,
            )
            model = transformers.BartForConditionalGeneration(config)
        else:
            config = transformers.GPT2Config(
                vocab_size=len(VOCABULARY), n_embd=32, n_layer=2, n_head=2, n_positions=64, **special
            )
            config.initializer_range = 0.3
            model = transformers.GPT2LMHeadModel(config)
        folder = tmp_path / kind
        model.eval().save_pretrained(folder)
        write_tokenizer(folder)
        return folder

    return make


def opened(folder: Path, kind: str) -> tuple[Any, Any]:
    import transformers

    return (
        transformers.AutoTokenizer.from_pretrained(folder),
        getattr(transformers, kind).from_pretrained(folder).eval(),
    )


def test_a_sequence_model_gives_bartscore(language_model: Maker) -> None:
    # As BARTScore's own code has it: the loss of the labels, frame tokens among them, averaged over them.
    import torch

    folder = language_model("bart")
    tokenizer, model = opened(folder, "AutoModelForSeq2SeqLM")
    source, target = (tokenizer(text, return_tensors="pt")["input_ids"] for text in SHORT)
    with torch.inference_mode():
        expected = -float(model(input_ids=source, labels=target).loss)
    role = load_hub("likelihood", str(folder))
    assert role.log_likelihood([SHORT])[0] == pytest.approx(expected, abs=1e-5)
    logs = role.token_logs([SHORT])[0]
    assert len(logs.logs) == len(logs.offsets) == target.shape[1]
    assert logs.offsets[0] == logs.offsets[-1] == (0, 0)
    assert [SHORT[1][a:b] for a, b in logs.offsets[1:-1]] == SHORT[1].split()


def test_a_causal_model_writes_on_after_an_empty_line(language_model: Maker) -> None:
    import torch

    folder = language_model("gpt")
    tokenizer, model = opened(folder, "AutoModelForCausalLM")
    source, between, target = (
        tokenizer(text, add_special_tokens=False)["input_ids"] for text in (SHORT[0], "\n\n", SHORT[1])
    )
    before = tokenizer("a")["input_ids"][:1]
    row = [*before, *source, *between, *target]
    with torch.inference_mode():
        logs = model(input_ids=torch.tensor([row])).logits[0].log_softmax(-1)
    expected = [float(logs[i - 1, row[i]]) for i in range(len(row) - len(target), len(row))]
    role = load_hub("likelihood", str(folder))
    np.testing.assert_allclose(role.token_logs([SHORT])[0].logs, expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["bart", "gpt"])
def test_any_length_and_any_company(language_model: Maker, kind: str) -> None:
    role = load_hub("likelihood", str(language_model(kind)))
    pairs = [SHORT, (LONG, SHORT[1]), (SHORT[0], LONG), (LONG, LONG), ("", SHORT[1]), (SHORT[0], "")]
    together = role.token_logs(pairs)
    for pair, logs in zip(pairs, together):
        alone = role.token_logs([pair])[0]
        np.testing.assert_allclose(logs.logs, alone.logs, atol=1e-4)
        assert len(logs.logs) == len(logs.offsets)
        assert np.all(logs.logs <= 0) and np.all(np.isfinite(logs.logs))
        # Every word of the target was foretold, none left out.
        words = {pair[1][a:b] for a, b in logs.offsets if b > a}
        assert words == set(pair[1].split())
    means = role.log_likelihood(pairs)
    assert np.isnan(means[-1]) and not np.isnan(means[:-1]).any()


def test_what_was_not_read_again_is_as_likely_as_in_one_row(language_model: Maker) -> None:
    # A target of two rows: the first row's tokens are those of the target cut there.
    role = load_hub("likelihood", str(language_model("bart")))
    words = LONG.split()
    room = role.target_room
    first = " ".join(words[:room])
    whole, cut = role.token_logs([(SHORT[0], LONG), (SHORT[0], first)])
    np.testing.assert_allclose(whole.logs[: room + 1], cut.logs[: room + 1], atol=1e-5)
    assert len(whole.logs) == len(words) + 2


def test_of_a_very_long_source_each_row_sees_its_own_part(language_model: Maker) -> None:
    role = load_hub("likelihood", str(language_model("bart")))
    logs = role.token_logs([(LONG * 30, LONG)])[0]
    assert len(LONG.split()) * 30 > SEEN
    assert len(logs.logs) == len(LONG.split()) + 2 and np.all(np.isfinite(logs.logs))


def test_an_encoder_is_refused(tiny: Callable[..., Path]) -> None:
    with pytest.raises(ModelError, match="ForConditionalGeneration or …ForCausalLM"):
        load_hub("likelihood", str(tiny("BertModel")))
