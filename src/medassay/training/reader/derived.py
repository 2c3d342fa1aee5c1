"""Pairs of single statements, made from texts whose relation to one another is known.

The ledger asks about one statement at a time. A faithful rewording of a text, split into statements, gives statements
that the text supports; the statement that holds an error's words is contradicted, or not stated where it was invented.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from medassay.language.statements import Statement, split
from medassay.models.excerpts import stems
from medassay.training.reader.consistency import sentence_with
from medassay.training.reader.material import (
    KINDS,
    LABELS,
    Pair,
    Texts,
    find,
    read_jsonl,
)

_LEAST_WORDS = 4
"""Words of a statement that is paired with a text about something else."""

_SHARED = 0.34
"""Share of a statement's words that another text may have where the statement counts as not stated there."""


def derived_pairs(data: Path, corpus: Path, texts: Texts, seed: int = 1) -> Iterator[Pair]:
    """All pairs of single statements."""
    yield from _ladder_statements(corpus)
    yield from _paraphrase_statements(data, seed)
    yield from _passages(data, texts)


def _ladder_statements(corpus: Path) -> Iterator[Pair]:
    for path in sorted((corpus / "ladders").glob("*.jsonl")):
        for record in read_jsonl(path):
            text = record["text"]
            base = Pair(f"statements_ladder_{record['kind']}", text, text, "", LABELS["supported"], passes=0.7)
            for wording in record["paraphrases"]:
                yield from (replace(base, statement=part.text) for part in split(wording))
                yield from (replace(base, text=wording, statement=part.text) for part in split(text))
            for error in record["errors"]:
                yield from _error_statements(base, error)


def _error_statements(base: Pair, error: dict[str, str]) -> Iterator[Pair]:
    """The statements that hold an error's words, against the text; what the error left out, against the version."""
    version, kind = error["text"], error["kind"]
    if kind == "omission":
        for statement in _holding(split(base.text), base.text, error["right"]):
            yield replace(base, text=version, statement=statement.text, label=LABELS["not_stated"], passes=1.5)
        return
    severity = int(error["severity"] == "critical")
    invented = kind == "invention"
    label = "not_stated" if invented else "contradicted"
    kind_number = None if invented else KINDS.get((label, kind), KINDS[label, "other"])
    at = find(base.text, error["right"]) if error["right"] and not invented else None
    for statement in _holding(split(version), version, error["wrong"]):
        pair = replace(base, statement=statement.text, label=LABELS[label], kind=kind_number, at=at, passes=3)
        yield pair if invented else replace(pair, severity=severity)
        if at and (sentence := sentence_with(base.text, error["right"])) and len(sentence) < len(base.text):
            yield replace(pair, text=sentence, at=None, passes=1)


def _holding(statements: Sequence[Statement], text: str, words: str) -> list[Statement]:
    """The statements within which some words stand; none where several statements share them."""
    span = find(text, words) if words else None
    if span is None:
        return []
    holding = [statement for statement in statements if statement.start <= span[0] and span[1] <= statement.end]
    return holding if len(holding) == 1 else []


def _paraphrase_statements(data: Path, seed: int) -> Iterator[Pair]:
    """Statements of faithful rewordings, supported; some of them against another text of the kind, not stated."""
    records = read_jsonl(data / "paraphrases/dev.jsonl")
    chooser = random.Random(seed)
    others = {kind: [r["text"] for r in records if r["kind"] == kind] for kind in {r["kind"] for r in records}}
    for record in records:
        text = record["text"]
        base = Pair(f"statements_{record['kind']}", text, text, "", LABELS["supported"], passes=0.7)
        for wording in (record["paraphrase_a"], record["paraphrase_b"]):
            yield from (replace(base, statement=part.text) for part in split(wording))
        for part in split(text):
            yield replace(base, text=record["paraphrase_a"], statement=part.text)
            yield replace(base, statement=part.text, passes=0.3)
        foreign = chooser.choice(others[record["kind"]])
        for part in split(record["paraphrase_b"])[:4]:
            if foreign != text and _is_foreign(part.text, foreign):
                yield replace(base, text=foreign, statement=part.text, label=LABELS["not_stated"], passes=1)


def _is_foreign(statement: str, text: str) -> bool:
    words = stems(statement)
    return len(words) >= _LEAST_WORDS and len(words & stems(text)) <= _SHARED * len(words)


def _passages(data: Path, texts: Texts) -> Iterator[Pair]:
    """The rewordings of single passages, against the passage alone."""
    for record in read_jsonl(data / "long_errors/dev.jsonl"):
        passage = record["at"]
        base = Pair("passages", texts[record["id"]], passage, record["faithful"], LABELS["supported"], passes=1)
        kind, severity = KINDS.get(("contradicted", record["kind"])), int(record["severity"] == "critical")
        wrong = replace(base, label=LABELS["contradicted"], kind=kind, severity=severity)
        yield base
        yield replace(wrong, statement=record["wrong_reworded"])
        yield replace(wrong, text=record["wrong_verbatim"], statement=record["faithful"])
