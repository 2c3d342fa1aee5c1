"""What `medassay train ROLE` does: read annotation, hold a tenth out, train, measure, write a model folder.

Preset `embedded` trains our own recipes on a BERT base and writes ONNX graphs with a manifest; preset
`paper` repeats HARE's settings (ner, re; align: SapBERT's loss on synonyms) on any encoder of the transformers
library. Both kinds of folder are read by `models.load(role, folder)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from medassay.errors import InputError, ModelError, UnknownName, nearest
from medassay.models.decoding import bio_labels
from medassay.spans import ASSERTIONS, ENTITY_TYPES, HARE_TYPES, RELATION_TYPES
from medassay.training.align import Concept, held_out_concepts, read_concepts, retrieval_accuracy, train_align
from medassay.training.annotation import Segment, set_f1, split_tenth
from medassay.training.bert import SplitEncoder
from medassay.training.data import read_annotation
from medassay.training.expert import (
    BINS,
    VERDICTS,
    ScoredPair,
    expert_figures,
    predict_expert,
    read_pairs,
    scored_item,
    train_expert,
)
from medassay.training.graph_weights import is_model_set
from medassay.training.loop import Schedule
from medassay.training.ner import char_spans, evaluate_ner, gold_spans, span_f1, train_ner, words_of
from medassay.training.paper import PAPER, train_ner_paper, train_re_paper
from medassay.training.relations import mark, predict_relations, train_re

TRAINED = ("ner", "re", "align", "expert", "quality", "nli", "likelihood", "image")
SHARED = 3
BASE_FILES = ("config.json", "model.safetensors", "tokenizer.json")


def train_role(
    role: str,
    data: Path,
    base: str,
    out: Path,
    preset: str = "embedded",
    epochs: int | None = None,
    seed: int = 0,
    general: Path | None = None,
) -> dict[str, float]:
    """Train `role` on `data` from `base`, write the model to `out` and return its held-out figures.

    `data` is annotation in any form that `read_annotation` knows (ner, re), a JSONL of concepts (align)
    or a CSV of scored pairs (expert), of `reference, candidate, quality` (quality), of `premise, hypothesis,
    label` (nli) or of `source, target` and where known `wrong` (likelihood). `general` is a text file, a line
    a text, on which align keeps the base's sense of similarity; without it the concepts' own names serve.
    """
    if role not in TRAINED:
        raise UnknownName(f"no recipe for the role '{role}'{nearest(role, TRAINED) or '.'} Roles: {', '.join(TRAINED)}")
    if preset == "paper":
        return _paper(role, data, base, out, epochs, seed)
    if preset != "embedded":
        close = nearest(preset, ("embedded", "paper")) or "."
        raise UnknownName(f"no preset '{preset}'{close} Presets: embedded, paper")
    if role == "image":
        from medassay.training.image_export import train_image

        return train_image(data, Path(base), out, seed)
    further = role in ("ner", "re") and is_model_set(base)
    absent = [name for name in BASE_FILES if not (Path(base) / name).is_file()]
    if absent and not further:
        raise ModelError(f"{base}: {absent[0]} is missing; --base is a BERT folder with {', '.join(BASE_FILES)}")
    out.mkdir(parents=True, exist_ok=True)
    if role == "ner":
        plan = Schedule(epochs=epochs or 10, rate=1e-4 if further else 3e-4, seed=seed)
        return _ner(read_annotation(data), base, out, plan)
    if role == "re":
        plan = Schedule(epochs=epochs or 15, rate=1e-4 if further else 4e-4, seed=seed)
        return _re(read_annotation(data), base, out, plan)
    if role in ("quality", "nli"):
        from medassay.training.pair_roles import train_nli, train_quality

        plan = Schedule(epochs=epochs or 5, rate=2e-4, average=0.999, seed=seed)
        return (train_quality if role == "quality" else train_nli)(data, base, out, plan)
    if role == "likelihood":
        from medassay.training.likelihood_role import train_likelihood_role

        plan = Schedule(epochs=1, rate=3e-4, head_rate=8e-4, average=0.998, seed=seed)
        return train_likelihood_role(data, base, out, plan, SHARED, epochs or 20)
    if role == "expert":
        plan = Schedule(epochs=epochs or 5, rate=1.2e-4, head_rate=5e-4, seed=seed)
        return _expert(read_pairs(data), base, out, plan)
    lines = general.read_text(encoding="utf-8").splitlines() if general else []
    plan = Schedule(epochs=epochs or 2, rate=3e-4, batch=256, seed=seed)
    return _align(read_concepts(data), [t for t in lines if t.strip()], base, out, plan)


def _paper(role: str, data: Path, base: str, out: Path, epochs: int | None, seed: int) -> dict[str, float]:
    """HARE's published recipes; `epochs` None keeps the published number."""
    if role not in ("ner", "re", "align"):
        raise UnknownName(f"preset 'paper' has no recipe for '{role}': HARE publishes settings for ner, re and align")
    if role == "align":
        from medassay.training.sapbert import SAPBERT, read_names, train_sapbert

        return train_sapbert(read_names(data), base, out, planned(SAPBERT, epochs, seed)).held_out
    train = train_ner_paper if role == "ner" else train_re_paper
    return train(read_annotation(data), base, out, planned(PAPER, epochs, seed)).held_out


def planned(plan: Schedule, epochs: int | None, seed: int) -> Schedule:
    """A published plan with the epochs, where given, and the seed asked for."""
    return replace(plan, epochs=epochs or plan.epochs, seed=seed)


def _encoder(model: Any) -> SplitEncoder:
    if not isinstance(model.encoder, SplitEncoder):
        raise InputError("preset 'embedded' needs a BERT base folder (config.json, model.safetensors, tokenizer.json)")
    return model.encoder


def _ner(segments: Sequence[Segment], base: str, out: Path, plan: Schedule) -> dict[str, float]:
    from medassay.training.export import export_ner, export_trunk, write_set

    train, test = split_tenth(segments, [s.doc for s in segments], plan.seed)
    model, tokenizer = train_ner(train, base, plan, shared=SHARED)
    predicted = [
        char_spans(words_of(tokenizer, s.text), spans) for s, spans in zip(test, evaluate_ner(model, tokenizer, test))
    ]
    gold = [gold_spans(s) for s in test]
    figures = {f"f1_{name}": span_f1(gold, predicted, (name,))["f1"] for name in ENTITY_TYPES}
    figures |= {"f1_five_types": span_f1(gold, predicted, HARE_TYPES)["f1"], **span_f1(gold, predicted)}
    export_trunk(_encoder(model), out)
    export_ner(model, out)
    settings = {"graph": "ner.onnx", "labels": list(bio_labels()), "temperature": 1.0, "threshold": 0.7}
    write_set(out, base, "ner", settings, figures)
    return figures


def _re(segments: Sequence[Segment], base: str, out: Path, plan: Schedule) -> dict[str, float]:
    from medassay.training.export import export_relations, export_trunk, write_set

    train, test = split_tenth(segments, [s.doc for s in segments], plan.seed)
    model, tokenizer = train_re(train, base, plan, shared=SHARED, noise=0.2)
    items = [m for s in test if (m := mark(words_of(tokenizer, s.text), s.entities, s.relations)) is not None]
    gold, predicted, right, entities = [], [], 0, 0
    for item, (linked, stances) in zip(items, predict_relations(model, items)):
        gold.append({pair for pair, yes in zip(item.pairs, item.related) if yes})
        predicted.append({pair for pair, chance in zip(item.pairs, linked) if chance >= 0.5})
        right += int((stances.argmax(1) == np.asarray(item.assertions)).sum())
        entities += len(item.assertions)
    figures = {**set_f1(gold, predicted), "assertion_accuracy": right / max(1, entities)}
    export_trunk(_encoder(model), out)
    export_relations(model, out)
    settings = {
        "graph": "relations.onnx",
        "tags": list(bio_labels()),
        "pairs": [list(p) for p in RELATION_TYPES],
        "assertions": list(ASSERTIONS),
        "threshold": 0.5,
    }
    write_set(out, base, "re", settings, figures)
    return figures


def _expert(pairs: Sequence[ScoredPair], base: str, out: Path, plan: Schedule) -> dict[str, float]:
    from medassay.training.export import export_pairs, export_trunk, write_set

    train, test = split_tenth(pairs, [p.reference for p in pairs], plan.seed)
    model, texts = train_expert(train, base, plan, shared=SHARED)
    bins = predict_expert(model, [scored_item(p, texts) for p in test])
    estimated, truth = bins @ BINS, np.array([p.score for p in test])
    spread = np.maximum(0.3, np.sqrt(np.maximum(0.0, bins @ BINS**2 - estimated**2)))
    figures = expert_figures(truth, estimated)
    export_trunk(_encoder(model), out)
    export_pairs(model, out / "expert.onnx")
    settings = {
        "graph": "expert.onnx",
        "bins": [float(b) for b in BINS],
        "verdicts": list(VERDICTS),
        "calibration": {"slope": 1.0, "shift": 0.0},
        "interval": {"coverage": 0.9, "scaled_half_width": conformal(truth - estimated, spread), "floor": 0.3},
    }
    write_set(out, base, "expert", settings, figures)
    return figures


def conformal(residuals: Any, spread: Any, coverage: float = 0.9) -> float:
    """How many spreads wide a half interval must be to hold `coverage` of held-out residuals.

    >>> conformal(np.array([1.0, -2.0, 0.5]), np.array([1.0, 1.0, 1.0]), 0.5)
    1.0
    """
    scaled = np.sort(np.abs(np.asarray(residuals)) / np.asarray(spread))
    rank = int(np.ceil((len(scaled) + 1) * coverage)) - 1
    return float(scaled[min(rank, len(scaled) - 1)])


def _align(
    concepts: Sequence[Concept], general: Sequence[str], base: str, out: Path, plan: Schedule
) -> dict[str, float]:
    from medassay.training.export import export_embedding, export_trunk, write_set

    test = held_out_concepts([c for c in concepts if len(c.names) > 1], plan.seed)
    hidden = {c.id for c in test}
    train = [c for c in concepts if c.id not in hidden]
    model, texts = train_align(train, list(general) or [c.names[0] for c in concepts], base, plan, SHARED)
    figures = {"synonym_retrieval": retrieval_accuracy(model, texts, test, concepts)}
    export_trunk(_encoder(model), out)
    export_embedding(_encoder(model), out / "align.onnx")
    write_set(out, base, "align", {"graph": "align.onnx", "size": _encoder(model).size}, figures)
    return figures
