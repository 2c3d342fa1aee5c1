"""Roles `quality` and `nli` trained on a user's own pairs: read, hold a tenth out, train, measure, write a model set.

All layers are trained; the embedding tables stay those of the base, as in the embedded set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from medassay.errors import InputError
from medassay.language.inference import FEATURES
from medassay.models.activations import sigmoid, softmax
from medassay.models.nli import LABELS
from medassay.training.annotation import read_rows, split_tenth
from medassay.training.bert import SplitEncoder, load_encoder, load_tokenizer
from medassay.training.cross import PairItem, PairModel, PairTexts, fit_pairs, predict_logits
from medassay.training.loop import Schedule, pick_device, set_seed

LIMIT = 448
"""Tokens of a pair, frame tokens included."""


@dataclass(frozen=True, slots=True)
class QualityPair:
    """A reference, a candidate and the candidate's quality (0–1, higher is better)."""

    reference: str
    candidate: str
    quality: float


@dataclass(frozen=True, slots=True)
class NliPair:
    """A premise, a hypothesis and the label's place in `LABELS`."""

    premise: str
    hypothesis: str
    label: int


def read_nli(path: Path) -> list[NliPair]:
    """Labelled pairs of a file with columns `premise`, `hypothesis` and `label`."""
    pairs = []
    for where, row in read_rows(path, ("premise", "hypothesis", "label")):
        if row["label"] not in LABELS:
            raise InputError(f"{where}: label '{row['label']}' is none of {', '.join(LABELS)}")
        pairs.append(NliPair(row["premise"], row["hypothesis"], LABELS.index(row["label"])))
    return pairs


def read_quality(path: Path) -> list[QualityPair]:
    """Pairs of a file with columns `reference`, `candidate` and `quality` (0–1, higher is better)."""
    pairs = []
    for where, row in read_rows(path, ("reference", "candidate", "quality")):
        try:
            value = float(row["quality"])
        except ValueError as error:
            raise InputError(f"{where}: quality '{row['quality']}' is not a number") from error
        if not 0.0 <= value <= 1.0:
            raise InputError(f"{where}: quality {value} lies outside 0–1; scale it first")
        pairs.append(QualityPair(row["reference"], row["candidate"], value))
    return pairs


def train_quality(path: Path, base: str, out: Path, plan: Schedule) -> dict[str, float]:
    """Train the role `quality`, write a model set to `out` and return the figures of the held-out tenth."""
    pairs = read_quality(path)
    train, test = split_tenth(pairs, [pair.reference for pair in pairs], plan.seed)
    texts = PairTexts(load_tokenizer(base), LIMIT)
    model = _model(base, {"quality": 1}, plan.seed)

    def items(some: Sequence[QualityPair]) -> list[PairItem]:
        return [PairItem(*texts.join(pair.reference, pair.candidate), pair.quality) for pair in some]

    fit_pairs(model, "quality", "share", items(train), plan)
    estimated = sigmoid(predict_logits(model, "quality", items(test))[:, 0])
    truth = np.array([pair.quality for pair in test])
    figures = {"mean_absolute_error": float(np.abs(estimated - truth).mean())}
    if len(test) > 2 and np.ptp(truth) > 0 and np.ptp(estimated) > 0:
        figures["pearson"] = float(np.corrcoef(estimated, truth)[0, 1])
    _export(model, base, out, "quality", {}, figures)
    return figures


def train_nli(path: Path, base: str, out: Path, plan: Schedule) -> dict[str, float]:
    """Train the role `nli` (combined without rules), write a model set to `out` and return the held-out figures."""
    pairs = read_nli(path)
    train, test = split_tenth(pairs, [pair.premise for pair in pairs], plan.seed)
    texts = PairTexts(load_tokenizer(base), LIMIT)
    model = _model(base, {"nli": len(LABELS)}, plan.seed)

    def items(some: Sequence[NliPair]) -> list[PairItem]:
        return [PairItem(*texts.join(pair.premise, pair.hypothesis), float(pair.label)) for pair in some]

    fit_pairs(model, "nli", "class", items(train), plan)
    figures = nli_figures(softmax(predict_logits(model, "nli", items(test))), test)
    plain = np.eye(len(LABELS), len(FEATURES)).tolist()
    _export(model, base, out, "nli", {"combination": {"features": list(FEATURES), "weights": plain}}, figures)
    return figures


def nli_figures(chances: Any, pairs: Sequence[NliPair]) -> dict[str, float]:
    """Accuracy, and the recall of contradictions at a false-alarm rate of one in ten."""
    truth = np.array([pair.label for pair in pairs])
    figures = {"accuracy": float((np.asarray(chances).argmax(1) == truth).mean())}
    score, wrong = np.asarray(chances)[:, 2], truth == 2
    if wrong.any() and not wrong.all():
        threshold = np.quantile(score[~wrong], 0.9, method="higher")
        figures["contradiction_recall_at_10"] = float((score[wrong] > threshold).mean())
    return figures


def _model(base: str, heads: dict[str, int], seed: int) -> PairModel:
    encoder = load_encoder(base, 0)
    if not isinstance(encoder, SplitEncoder):
        raise InputError("preset 'embedded' needs a BERT base folder (config.json, model.safetensors, tokenizer.json)")
    set_seed(seed)
    return PairModel(encoder, heads).to(pick_device())


def _export(
    model: PairModel, base: str, out: Path, role: str, settings: dict[str, Any], figures: dict[str, float]
) -> None:
    from medassay.training.export import export_pairs, export_trunk, write_set

    assert isinstance(model.encoder, SplitEncoder)
    export_trunk(model.encoder.cpu(), out)
    outputs = export_pairs(model, out / "pairs.onnx")
    write_set(out, base, role, {"graph": "pairs.onnx", "outputs": outputs, "max_tokens": LIMIT, **settings}, figures)
