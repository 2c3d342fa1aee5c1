"""The reader from the data folder and the corpus to the files of a model set, in three steps.

`prepare` needs no GPU and writes a small folder; `train` reads that folder alone and needs one; `export` writes the
graphs and the tables. The steps are apart because the machine that trains often has neither the data nor a network.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from medassay.training.reader.shards import read_shards, write_shards

if TYPE_CHECKING:
    from medassay.models.reader_network import Reader
    from medassay.training.reader.pack import Encode
    from medassay.training.reader.train import Packed

WORDS = "encoder.words.weight"
"""The word vectors. They are not trained: words that the material lacks keep their meaning."""


def prepare(data: Path, corpus: Path, base: Path, folder: Path, levels: float = 32.0, seed: int = 1) -> None:
    """Write what `train` needs: packed pairs and the weights that training starts from.

    Args:
        data: the data folder. corpus: the corpus of this repository.
        base: folder of an MPNet (model.safetensors, tokenizer.json), as all-mpnet-base-v2, or a model set, whose reader
            is then trained further.
        folder: where to write.
        levels: steps to a standard deviation at which the weights are stored (shards.py).
    """
    from medassay.models import load
    from medassay.training.reader.consistency import consistency_pairs
    from medassay.training.reader.derived import derived_pairs
    from medassay.training.reader.material import Texts, read_pairs
    from medassay.training.reader.pack import Excerpts, expanded, pack
    from medassay.training.reader.quality import quality_pairs

    folder.mkdir(parents=True, exist_ok=True)
    pairs = [*read_pairs(data, corpus), *derived_pairs(data, corpus, Texts(data), seed)]
    pairs += consistency_pairs(data, corpus, seed)
    pairs += quality_pairs(data, corpus, seed)
    rows = list(expanded(pairs, Excerpts(load("encoder").embed), seed))
    pack(rows, encoder_of(base), folder / "pairs.npz", learnt_from(base))
    files = sorted({pair.file for pair in pairs if pair.file})
    (folder / "files.json").write_text(json.dumps(files, indent=1) + "\n", encoding="utf-8")
    write_start(base, folder, levels)


def learnt_from(base: Path) -> list[str] | None:
    """The files of the corpus that a set's reader has learnt from; None for an MPNet."""
    from medassay.training.graph_weights import is_model_set

    if not is_model_set(base):
        return None
    manifest = json.loads((base / "manifest.json").read_text(encoding="utf-8"))
    return list(manifest["roles"]["reader"]["learnt_from"])


def encoder_of(base: Path) -> Encode:
    """What turns texts into MPNet's token ids; a model set keeps BERT's, which are MPNet's moved by a few places."""
    from tokenizers import Tokenizer

    from medassay.models.reader import SHIFT
    from medassay.training.graph_weights import is_model_set
    from medassay.training.reader.pack import Encoded

    tokenizer: Any = Tokenizer.from_file(str(base / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    shift = SHIFT if is_model_set(base) else 0

    def encode(texts: Sequence[str]) -> list[Encoded]:
        encoded = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [Encoded([token + shift for token in encoding.ids], encoding.offsets) for encoding in encoded]

    return encode


def start_of(base: Path, seed: int = 1) -> Reader:
    """The reader that training starts from: a set's reader, or an MPNet with heads of small random values."""
    import torch
    from safetensors.torch import load_file

    from medassay.models.graphs import ModelSet
    from medassay.models.reader_gpu import GpuReader
    from medassay.models.reader_network import from_mpnet
    from medassay.training.graph_weights import is_model_set

    if is_model_set(base):
        reader: Reader = GpuReader(ModelSet(base), device="cpu").network
        return reader
    torch.manual_seed(seed)
    return from_mpnet(load_file(str(base / "model.safetensors")))


def write_start(base: Path, folder: Path, levels: float) -> None:
    """Write the weights that training starts from, of the word vectors only those that the packed pairs use."""
    reader = start_of(base)
    weights = {name: value.numpy() for name, value in reader.state_dict().items()}
    with np.load(folder / "pairs.npz", allow_pickle=False) as packed:
        used = np.unique(np.concatenate([packed["tokens"].astype(np.int64), np.arange(5)]))
    words = np.zeros_like(weights[WORDS])
    words[used] = weights[WORDS][used]
    write_shards(weights | {WORDS: words}, folder, "start", levels)
    (folder / "shape.json").write_text(json.dumps(asdict(reader.shape)) + "\n", encoding="utf-8")


CYCLES: tuple[dict[str, Any], ...] = (
    {"passes": 1.55, "rate": 4e-5, "head_rate": 1e-3, "seed": 1},
    {"passes": 3.3, "rate": 3e-5, "head_rate": 5e-4, "seed": 2},
)
"""Cycles of training from an MPNet, each from where the last ended; in each the rate rises and falls to zero."""

CYCLE_WEIGHTS = (0.3, 0.7)
"""Shares of the cycles' weights in their mean: the first ranks better, the second decides better."""

RUNS: tuple[dict[str, Any], ...] = (
    {"passes": 3.4, "tokens": 48_000, "rows": 192, "seed": 21},
    {"passes": 2.8, "tokens": 32_000, "rows": 128, "seed": 22},
)
"""Runs of further training, each from the reader of the model set; the result is the mean of their weights."""

FURTHER: dict[str, Any] = {"rate": 3e-5, "head_rate": 3e-4, "severity_weight": 0.7, "place_weight": 0.7}
"""Settings of all runs of further training."""

KNOWN = 0.5
"""Factor to the passes of pairs that the reader has learnt from, in further training."""

ROUNDS = ("first", "further")
"""Rounds of training: an MPNet from the beginning (`CYCLES`); the reader of a model set further (`RUNS`)."""


def train(folder: Path, out: Path, *, round: str = "first", passes: float = 1.0, seconds: float | None = None) -> None:
    """Train the reader; write its weights, and its answers for the held-out rows.

    Args:
        folder: what `prepare` wrote. out: where to write.
        round: one of `ROUNDS`.
        passes: a factor to all passes.
        seconds: when training has to be over, counted from its beginning; the rate falls to zero by then.
    """
    import torch

    from medassay.training.reader.train import Packed

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_float32_matmul_precision("high")
    reader = untrained(folder)
    packed = Packed(folder / "pairs.npz", device)
    if round == "further":
        packed.columns["passes"] = packed.columns["passes"] * np.where(packed.columns["new"], 1.0, KNOWN)
        runs, shares = [FURTHER | run for run in RUNS], [1 / len(RUNS)] * len(RUNS)
    else:
        runs, shares = list(CYCLES), list(CYCLE_WEIGHTS)
    _train_mean(reader, packed, runs, shares, round == "further", passes, seconds)
    write_trained(reader, out)
    write_answers(reader, packed, out)


def _train_mean(
    reader: Reader,
    packed: Packed,
    runs: Sequence[dict[str, Any]],
    shares: Sequence[float],
    apart: bool,
    passes: float,
    seconds: float | None,
) -> None:
    """Train several times and take the mean of the weights; runs `apart` begin where the first began."""
    import torch

    from medassay.training.reader.train import Recipe
    from medassay.training.reader.train import train as train_reader

    start = {name: value.clone() for name, value in reader.state_dict().items()}
    mean = {name: torch.zeros_like(value, device=packed.device) for name, value in start.items()}
    for settings, share in zip(runs, shares, strict=True):
        if apart:
            reader.load_state_dict(start)
        settings = settings | {"passes": passes * settings["passes"]}
        if seconds is not None:
            settings["seconds"] = seconds / len(runs)
        train_reader(reader, packed, Recipe(**settings))
        for name, value in reader.state_dict().items():
            mean[name] += share * value.detach()
    reader.load_state_dict(mean)


def untrained(folder: Path) -> Reader:
    """The reader that training starts from; its word vectors and position biases are not trained."""
    import torch

    from medassay.models.reader_network import Reader, Shape

    reader = Reader(Shape(**json.loads((folder / "shape.json").read_text(encoding="utf-8"))))
    reader.load_state_dict({name: torch.from_numpy(value) for name, value in read_shards(folder, "start").items()})
    # The biases of positions hardly move, and attention is faster where nothing flows back to them.
    reader.encoder.words.weight.requires_grad_(False)
    reader.encoder.relative.weight.requires_grad_(False)
    return reader


def write_trained(reader: Reader, out: Path) -> None:
    """Write the trained weights, without the word vectors."""
    weights = {name: value.detach().float().cpu().numpy() for name, value in reader.state_dict().items()}
    del weights[WORDS]
    out.mkdir(parents=True, exist_ok=True)
    np.savez(out / "reader.npz", **weights)
    (out / "reader.json").write_text(json.dumps(asdict(reader.shape)) + "\n", encoding="utf-8")


def write_answers(reader: Reader, packed: Packed, out: Path) -> None:
    """Write the answers for the held-out rows and the figures that follow from them."""
    from medassay.training.reader.figures import figures
    from medassay.training.reader.train import answers

    rows = np.flatnonzero(packed.columns["held_out"])
    record = {}
    for name, heads in zip(("early", "last"), answers(reader, packed, rows)):
        stored = {key: value.astype(np.float16) for key, value in heads.items()}
        np.savez_compressed(out / f"answers_{name}.npz", rows=rows, **stored)
        record[name] = figures(packed.columns, rows, heads)
    (out / "figures.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def trained(folder: Path, base: Path) -> Reader:
    """The trained reader from what `train` wrote, with the word vectors of the base."""
    import torch

    from medassay.models.reader_network import Reader, Shape

    reader = Reader(Shape(**json.loads((folder / "reader.json").read_text(encoding="utf-8"))))
    with np.load(folder / "reader.npz", allow_pickle=False) as stored:
        state = {name: torch.from_numpy(stored[name]) for name in stored.files}
    reader.load_state_dict(state | {WORDS: start_of(base).state_dict()[WORDS]})
    return reader.eval()


def export(folder: Path, base: Path, out: Path) -> None:
    """Write the graphs and the tables of the trained reader."""
    export_reader(trained(folder, base), folder / "pairs.npz", out)


def export_reader(reader: Reader, pairs: Path, out: Path, rows: int = 256) -> None:
    """Write the graphs and the tables; `rows` of the training pairs show how large activations become."""
    import torch

    from medassay.training.reader.export import export_graphs, largest_inputs, scale_layers, tables
    from medassay.training.reader.train import Packed

    packed = Packed(pairs)
    known = np.flatnonzero(~packed.columns["held_out"])
    chosen = np.random.default_rng(0).choice(known, min(rows, len(known)), replace=False)
    batches = (packed.batch(np.array([row])) for row in chosen)
    with torch.no_grad():
        scale_layers(reader, largest_inputs(reader, ((b.ids, b.mask, b.statement) for b in batches)))
    out.mkdir(parents=True, exist_ok=True)
    export_graphs(reader, out / "reader_early.onnx", out / "reader_late.onnx")
    np.savez(out / "reader_tables.npz", **tables(reader))
