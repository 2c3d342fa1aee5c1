"""HARE (paper mode) with three encoders of GatorTronS' size on one GPU: time, utilisation, the published algorithm.

Weights are random and made on the device: the arithmetic is that of trained ones. A random entity model would find
random entities, so after its forward pass and decoding its spans are replaced by given ones, those that the embedded
model reads in the same texts; relation questions then are as many as for real reports. Everything a user waits for
is timed: tokenising, copies, forward passes, decoding, linking, scores. Opening the models is not.

The published algorithm (pair by pair, padded to 512, one forward pass a chunk and an ordered pair of entities) runs
on the same models in the same arithmetic, on some pairs and questions, and is scaled to all.

BENCH_PAIRS names files written by `python -m benchmarks.hare_gpu FILE.json` where a machine lacks onnxruntime.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.figures import Figure
from medassay.cases import Case
from medassay.metrics.hare import Hare
from medassay.models.graphs import HOME
from medassay.models.hub import Network, Read
from medassay.models.hub_device import TOLERANCE, Batch
from medassay.models.hub_files import HubFolder
from medassay.models.hub_relations import HubRelations, mark
from medassay.models.hub_roles import HubEncoder, HubNer
from medassay.models.tokens import Window
from medassay.spans import Span

LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
"""GatorTronS: 24 layers, 1024 wide, 345 million weights, of Megatron's build."""

CHUNK, PADDED = 450, 512
PRECISE = 200
PUBLISHED, ASKED = 4, 30
"""Pairs that the published algorithm is timed on, and relation questions a report of those."""

_LABELS = {
    "ner": ["O", *(f"{place}-{kind}" for kind in ("site", "diagnosis", "marker", "modifier") for place in "BI")],
    "re": ["NO_REL", "marker_modifier", "diagnosis_descriptor"],
}
Given = Mapping[str, Sequence[Span]]


class MadeNetwork(Network):
    """A model of a given shape with random weights, and the embedded set's tokenizer."""

    def _open_tokenizer(self) -> Any:
        from transformers import PreTrainedTokenizerFast

        frame = {f"{name}_token": f"[{name.upper()}]" for name in ("cls", "sep", "pad", "unk", "mask")}
        made = PreTrainedTokenizerFast(tokenizer_file=str(HOME / "tokenizer.json"), **frame)
        made.model_max_length = PADDED
        return made

    def _open_model(self) -> Any:
        import torch
        import transformers

        kinds = {"ner": "ForTokenClassification", "re": "ForSequenceClassification", "align": "Model"}
        labels = dict(enumerate(_LABELS.get(self.role, ["0", "1"])))
        config = transformers.MegatronBertConfig(
            **self.config, id2label=labels, label2id={v: k for k, v in labels.items()}
        )
        torch.manual_seed(1)
        with torch.device(self.device):
            model = getattr(transformers, f"MegatronBert{kinds[self.role]}")(config)
        if self.role == "ner":
            # At random half of all words would begin an entity; a trained model calls most of them none.
            model.classifier.bias.data[0] = 4.0
        model = model.eval().to(self.placement.torch_dtype)
        # The embeddings' table of words is looked up, not multiplied: it counts for nothing here.
        self.multiplied = sum(p.numel() for name, p in model.named_parameters() if p.dim() == 2 and ".layer." in name)
        return model


class GivenNer(HubNer):
    """An entity model whose decisions are replaced, after all its work is done."""

    given: Given

    def _decode(self, text: str, window: Window, read: Read, chances: Any) -> list[Span]:
        super()._decode(text, window, read, chances)
        offsets = read.tokens.offsets
        since = offsets[window.owned_first][0]
        until = offsets[window.owned_last][0] if window.owned_last < len(offsets) else len(text)
        return [span for span in self.given.get(text, ()) if since <= span.start < until]


@dataclass
class Work:
    """What the models were asked."""

    operations: int = 0
    tokens: int = 0

    def watch(self, network: MadeNetwork) -> None:
        """Count every batch of a model from now on."""
        wide, layers = int(network.config["hidden_size"]), int(network.config["num_hidden_layers"])
        forward = network.forward

        def count(batch: Batch) -> tuple[Any, Any]:
            tokens = sum(batch.lengths)
            self.tokens += tokens
            # Two operations a weight and token; scores and mixture of attention: four a pair of tokens and width.
            attention = 4 * wide * layers * sum(length**2 for length in batch.lengths)
            self.operations += 2 * network.multiplied * tokens + attention
            return forward(batch)

        network.forward = count  # type: ignore[method-assign]


def run() -> Iterator[Figure]:
    """All figures on this machine's GPU; without one nothing is measured and no number is given."""
    if not _cuda():
        yield Figure("HARE, 600 pairs", "not measured: no CUDA device here", "6 s, 40 %, 50×")
        return
    for what, cases, given in read_pairs():
        yield from measure(cases, given, LARGE, what)
    yield precision(LARGE, list(given)[:PRECISE])


def measure(cases: Sequence[Case], given: Given, shape: Mapping[str, int], what: str = "") -> Iterator[Figure]:
    """The run (the median of three), its share of the matrix-multiply ceiling, and the published algorithm."""
    models = make_models(shape, given)
    work = Work()
    for model in models.values():
        work.watch(model.network)
    times = []
    with patch("medassay.metrics.hare.load", _from(models)), patch("medassay.language.graph.load", _from(models)):
        metric = Hare(mode="paper", threshold=None)
        metric.score(cases[:48])
        for _ in range(3):
            for model in models.values():
                model.cache.clear()
            work.operations = work.tokens = 0
            begun = time.perf_counter()
            scores = metric.score(cases)
            _wait()
            times.append(time.perf_counter() - begun)
    took = sorted(times)[1]
    device = models["ner"].network.placement
    scored = sum(score.value is not None for score in scores)
    yield Figure(
        f"{_name()}, {device.dtype}: HARE, {len(cases)} pairs{f' ({what})' if what else ''}",
        f"{took:.2f} s, {scored} scored; {work.tokens:,} tokens, none of them padding",
        "6 s",
        took <= 6 if shape is LARGE and len(cases) >= 600 else None,
    )
    ceiling = matrix_ceiling(device.name, device.torch_dtype)
    reached = work.operations / took
    yield Figure(
        "share of the matrix-multiply ceiling",
        f"{reached / ceiling:.0%} ({reached / 1e12:.1f} of {ceiling / 1e12:.1f} TFLOP/s)",
        "40 %",
        reached / ceiling >= 0.4 if shape is LARGE else None,
    )
    theirs, asked, questions = published(models, cases, given)
    yield Figure(
        "published algorithm, same models",
        f"{theirs:,.1f} s for all pairs: {theirs / took:,.0f}×; scaled from {min(PUBLISHED, len(cases))} pairs and "
        f"{asked} of their {questions:,} relation questions",
        "50×",
        theirs / took >= 50 if shape is LARGE else None,
    )


def make_models(shape: Mapping[str, int], given: Given, dtype: str = "") -> dict[str, Any]:
    """The three roles, each with a model of its own."""
    made: dict[str, Any] = {}
    for role, kind in (("ner", GivenNer), ("re", HubRelations), ("align", HubEncoder)):
        config = {"vocab_size": 30_522, "max_position_embeddings": PADDED, "model_type": "megatron-bert", **shape}
        made[role] = kind(MadeNetwork(role, HubFolder(HOME, "made", config), dtype))
    made["ner"].given = given
    return made


def _from(models: Mapping[str, Any]) -> Any:
    return lambda role, spec="embedded": models[role]


def matrix_ceiling(device: str, dtype: Any, side: int = 8192) -> float:
    """Operations a second of one large matrix product, the best of ten: what this device can do at most."""
    import torch

    side = side if device == "cuda" else 512
    left, right = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
    best = float("inf")
    for _ in range(10):
        _wait()
        begun = time.perf_counter()
        left @ right
        _wait()
        best = min(best, time.perf_counter() - begun)
    return 2 * side**3 / best


def published(models: Mapping[str, Any], cases: Sequence[Case], given: Given) -> tuple[float, int, int]:
    """Seconds for all cases, scaled; questions timed; questions of the pairs that were timed."""
    spent = asked = questions = 0.0
    some = cases[:: max(1, len(cases) // PUBLISHED)][:PUBLISHED]
    _forward(models["ner"].network, [0])
    for case in some:
        for text in (case.references[0], case.candidate):
            spans = list(given.get(text, ()))
            begun = time.perf_counter()
            ids = models["ner"].network.read([text])[0].tokens.ids
            for first in range(0, len(ids), CHUNK):
                _forward(models["ner"].network, ids[first : first + CHUNK])
            for span in spans:
                _forward(
                    models["align"].network, models["align"].network.read([text[span.start : span.end]])[0].tokens.ids
                )
            spent += time.perf_counter() - begun
            pairs = [(a, b) for a in spans for b in spans if a is not b]
            timed = pairs[:: max(1, len(pairs) // ASKED)]
            begun = time.perf_counter()
            for a, b in timed:
                marked = mark(text, (a.start, a.end), (b.start, b.end))
                _forward(models["re"].network, models["re"].network.read([marked])[0].tokens.ids)
            spent += (time.perf_counter() - begun) * len(pairs) / max(len(timed), 1)
            asked, questions = asked + len(timed), questions + len(pairs)
    return spent * len(cases) / len(some), int(asked), int(questions)


def _forward(network: Network, ids: Sequence[int]) -> None:
    """One row, padded to 512, and its answer fetched."""
    import torch

    row = network.framed(ids[: network.room])
    padded = torch.tensor([[*row, *[network.pad] * (PADDED - len(row))]], device=network.device)
    mask = torch.tensor([[1] * len(row) + [0] * (PADDED - len(row))], device=network.device)
    with torch.inference_mode():
        network.model(input_ids=padded, attention_mask=mask)[0].float().cpu()


def precision(shape: Mapping[str, int], texts: Sequence[str]) -> Figure:
    """How far half precision lies from float32 on this device with the same weights: chances and cosines, 0–1."""
    import torch

    def answers(role: str, dtype: str) -> list[Any]:
        network = make_models(shape, {}, dtype)[role].network
        rows = [network.framed(one.tokens.ids[: network.room]) for one in network.read(texts)]
        made: list[Any] = [None] * len(rows)

        def take(output: Any, _: Any) -> Any:
            if role == "align":
                return torch.nn.functional.normalize(output.last_hidden_state[:, 0].float(), dim=-1)
            return output.logits.float().softmax(-1)

        for batch, values in network.answers([(0, rows)], take):
            for k, i in enumerate(batch):
                made[i] = values[k, : len(rows[i])] if role == "ner" else values[k]
        return [np.stack(made) @ np.stack(made).T] if role == "align" else made

    worst: dict[str, list[float]] = {"bfloat16": [], "float16": []}
    for role in ("ner", "re", "align"):
        whole = answers(role, "float32")
        for dtype, found in worst.items():
            found.append(max(float(np.abs(a - b).max()) for a, b in zip(whole, answers(role, dtype))))
    told = "; ".join(f"{dtype} {', '.join(f'{one:.4f}' for one in found)}" for dtype, found in worst.items())
    return Figure(
        f"largest difference to float32 of entity chances, relation chances, cosines; {len(texts)} texts",
        told,
        ", ".join(f"{dtype} {most}" for dtype, most in TOLERANCE.items()),
        all(max(found) <= TOLERANCE[dtype] for dtype, found in worst.items()),
    )


def read_pairs() -> Iterator[tuple[str, list[Case], dict[str, list[Span]]]]:
    """The cases of `benchmarks.hare` with the embedded model's entities, or both from each file in BENCH_PAIRS."""
    files = os.environ.get("BENCH_PAIRS", "")
    for file in files.split(os.pathsep) if files else ():
        found = json.loads(Path(file).read_text(encoding="utf-8"))
        cases = [Case(str(i), candidate, (reference,)) for i, (candidate, reference) in enumerate(found["pairs"])]
        yield found["what"], cases, {text: [Span(*span) for span in spans] for text, spans in found["spans"]}
    if files:
        return
    from benchmarks.hare import texts
    from medassay.models import load

    cases, what = texts()
    distinct = list(dict.fromkeys(text for case in cases for text in (case.candidate, case.references[0])))
    yield what, cases, dict(zip(distinct, load("ner").spans(distinct)))


def pack(path: Path) -> None:
    """Write the cases and their entities to a file."""
    ((what, cases, spans),) = read_pairs()
    rows = [(text, [(s.start, s.end, s.type, round(s.score, 4)) for s in some]) for text, some in spans.items()]
    what += f", {np.mean([len(some) for _, some in rows]):.0f} entities per text"
    made = {"what": what, "pairs": [(case.candidate, case.references[0]) for case in cases], "spans": rows}
    path.write_text(json.dumps(made), encoding="utf-8")
    print(f"{len(cases)} pairs ({what}) written to {path}")


def _name() -> str:
    if not _cuda():
        return "CPU"
    import torch

    return str(torch.cuda.get_device_name())


def _cuda() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def _wait() -> None:
    if _cuda():
        import torch

        torch.cuda.synchronize()


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
