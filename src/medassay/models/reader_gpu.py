"""The reader on a graphics card: the weights of the embedded graphs, unfolded, in a torch network.

Pairs are read in batches and in bfloat16, so that an answer can differ a little from the one on the CPU, and with what
else is asked; the model's name in signatures ends in `-gpu`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from medassay.errors import ModelError
from medassay.models.graphs import ModelSet
from medassay.models.reader import BEGIN, END, LONGEST, SHIFT, STATEMENT_TOKENS, IdPair, PairAnswer, Reader
from medassay.models.tokens import batches

TOKENS = 64_000
"""Padded tokens of a batch."""

PAD = 1
"""MPNet's padding token."""


class GpuReader(Reader):
    """The whole reader (early and late layers) in torch.

    Args:
        models: the set.
        device: torch's name of the device.
    """

    def __init__(self, models: ModelSet, device: str = "cuda") -> None:
        super().__init__(models)
        try:
            import onnx  # noqa: F401
            import torch
        except ImportError as error:
            raise ModelError(f"--models gpu needs torch and onnx ({error}): pip install 'medassay[hf]'") from error
        if device == "cuda" and not torch.cuda.is_available():
            raise ModelError("--models gpu: torch finds no graphics card here; use --models embedded or fast")
        self.device = device
        self.network = self._network().to(device)
        if device == "cuda":
            self.network.encoder.to(torch.bfloat16)

    def _network(self) -> Any:
        import torch

        from medassay.models import reader_network

        weights = {
            "encoder.words.weight": self.words.astype(np.float32) * self.scales[:, None],
            "encoder.positions.weight": self.positions,
            "encoder.norm.weight": self.gain,
            "encoder.norm.bias": self.shift,
        }
        weights |= graph_weights(self.models.file(self.early), "early_heads")
        weights |= graph_weights(self.models.file(self.late), "heads")
        layers = len({name.split(".")[2] for name in weights if name.startswith("encoder.layers.")})
        inner = len(weights["encoder.layers.0.inner.bias"])
        network = reader_network.Reader(reader_network.Shape(layers=layers, inner=inner), dropout=0.0)
        network.load_state_dict({name: torch.from_numpy(np.array(v)) for name, v in weights.items()})
        return network.eval()

    def _read_all(self, pairs: Sequence[IdPair]) -> list[PairAnswer]:
        import torch

        rows = Rows(pairs)
        running: list[tuple[list[int], Any, Any]] = []
        with torch.inference_mode():
            # The card works on a batch while the next one is laid out: nothing waits for it before the last.
            for batch in batches((rows.text + rows.statement + 4).tolist(), TOKENS):
                running.append((batch, *self._ask(rows, np.array(batch))))
        answers: dict[int, PairAnswer] = {}
        for batch, summary, places in running:
            numbers, place = summary.cpu().numpy(), places.cpu().numpy()
            severity, expert = numbers[:, -2].tolist(), numbers[:, -1].tolist()
            for k, (i, end) in enumerate(zip(batch, (rows.text[batch] + 1).tolist())):
                # Slices of the batch's arrays, not copies.
                answers[i] = PairAnswer(
                    numbers[k, :3], numbers[k, 3:-2], severity[k], expert[k], place[k, 1:end], early=False
                )
        return [answers[i] for i in range(len(pairs))]

    def _ask(self, rows: Rows, batch: Any) -> tuple[Any, Any]:
        """Verdict, kind, severity and expert of each row side by side, and the places."""
        import torch

        ids, statement = rows.laid_out(batch)
        tokens = torch.from_numpy(ids).to(self.device, non_blocking=True)
        is_statement = torch.from_numpy(statement).to(self.device, non_blocking=True)
        mask = tokens != PAD
        _, last = self.network.encoder(tokens, mask)
        heads = self.network.heads(last.float(), mask, is_statement)
        return torch.cat([heads[name] for name in ("verdict", "kind", "severity", "expert")], 1), heads["place"]


class Rows:
    """Many pairs, to be laid out batch by batch as `reader.laid_out` lays out one.

    text, statement: how many tokens of each pair's text and statement are read.
    """

    def __init__(self, pairs: Sequence[IdPair]) -> None:
        lengths = np.array([(len(text), len(statement)) for text, statement in pairs], np.int64).reshape(-1, 2)
        self.tokens = np.fromiter(chain.from_iterable(chain.from_iterable(pairs)), np.int64, int(lengths.sum()))
        self.starts = np.cumsum(lengths.sum(1)) - lengths.sum(1)
        self.given = lengths[:, 0]
        room = LONGEST - 4
        self.statement = np.minimum(lengths[:, 1], np.maximum(STATEMENT_TOKENS, room - self.given))
        self.text = np.minimum(self.given, room - self.statement)

    def laid_out(self, batch: Any) -> tuple[Any, Any]:
        """The ids of some rows, padded to a multiple of 8, and a mask of the statements' tokens."""
        text, statement = self.text[batch, None], self.statement[batch, None]
        width = -(-int((text + statement).max() + 4) // 8) * 8
        positions = np.arange(width)
        first = text + 3
        in_text = (positions >= 1) & (positions <= text)
        in_statement = (positions >= first) & (positions < first + statement)
        ids = np.where(positions > first + statement, PAD, END)
        ids[:, 0] = BEGIN
        begin = self.starts[batch, None]
        ids[in_text] = self.tokens[(begin + positions - 1)[in_text]] + SHIFT
        ids[in_statement] = self.tokens[(begin + self.given[batch, None] + positions - first)[in_statement]] + SHIFT
        return ids, in_statement


def graph_weights(path: Path, heads: str) -> dict[str, Any]:
    """The weights of one of the reader's graphs as float32, by the network's names.

    Args:
        path: the graph. Its matrices are 8-bit, transposed, and scaled by channel (training/reader/export.py).
        heads: what the network calls the graph's heads.
    """
    import onnx
    from onnx import numpy_helper

    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}
    weights: dict[str, Any] = {}
    for name, value in stored.items():
        if name.endswith("_quantized"):
            base = name.removesuffix("_quantized")
            matrix = value.astype(np.float32) * stored[f"{base}_scale"]
            smaller = stored.get(f"{base.removesuffix('weight')}smaller")
            # The tracer gives the one matrix that it transposes itself a name of its own.
            weights[base if base.endswith(".weight") else "heads.place.weight"] = (
                matrix if smaller is None else matrix * smaller[:, None]
            ).T
        elif name.endswith((".bias", "norm.weight", "relative.weight")):
            weights[name] = value
    return {
        f"{heads}.{name.removeprefix('heads.')}" if name.startswith("heads.") else name: value
        for name, value in weights.items()
    }
