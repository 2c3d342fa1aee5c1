"""Material for the `nli` role: does a statement follow from another, contradict it, or neither?

Four sources. Labelled pairs (CSV or JSONL: premise, hypothesis, label). *Direct* premises with hypotheses of
each label. *Profiles*: for a diagnosis, premises that decide it and vague ones that do not, what follows, what is
excluded, what stays open; every premise meets every hypothesis of its profile, so that knowledge is learned from
all sides and no hypothesis carries its label by itself. *Real sentences* changed by rule: an error in place
contradicts, a rewording follows, another sentence of the same text is neither.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from medassay.errors import InputError
from medassay.language.sentences import sentences
from medassay.study.changes import change
from medassay.training.cross import PairItem, PairTexts

LABELS = ("entailment", "neutral", "contradiction")


@dataclass(frozen=True, slots=True)
class NliPair:
    """A premise, a hypothesis and the label's place in `LABELS`."""

    premise: str
    hypothesis: str
    label: int
    topic: str = ""
    weight: float = 1.0


def _open(path: Path) -> str:
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
            return lines.read()
    return path.read_text(encoding="utf-8")


def read_nli(path: Path, weight: float = 1.0) -> list[NliPair]:
    """Labelled pairs of a CSV or JSONL file (.gz too) with `premise`, `hypothesis`, `label`."""
    text = _open(path)
    if ".jsonl" in path.name:
        rows: list[dict[str, str]] = [json.loads(line) for line in text.splitlines() if line.strip()]
    else:
        csv.field_size_limit(sys.maxsize)
        rows = list(csv.DictReader(text.splitlines()))
    pairs = []
    for number, row in enumerate(rows, 1):
        label = row.get("label")
        if label not in LABELS:
            raise InputError(f"{path}: row {number}: label '{label}' is none of {', '.join(LABELS)}")
        pairs.append(
            NliPair(row["premise"], row["hypothesis"], LABELS.index(label), row.get("topic") or "general", weight)
        )
    return pairs


def read_direct(path: Path) -> list[NliPair]:
    """Premises with lists of hypotheses under the labels' names."""
    rows = [json.loads(line) for line in _open(path).splitlines() if line.strip()]
    return [
        NliPair(row["premise"], text, i, row.get("topic", ""))
        for row in rows
        for i, label in enumerate(LABELS)
        for text in row[label]
    ]


def read_profiles(path: Path, seed: int = 0) -> list[NliPair]:
    """The pairs of every profile, and strangers: a premise against the diagnosis of a profile of another site."""
    rows = [json.loads(line) for line in _open(path).splitlines() if line.strip()]
    chooser = random.Random(seed)
    return [pair for row in rows for pair in _of_profile(row, rows, chooser)]


def _of_profile(
    row: dict[str, list[str]], rows: Sequence[dict[str, list[str]]], chooser: random.Random
) -> Iterator[NliPair]:
    topic = "morphology_to_diagnosis"
    for premise in row["premises"]:
        for label, key in enumerate(("entails", "neutral", "contradicts")):
            for text in row[key]:
                yield NliPair(premise, text, label, topic)
        others = [one for one in rows if one["site"] != row["site"]]
        for one in chooser.sample(others, min(2, len(others))):
            yield NliPair(premise, one["entails"][0], 2, topic, 0.5)
            yield NliPair(chooser.choice(one["premises"]), row["entails"][0], 2, topic, 0.5)
    for premise in row.get("vague", ()):
        # Too weak to decide: the diagnosis itself, its rivals and everything open stay open.
        for text in [*row["entails"][:3], *row["neutral"]]:
            yield NliPair(premise, text, 1, topic)
        for text in row["contradicts"][:2]:
            yield NliPair(premise, text, 1, topic, 0.4)
    name = row["entails"][0]
    for label, key in ((0, "features"), (2, "foreign")):
        for text in row.get(key, ()):
            # A typical feature is compatible with the diagnosis, no more: it does not decide it.
            yield NliPair(f"{text[:1].upper()}{text[1:]}.", name, 1 if label == 0 else 2, topic, 0.5)


_DENIED = ("negation", "laterality", "grade", "measurement", "marker", "diagnosis", "site")


def from_texts(texts: Sequence[str], seed: int, weight: float = 0.5) -> list[NliPair]:
    """Pairs made by rule from the sentences of real texts, up to three a text."""
    chooser = random.Random(seed)
    pairs = []
    for text in texts:
        parts = [text[a:b].strip() for a, b in sentences(text)]
        parts = [part for part in parts if 4 <= len(part.split()) <= 45]
        if len(parts) < 2:
            continue
        one, other = chooser.sample(parts, 2)
        for kind in chooser.sample(_DENIED, len(_DENIED)):
            made = change(one, kind, chooser.randrange(10**6))
            if isinstance(made, str):
                pairs.append(NliPair(one, made, 2, "rule", weight))
                break
        for kind in chooser.sample(("synonym", "abbreviation"), 2):
            made = change(one, kind, chooser.randrange(10**6))
            if isinstance(made, str):
                pairs.append(NliPair(one, made, 0, "rule", weight))
                break
        pairs.append(NliPair(one, other, 1, "rule", weight))
    return pairs


def nli_item(pair: NliPair, texts: PairTexts) -> PairItem:
    """The pair, tokenised."""
    return texts.pair(pair.premise, pair.hypothesis, (float(pair.label),), pair.weight)
