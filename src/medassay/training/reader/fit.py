"""What is fitted once the reader is trained, on held-out documents: few numbers, written into a set's manifest.

- the temperatures of both sets of heads, on the verdicts of claims;
- the weights by which `language.inference` combines the reader with the structured comparison, on inference pairs;
- the line and the interval of the expert's score, on report pairs.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medassay.files import write_text
from medassay.models.activations import sigmoid, softmax
from medassay.training.reader.figures import FALSE_ALARMS
from medassay.training.reader.material import NOT_SUPPORTED, Pair

FILES = ("reader_early.onnx", "reader_late.onnx", "reader_tables.npz")

COVERED = 0.9
"""Share of held-out expert scores that the interval holds."""

_PENALTY = 1.0
"""Weight of the squared distance of the combination's weights from passing the reader's answer on."""


def install(folder: Path, models: Path, name: str) -> None:
    """Put the exported files into a model set and name the set anew: other weights are another set."""
    manifest = _manifest(models)
    for file in FILES:
        shutil.copyfile(folder / file, models / file)
        content = (models / file).read_bytes()
        entry = next(listed for listed in manifest["files"] if listed["name"] == file)
        entry |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    manifest["set"] = name
    manifest["roles"]["reader"]["learnt_from"] = json.loads((folder / "files.json").read_text(encoding="utf-8"))
    _write(models, manifest)


def fit(folder: Path, data: Path, corpus: Path, models: Path) -> dict[str, float]:
    """Fit all numbers, write them into the manifest, and return the figures."""
    from medassay.models import unload

    manifest = _manifest(models)
    with np.load(folder / "pairs.npz", allow_pickle=False) as packed:
        columns = {name: packed[name] for name in ("label", "source", "sources", "expert")}
    figures: dict[str, float] = {}
    for heads, prefix in (("early", "early_"), ("last", "")):
        with np.load(folder / f"answers_{heads}.npz") as answers:
            rows, verdict, expert = answers["rows"], answers["verdict"].astype(np.float64), answers["expert"]
        labels = columns["label"][rows]
        names = columns["sources"][columns["source"][rows]]
        claims = np.array([str(source).startswith(("claims", "verdicts")) for source in names])
        chosen = claims & (labels >= 0) & (labels < NOT_SUPPORTED)
        manifest["roles"]["reader"][f"{prefix}temperature"] = temperature(verdict[chosen], labels[chosen])
        figures[f"{heads} claims accuracy"] = float((verdict[chosen].argmax(1) == labels[chosen]).mean())
    scores = columns["expert"][rows]
    rated = ~np.isnan(scores)
    line, of_expert = expert_line(expert[rated, 0].astype(float), scores[rated])
    manifest["roles"]["expert"] = {"reader": manifest["roles"]["reader"]["early"], "line": line}
    figures |= of_expert
    _write(models, manifest)
    unload()
    manifest["roles"]["nli"]["combination"]["weights"], of_pairs = combination(inference_pairs(data, corpus))
    _write(models, manifest)
    unload()
    return figures | of_pairs


def temperature(logits: Any, labels: Any) -> float:
    """The temperature at which the answers are likeliest."""
    tried = np.arange(0.5, 3.0, 0.05)
    chosen = np.arange(len(labels))
    losses = [-np.log(softmax(logits / t)[chosen, labels] + 1e-9).mean() for t in tried]
    return round(float(tried[int(np.argmin(losses))]), 2)


def expert_line(logits: Any, scores: Any) -> tuple[dict[str, float], dict[str, float]]:
    """The line from the head's answer to the score, 0–5, and the half width that holds most scores."""
    raw = 5.0 * sigmoid(logits)
    slope, shift = np.polyfit(raw, scores, 1)
    estimates = np.clip(slope * raw + shift, 0.0, 5.0)
    half = float(np.quantile(np.abs(estimates - scores), COVERED))
    line = {"slope": round(float(slope), 4), "shift": round(float(shift), 4), "half_width": round(half, 3)}
    above = scores > 0
    figures = {
        "expert r": np.corrcoef(raw, scores)[0, 1],
        "expert r above 0": np.corrcoef(raw[above], scores[above])[0, 1],
    }
    return line, {name: float(value) for name, value in figures.items()}


def inference_pairs(data: Path, corpus: Path) -> list[Pair]:
    """The held-out inference pairs of pathology, each document's together."""
    from medassay.training.reader.material import held_out, read_pairs

    sources = ("nli_pathology", "morphology")
    return [
        pair
        for pair in read_pairs(data, corpus)
        if pair.source.startswith(sources) and held_out(pair.document) and pair.label in (0, 1, 2)
    ]


def combination(pairs: Sequence[Pair]) -> tuple[list[list[float]], dict[str, float]]:
    """The combination's weights, fitted on all pairs, and its figures, fitted on one half of the documents each."""
    from medassay.language.graph import read_reports
    from medassay.language.inference import features
    from medassay.language.rules import compare
    from medassay.models import load

    text_pairs = [(pair.text, pair.statement) for pair in pairs]
    chances = load("nli").probabilities(text_pairs)
    texts = list(dict.fromkeys(text for pair in text_pairs for text in pair))
    reports = dict(zip(texts, read_reports(texts)))
    rules = [features(pair, compare(reports[pair[0]], reports[pair[1]])) for pair in text_pairs]
    logs = np.log(np.clip(chances.astype(np.float64), 1e-6, 1.0))
    rows = np.hstack([logs, np.array(rules), np.ones((len(text_pairs), 1))])
    labels = np.array([pair.label for pair in pairs])
    half = np.array([hashlib.sha256(pair.document.encode()).digest()[5] % 2 for pair in pairs])
    answers = np.zeros((len(pairs), 3))
    for side in (0, 1):
        weights = combination_weights(rows[half != side], labels[half != side])
        answers[half == side] = softmax(rows[half == side] @ weights.T)
    figures: dict[str, float] = {}
    sources = {"all": np.ones(len(pairs), bool)}
    sources["nli_pathology"] = np.array([pair.source == "nli_pathology" for pair in pairs])
    for name, some in sources.items():
        for kind, probabilities in (("reader", chances), ("with rules", answers)):
            figures |= _inference_figures(f"{name}, {kind}", probabilities[some], labels[some])
    return np.round(combination_weights(rows, labels), 4).tolist(), figures


def _inference_figures(name: str, chances: Any, labels: Any) -> dict[str, float]:
    limit = np.quantile(chances[labels != 2, 2], 1 - FALSE_ALARMS)
    return {
        f"{name}: accuracy": float((chances.argmax(1) == labels).mean()),
        f"{name}: contradiction recall": float((chances[labels == 2, 2] > limit).mean()),
    }


def combination_weights(rows: Any, labels: Any) -> Any:
    """[3, features] weights of a multinomial logistic regression, held close to passing the reader's answer on."""
    import torch

    start = torch.zeros(3, rows.shape[1], dtype=torch.float64)
    start[range(3), range(3)] = 1.0
    weights = start.clone().requires_grad_(True)
    inputs, targets = torch.from_numpy(rows), torch.from_numpy(labels.astype(np.int64))
    optimizer = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Any:
        optimizer.zero_grad()
        error = torch.nn.functional.cross_entropy(inputs @ weights.T, targets, reduction="sum")
        total = error + _PENALTY * (weights - start).square().sum()
        total.backward()
        return total

    optimizer.step(loss)
    return weights.detach().numpy()


def _manifest(models: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((models / "manifest.json").read_text(encoding="utf-8"))
    return manifest


def _write(models: Path, manifest: Mapping[str, Any]) -> None:
    write_text(models / "manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
