"""The reader on a graphics card: the weights of the embedded graphs, unfolded, in a torch network.

Pairs are read in batches and in bfloat16, so that an answer can differ a little from the one on the CPU, and with what
else is asked; the model's name in signatures ends in `-gpu`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medassay.errors import ModelError
from medassay.models.graphs import ModelSet
from medassay.models.reader import IdPair, PairAnswer, Reader, laid_out
from medassay.models.tokens import batches

TOKENS = 64_000
"""Padded tokens of a batch."""

PAD = 1
"""MPNet's padding token."""


class GpuReader(Reader):
    """The careful reader on a device of torch.

    Args:
        models: the set.
        device: a device of torch.
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
        network = reader_network.Reader(reader_network.Shape(layers=layers), dropout=0.0)
        network.load_state_dict({name: torch.from_numpy(np.array(v)) for name, v in weights.items()})
        return network.eval()

    def _read_all(self, pairs: Sequence[IdPair]) -> list[PairAnswer]:
        import torch

        rows = [laid_out(*pair) for pair in pairs]
        answers: dict[int, PairAnswer] = {}
        running: list[tuple[list[int], dict[str, Any]]] = []
        with torch.inference_mode():
            for batch in batches([len(row) for row, _ in rows], TOKENS):
                running.append((batch, self._ask([rows[i] for i in batch])))
        for batch, heads in running:
            arrays = {name: value.float().cpu().numpy() for name, value in heads.items()}
            for k, i in enumerate(batch):
                place = arrays["place"][k, 1 : rows[i][1] + 1].copy()
                severity, expert = float(arrays["severity"][k, 0]), float(arrays["expert"][k, 0])
                verdict, kind = arrays["verdict"][k].copy(), arrays["kind"][k].copy()
                answers[i] = PairAnswer(verdict, kind, severity, expert, place, early=False)
        return [answers[i] for i in range(len(pairs))]

    def _ask(self, rows: Sequence[tuple[list[int], int]]) -> dict[str, Any]:
        import torch

        width = -(-max(len(row) for row, _ in rows) // 8) * 8
        ids = np.full((len(rows), width), PAD, np.int64)
        statement = np.zeros((len(rows), width), np.int64)
        for k, (row, read) in enumerate(rows):
            ids[k, : len(row)] = row
            statement[k, read + 3 : len(row) - 1] = 1
        tokens = torch.from_numpy(ids).to(self.device, non_blocking=True)
        mask = (tokens != PAD).long()
        _, last = self.network.encoder(tokens, mask)
        heads = self.network.heads(last.float(), mask, torch.from_numpy(statement).to(self.device, non_blocking=True))
        return {name: heads[name] for name in ("verdict", "kind", "severity", "expert", "place")}


def graph_weights(path: Path, heads: str) -> dict[str, Any]:
    """The weights of one of the reader's graphs as float32, by the network's names.

    Args:
        path: the graph. Its matrices are 8-bit, transposed, and scaled by channel (training/reader/export.py).
        heads: what the network calls the graph's heads.
    """
    import onnx
    from onnx import numpy_helper

    stored = {each.name: numpy_helper.to_array(each) for each in onnx.load(path).graph.initializer}
    weights: dict[str, Any] = {}
    for name, value in stored.items():
        if name.endswith("_quantized"):
            own = name.removesuffix("_quantized")
            matrix = value.astype(np.float32) * stored[f"{own}_scale"]
            smaller = stored.get(f"{own.removesuffix('weight')}smaller")
            # The tracer gives the one matrix that it transposes itself a name of its own.
            weights[own if own.endswith(".weight") else "heads.place.weight"] = (
                matrix if smaller is None else matrix * smaller[:, None]
            ).T
        elif name.endswith((".bias", "norm.weight", "relative.weight")):
            weights[name] = value
    return {
        f"{heads}.{name.removeprefix('heads.')}" if name.startswith("heads.") else name: value
        for name, value in weights.items()
    }
