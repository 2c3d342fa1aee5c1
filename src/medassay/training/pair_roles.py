"""Roles `quality` and `nli` trained on a user's own pairs: read, hold a tenth out, train, measure, write a model set.

All layers are trained; the embedding tables stay those of the base, as in the embedded set.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from medassay.errors import InputError
from medassay.language.inference import FEATURES
from medassay.training.annotation import folds_by_group
from medassay.training.bert import SplitEncoder, load_encoder
from medassay.training.cross import PairModel, PairTexts, Task, fit_pairs, predict_pairs
from medassay.training.loop import Schedule, pick_device, set_seed
from medassay.training.nli import LABELS, NliPair, nli_item, read_nli
from medassay.training.quality import QualityPair

LIMIT = 448
"""Tokens of a pair, frame tokens included."""


def read_quality(path: Path) -> list[QualityPair]:
    """Pairs of a CSV with columns `reference`, `candidate` and `quality` (0–1, higher is better)."""
    csv.field_size_limit(sys.maxsize)
    pairs = []
    with path.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        columns = reader.fieldnames or []
        for needed in ("reference", "candidate", "quality"):
            if needed not in columns:
                raise InputError(f"{path}: no column '{needed}'; found {', '.join(columns)}")
        for number, row in enumerate(reader, 2):
            try:
                value = float(row["quality"])
            except (TypeError, ValueError) as error:
                raise InputError(f"{path}: row {number}: quality '{row['quality']}' is not a number") from error
            if not 0.0 <= value <= 1.0:
                raise InputError(f"{path}: row {number}: quality {value} lies outside 0–1; scale it first")
            pairs.append(QualityPair(row["reference"] or "", row["candidate"] or "", value))
    return pairs


def train_quality(path: Path, base: str, out: Path, plan: Schedule) -> dict[str, float]:
    """A model set with the role `quality` (one number a pair, no fidelity head); figures of the held-out tenth."""
    pairs = read_quality(path)
    train, test = _split(pairs, [pair.reference for pair in pairs], plan.seed)
    texts = _texts(base)
    model = _model(base, {"quality": 1}, plan.seed)
    items = [[texts.pair(pair.reference, pair.candidate, (pair.quality,))] for pair in train]
    fit_pairs(model, {"quality": Task("share", items)}, plan)
    asked = [texts.pair(pair.reference, pair.candidate, (0.0,)) for pair in test]
    said = predict_pairs(model, "quality", "share", asked)[:, 0].astype(np.float64)
    truth = np.array([pair.quality for pair in test])
    figures = {"mean_absolute_error": float(np.abs(said - truth).mean())}
    if len(test) > 2 and np.ptp(truth) > 0 and np.ptp(said) > 0:
        figures["pearson"] = float(np.corrcoef(said, truth)[0, 1])
    _export(model, base, out, "quality", {}, figures)
    return figures


def train_nli(path: Path, base: str, out: Path, plan: Schedule) -> dict[str, float]:
    """A model set with the role `nli`; the rules' part of the embedded role is left out of its combination."""
    pairs = read_nli(path)
    train, test = _split(pairs, [pair.premise for pair in pairs], plan.seed)
    texts = _texts(base)
    model = _model(base, {"nli": len(LABELS)}, plan.seed)
    fit_pairs(model, {"nli": Task("class", [[nli_item(pair, texts)] for pair in train])}, plan)
    chances = predict_pairs(model, "nli", "class", [nli_item(pair, texts) for pair in test])
    figures = nli_figures(chances, test)
    plain = np.eye(len(LABELS), len(FEATURES)).tolist()
    _export(model, base, out, "nli", {"combination": {"features": list(FEATURES), "weights": plain}}, figures)
    return figures


def nli_figures(chances: Any, pairs: Sequence[NliPair]) -> dict[str, float]:
    """Accuracy, and the share of contradictions found (by their chance) where one in ten others is accused."""
    truth = np.array([pair.label for pair in pairs])
    figures = {"accuracy": float((np.asarray(chances).argmax(1) == truth).mean())}
    score, wrong = np.asarray(chances)[:, 2], truth == 2
    if wrong.any() and not wrong.all():
        threshold = np.quantile(score[~wrong], 0.9, method="higher")
        figures["contradiction_recall_at_10"] = float((score[wrong] > threshold).mean())
    return figures


def _split(pairs: Sequence[Any], groups: Sequence[str], seed: int) -> tuple[list[Any], list[Any]]:
    """Nine tenths to train on and one tenth held out, pairs of one first text on the same side."""
    if len(set(groups)) < 2:
        raise InputError("training needs pairs of at least two references or premises: one part is held out")
    folds = folds_by_group(groups, min(10, len(set(groups))), seed)
    held = max(folds)
    train = [pair for pair, fold in zip(pairs, folds) if fold != held]
    return train, [pair for pair, fold in zip(pairs, folds) if fold == held]


def _texts(base: str) -> PairTexts:
    tokenizer = Tokenizer.from_file(str(Path(base) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return PairTexts(tokenizer, LIMIT)


def _model(base: str, heads: dict[str, int], seed: int) -> PairModel:
    encoder = load_encoder(base, 0)
    if not isinstance(encoder, SplitEncoder):
        raise InputError("preset 'embedded' needs a BERT base folder (config.json, model.safetensors, tokenizer.json)")
    set_seed(seed)
    return PairModel(encoder, heads, flaws=False).to(pick_device())


def _export(
    model: PairModel, base: str, out: Path, role: str, settings: dict[str, Any], figures: dict[str, float]
) -> None:
    from medassay.training.command import write_set
    from medassay.training.export import export_pairs, export_trunk

    assert isinstance(model.encoder, SplitEncoder)
    export_trunk(model.encoder.cpu(), out)
    outputs = export_pairs(model, out)
    write_set(out, base, role, {"graph": "pairs.onnx", "outputs": outputs, "max_tokens": LIMIT, **settings}, figures)
