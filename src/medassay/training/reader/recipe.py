"""The reader from the data folder and the corpus to the files of a model set, in three steps.

`prepare` needs no GPU and writes a small folder; `train` reads that folder alone and needs one; `export` writes the
graph and the tables. The steps are apart because the machine that trains often has neither the data nor a network.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from medassay.models import load
from medassay.training.reader.material import Pair, medical_texts, quality_pairs, read_pairs
from medassay.training.reader.pack import Encoded, Excerpts, expanded, pack
from medassay.training.reader.shards import read_shards, write_shards

TEXT_LENGTH = 256
"""Tokens of a row of plain text that the encoder is adapted on."""


def prepare(data: Path, corpus: Path, base: Path, folder: Path, seed: int = 1) -> None:
    """Write what `train` needs: packed pairs, plain texts and the base's weights.

    Args:
        data: the data folder. corpus: the corpus of this repository.
        base: folder of an MPNet (model.safetensors, tokenizer.json), as all-mpnet-base-v2.
        folder: where to write.
    """
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer: Any = Tokenizer.from_file(str(base / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def encode(texts: Sequence[str]) -> list[Encoded]:
        found = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [Encoded(each.ids, each.offsets) for each in found]

    pairs = [*read_pairs(data, corpus), *_with_quality(quality_pairs(data))]
    rows = list(expanded(pairs, Excerpts(load("encoder").embed), seed))
    pack(rows, encode, folder / "pairs.npz")
    np.savez_compressed(folder / "texts.npz", ids=text_rows(encode(medical_texts(data, corpus, seed))))
    write_shards(load_file(str(base / "model.safetensors")), folder, "base")


def _with_quality(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs with the quality that the present model set gives them: the new set's head starts from it."""
    scores = load("quality").scores([(pair.text, pair.statement) for pair in pairs])
    return [replace(pair, quality=float(min(max(score, 0.0), 1.0))) for pair, score in zip(pairs, scores)]


def text_rows(encoded: Sequence[Encoded]) -> Any:
    """Plain texts end to end as rows of one length."""
    ids = np.concatenate([np.array([0, *each.ids[:4000], 2], np.uint16) for each in encoded])
    rows = ids[: len(ids) // TEXT_LENGTH * TEXT_LENGTH].reshape(-1, TEXT_LENGTH).copy()
    rows[:, 0] = 0
    return rows


def train(folder: Path, out: Path, *, adapt_passes: int = 3, passes: float = 3.0, seconds: float | None = None) -> None:
    """Train the reader and write its weights, its answers for the held-out rows and the figures."""
    import torch

    from medassay.training.reader.figures import figures
    from medassay.training.reader.model import from_mpnet
    from medassay.training.reader.train import Packed, Recipe, adapt, answers
    from medassay.training.reader.train import train as train_reader

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_float32_matmul_precision("high")
    recipe = Recipe(passes=passes, seconds=seconds)
    torch.manual_seed(recipe.seed)
    reader = from_mpnet({name: torch.from_numpy(value) for name, value in read_shards(folder, "base").items()})
    if adapt_passes:
        with np.load(folder / "texts.npz", allow_pickle=False) as texts:
            adapt(reader, np.concatenate([texts["ids"]] * adapt_passes), device, seed=recipe.seed)
    packed = Packed(folder / "pairs.npz")
    train_reader(reader, packed, recipe, device)
    weights = {name: value.detach().float().cpu().numpy() for name, value in reader.state_dict().items()}
    write_shards(weights, out, "reader")
    rows = np.flatnonzero(packed.columns["held_out"])
    given = answers(reader, packed, rows, device)
    np.savez_compressed(
        out / "answers.npz", rows=rows, **{name: value.astype(np.float16) for name, value in given.items()}
    )
    record = {"shape": asdict(reader.shape), "figures": figures(packed.columns, rows, given)}
    (out / "reader.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def export(folder: Path, out: Path) -> None:
    """Write `reader.onnx` and `reader_tables.npz` from the weights that `train` wrote."""
    import torch

    from medassay.training.reader.export import export_graph, tables
    from medassay.training.reader.model import Reader, Shape

    record = json.loads((folder / "reader.json").read_text(encoding="utf-8"))
    reader = Reader(Shape(**record["shape"]), dropout=0.0)
    reader.load_state_dict({name: torch.from_numpy(value) for name, value in read_shards(folder, "reader").items()})
    out.mkdir(parents=True, exist_ok=True)
    export_graph(reader, out / "reader.onnx")
    np.savez(out / "reader_tables.npz", **tables(reader))
