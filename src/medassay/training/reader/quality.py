"""Report and note pairs with a quality: one minus the weighed errors per sentence (Ben Abacha et al. 2023, section 4).

An error counts 1 where it is critical and ⅓ where it is not; sentences are those of the longer text. The errors are
known: they were written into the texts, or counted by readers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from medassay.training.reader.consistency import sentences
from medassay.training.reader.material import Pair, read_jsonl

CRITICAL, MINOR = 1.0, 1 / 3

_LONGEST = 1700
"""Characters of both texts of a pair."""


def quality_pairs(data: Path, corpus: Path, seed: int = 1) -> list[Pair]:
    """References and candidates whose errors are known."""
    chooser = random.Random(seed)
    pairs = [*_counted(data), *_written(data, corpus, chooser)]
    return [pair for pair in pairs if len(pair.text) + len(pair.statement) < _LONGEST]


def quality(reference: str, candidate: str, weighed: float) -> float:
    """1 − weighed errors / sentences of the longer text, at least 0.

    >>> quality("No fever. No cough.", "Fever. No cough.", 1.0)
    0.5
    """
    return max(0.0, 1.0 - weighed / max(len(sentences(reference)), len(sentences(candidate)), 1))


def _pair(document: str, reference: str, candidate: str, weighed: float) -> Pair:
    return Pair("quality", document, reference, candidate, quality=quality(reference, candidate, weighed), passes=1.5)


def _counted(data: Path) -> Iterator[Pair]:
    """Summaries of dialogues with counted facts."""
    for record in read_jsonl(data / "mts_dialog/judged_facts.jsonl"):
        critical = record["critical_omitted"] + record["incorrect"]
        minor = record["omitted"] - record["critical_omitted"] + record["hallucinated"]
        yield _pair(record["source"], record["reference"], record["candidate"], CRITICAL * critical + MINOR * minor)


def _written(data: Path, corpus: Path, chooser: random.Random) -> Iterator[Pair]:
    """Rewordings without an error, versions with one, and texts about something else."""
    by_kind: dict[str, list[Any]] = {}
    for path in sorted((corpus / "ladders").glob("*.jsonl")):
        for record in read_jsonl(path):
            by_kind.setdefault(record["kind"], []).append(record["text"])
            yield from (_pair(record["text"], record["text"], other, 0.0) for other in record["paraphrases"])
            for error in record["errors"]:
                weight = CRITICAL if error["severity"] == "critical" else MINOR
                yield _pair(record["text"], record["text"], error["text"], weight)
    for record in read_jsonl(data / "paraphrases/dev.jsonl"):
        text = record["text"]
        by_kind.setdefault(record["kind"], []).append(text)
        yield from (_pair(text, text, record[name], 0.0) for name in ("text", "paraphrase_a", "paraphrase_b"))
        yield _pair(text, text, record["error"], MINOR if record["error_type"] == "omission" else CRITICAL)
    for texts in by_kind.values():
        for text in texts:
            other = chooser.choice(texts)
            if other != text:
                yield _pair(text, text, other, float("inf"))
