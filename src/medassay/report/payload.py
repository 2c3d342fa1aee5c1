"""The cases of a report page as one block of data, small enough for the page and safe inside it.

Texts are held once however many systems share them, match spans are written as differences, and a
block of more than a megabyte is compressed. Where the block would outgrow its budget, evidence of the
later cases goes first, then the later cases themselves; the page says so.
"""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medassay.cases import Case
from medassay.metrics.base import Metric
from medassay.scores import Score

PLAIN = 1_000_000
"""Bytes up to which the data stays readable JSON; more is compressed."""

TEXT = 60_000
"""Characters of one text that the page carries; the rest is cut, and marked as cut."""

_UNSAFE = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Block:
    """The encoded data, JSON either way: an object, or a string of base64 over deflate.

    `cases` are in it, the first `explained` of them with their evidence.
    """

    text: str
    cases: int
    explained: int


class Payload:
    """Collects cases with their scores, and encodes them."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.metrics = metrics
        self.records: list[dict[str, Any]] = []
        self.size = 0
        self.explained: int | None = None  # the first cases that have evidence; None: all

    def add(self, case: Case, scores: Mapping[str, Score], *, explained: bool = True) -> None:
        """Add one case, with or without its evidence; `size` counts the characters of its texts."""
        if not explained and self.explained is None:
            self.explained = len(self.records)
        listed = [scores[metric.name] for metric in self.metrics]
        record = case_record(case)
        record["v"] = [None if score.value is None else round(score.value, 6) for score in listed]
        optional = {
            "p": {i: _parts(score, self.metrics[i]) for i, score in enumerate(listed) if score.parts},
            "u": {i: clean(score.unscored)[:500] for i, score in enumerate(listed) if score.unscored is not None},
            "f": {i: clean(score.failed)[:500] for i, score in enumerate(listed) if score.failed is not None},
            "e": {
                i: _evidence(s.evidence) for i, s in enumerate(listed) if explained and s.evidence and s.failed is None
            },
        }
        self.size += sum(map(len, (record["c"], record.get("o", ""), *record["r"])))
        self.records.append(record | {name: value for name, value in optional.items() if value})

    def encode(self, head: Mapping[str, Any], budget: int) -> Block:
        """The data as script text of at most `budget` characters, with as many cases and as much of
        their evidence as that allows (cases may take three quarters of it where there is evidence)."""
        keep = len(self.records)
        given = explained = keep if self.explained is None else self.explained
        block = self._block(head, keep, explained)
        if len(block.text) <= budget:
            return block
        full = len(block.text)
        block = self._block(head, keep, 0)
        cost = max(1.0, (full - len(block.text)) / max(given, 1))
        limit = int(budget * (0.75 if any("e" in record for record in self.records) else 1.0))
        while len(block.text) > limit and keep > 0:
            keep = min(keep - 1, int(keep * limit / len(block.text) * 0.97))
            block = self._block(head, keep, 0)
        explained = min(keep, given, int((budget - len(block.text)) / cost))
        while explained > 0:
            attempt = self._block(head, keep, explained)
            if len(attempt.text) <= budget:
                return attempt
            explained = int(explained * 0.85)
        return block

    def _block(self, head: Mapping[str, Any], keep: int, explained: int) -> Block:
        texts: dict[str, int] = {}

        def text_index(text: str) -> int:
            return texts.setdefault(text, len(texts))

        cases = []
        for i, record in enumerate(self.records[:keep]):
            packed = record | {"c": text_index(record["c"]), "r": [text_index(text) for text in record["r"]]}
            if "o" in record:
                packed["o"] = text_index(record["o"])
            if i >= explained and "e" in packed:
                packed["e"] = {}
            cases.append(packed)
        data = {**head, "texts": list(texts), "cases": cases}
        plain = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        if len(plain) <= PLAIN:
            return Block(plain.translate(_UNSAFE), keep, explained)
        # Level and format are fixed: the same cases give the same bytes.
        packed_bytes = zlib.compress(plain.encode("utf-8"), 9)
        return Block(f'"{base64.b64encode(packed_bytes).decode("ascii")}"', keep, explained)


def case_record(case: Case) -> dict[str, Any]:
    """What the page knows of a case whatever was measured: id, system, row, texts, carried columns."""
    record: dict[str, Any] = {
        "i": clean(case.id),
        "s": None if case.system is None else clean(case.system),
        "n": case.row,
        "c": _cut(case.candidate),
        "r": [_cut(reference) for reference in case.references],
    }
    optional = {
        "o": case.source and _cut(case.source),
        "m": case.image and clean(case.image),
        "x": {clean(name): _tidy(value) for name, value in case.extra.items() if value not in (None, "")},
    }
    return record | {name: value for name, value in optional.items() if value}


def clean(text: str) -> str:
    """Lone surrogates cannot be written as UTF-8; each becomes one U+FFFD, so offsets stay true."""
    return _SURROGATE.sub("\ufffd", text)


def _cut(text: str) -> str:
    return clean(text) if len(text) <= TEXT else clean(text[:TEXT]) + " […]"


def _parts(score: Score, metric: Metric) -> list[float | None]:
    return [_rounded(score.parts.get(part)) for part in metric.parts]


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 6)


def _evidence(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Plain JSON; `matches` become one flat list of differences, a quarter of the size."""
    packed = {clean(str(name)): _tidy(value) for name, value in evidence.items() if name != "matches"}
    if "matches" in evidence:
        try:
            packed["matches"] = _deltas(evidence["matches"])
        except (KeyError, TypeError, ValueError):  # another's metric; shown as it is, not drawn
            packed["matches (not in the known form)"] = _tidy(evidence["matches"])
    return packed


def _deltas(matches: Sequence[Mapping[str, Sequence[int]]]) -> list[int]:
    """candidate start (from the last start), length, reference start (from the last start), length, …"""
    flat: list[int] = []
    candidate = reference = 0
    for match in matches:
        (a, b), (c, d) = match["candidate"], match["reference"]
        flat += [int(a) - candidate, int(b) - int(a), int(c) - reference, int(d) - int(c)]
        candidate, reference = int(a), int(c)
    return flat


def _tidy(value: Any) -> Any:
    """Any value as JSON that a browser can parse: numbers finite, texts without surrogates."""
    if isinstance(value, str):
        return clean(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Mapping):
        return {clean(str(name)): _tidy(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_tidy(item) for item in value]
    try:
        return _rounded(float(value))
    except (TypeError, ValueError):
        return clean(str(value))
