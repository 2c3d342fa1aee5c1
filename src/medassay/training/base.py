"""Domain adaptation: go on with masked words on report text, so that tasks start from a reader of reports."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from medassay.errors import ModelError
from medassay.training.bert import Encoder, SplitEncoder, load_encoder, save_encoder
from medassay.training.loop import Schedule, fit, pick_device, set_seed


class MaskedWords(nn.Module):
    """Encoder and a head that names the hidden word; the output table is the input table (tied)."""

    def __init__(self, encoder: Encoder, table: nn.Embedding) -> None:
        super().__init__()
        self.encoder = encoder
        self.table = [table]
        self.change = nn.Linear(encoder.size, encoder.size)
        self.norm = nn.LayerNorm(encoder.size)
        self.bias = nn.Parameter(torch.zeros(table.num_embeddings))

    def forward(self, ids: Tensor, mask: Tensor, chosen: Tensor) -> Tensor:
        """Scores [chosen, vocabulary] at the flat places `chosen`."""
        hidden = self.encoder(ids, mask, torch.zeros_like(ids))
        picked = hidden.reshape(-1, hidden.shape[-1])[chosen]
        picked = self.norm(F.gelu(self.change(picked)))
        return F.linear(picked, self.table[0].weight.to(picked.dtype), self.bias.to(picked.dtype))


def word_table(encoder: Encoder) -> nn.Embedding:
    """The encoder's table of input words."""
    if isinstance(encoder, SplitEncoder):
        return encoder.trunk.embeddings.word
    return encoder.model.get_input_embeddings()  # type: ignore[no-any-return]


def pack(tokenizer: Any, texts: Sequence[str], length: int) -> NDArray[np.int32]:
    """Texts cut and packed into rows of `length` tokens, each row framed; the last, short row is dropped."""
    cls, sep = (tokenizer.encode("a").ids[i] for i in (0, -1))
    flat: list[int] = []
    for encoding in tokenizer.encode_batch(list(texts), add_special_tokens=False):
        flat += encoding.ids
        flat.append(sep)
    body = length - 2
    rows = len(flat) // body
    table = np.asarray(flat[: rows * body], np.int32).reshape(rows, body)
    frame = np.ones((rows, 1), np.int32)
    return np.concatenate([cls * frame, table, sep * frame], 1)


def continuation_flags(tokenizer: Any) -> NDArray[np.bool_]:
    """For every vocabulary entry: whether it continues a word (`##…`), for masking whole words."""
    flags = np.zeros(tokenizer.get_vocab_size(), bool)
    for token, number in tokenizer.get_vocab().items():
        flags[number] = token.startswith("##")
    return flags


def hide(
    rows: NDArray[np.int32],
    continues: NDArray[np.bool_],
    mask_id: int,
    special: Sequence[int],
    random_state: np.random.Generator,
    share: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Hide `share` of the words, whole: masked rows, the flat places hidden, the ids that stood there.

    Of the hidden pieces 80 % become the mask, 10 % another piece of the rows, 10 % stay (BERT's rule).
    """
    begins = ~continues[rows]
    words = np.cumsum(begins, axis=1, dtype=np.int64)
    draw = random_state.random((rows.shape[0], rows.shape[1] + 1)) < share
    hidden = np.take_along_axis(draw, words, axis=1) & ~np.isin(rows, special)
    out = rows.astype(np.int64)
    fate = random_state.random(rows.shape)
    out[hidden & (fate < 0.8)] = mask_id
    other = hidden & (fate >= 0.8) & (fate < 0.9)
    out[other] = random_state.choice(rows.reshape(-1), int(other.sum()))
    places = np.flatnonzero(hidden.reshape(-1))
    return out, places, rows.reshape(-1)[places].astype(np.int64)


def adapt_base(
    texts: Sequence[str],
    base: str | Path,
    plan: Schedule,
    out: Path | None = None,
    shared: int = -1,
    tokenizer_file: Path | None = None,
    mask_token: str = "[MASK]",
    length: int = 192,
    share: float = 0.2,
    device: torch.device | None = None,
) -> tuple[Encoder, list[float]]:
    """Train `base` on hidden words of `texts`; returns the encoder and the loss of each epoch.

    With `shared` ≥ 0 the embeddings and that many layers stay as they are. The encoder is written to
    `out` as a checkpoint when it is a BERT.
    """
    from tokenizers import Tokenizer

    set_seed(plan.seed)
    device = device or pick_device()
    tokenizer = Tokenizer.from_file(str(tokenizer_file or Path(base) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    rows = pack(tokenizer, texts, length)
    continues = continuation_flags(tokenizer)
    mask_id = tokenizer.token_to_id(mask_token)
    if mask_id is None:
        raise ModelError(f"{base}: the tokenizer has no '{mask_token}'; name its mask token")
    special = [int(rows[0, 0]), int(rows[0, -1])]
    encoder = load_encoder(base, shared)
    model = MaskedWords(encoder, word_table(encoder)).to(device)

    def batches(epoch: int) -> list[NDArray[np.int64]]:
        order = list(range(len(rows)))
        random.Random(plan.seed + epoch).shuffle(order)
        return [np.asarray(order[i : i + plan.batch]) for i in range(0, len(order), plan.batch)]

    state = np.random.default_rng(plan.seed)

    def loss_of(chunk: NDArray[np.int64]) -> Tensor:
        masked, places, answers = hide(rows[chunk], continues, mask_id, special, state, share)
        ids = torch.from_numpy(masked).to(device, non_blocking=True)
        scores = model(ids, torch.ones_like(ids), torch.from_numpy(places).to(device, non_blocking=True))
        return F.cross_entropy(scores.float(), torch.from_numpy(answers).to(device, non_blocking=True))

    losses = fit(model, batches, loss_of, plan)
    if out is not None and isinstance(encoder, SplitEncoder):
        save_encoder(encoder, out)
    return encoder, losses
