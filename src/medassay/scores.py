"""Scores: a number with its evidence, or the reason there is none.

`Score` is one metric's verdict on one case; `Signature` identifies the metric, settings and version behind a number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from medassay.columns import clean

_NUMBERS = frozenset({float, int})
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Score:
    """One metric's verdict on one case: a value, or why there is none. Exactly one of the first three is given.

    value: the number; finite, never a stand-in.
    unscored: why the case cannot be scored (no reference, nothing to assess). A property of the text.
    failed: how the metric broke on it (`ValueError: …`, an endpoint that is down). Never kept in a store.
    parts: named components (`precision`, `recall`, …); they become columns `<metric>.<part>`. One that is not finite
        is left out, and its cell is empty. An unscored case may have some.
    evidence: what the number rests on, as plain JSON data; drawn by the report page.
    statistics: what aggregates are built from (see `Metric.combine`); the value itself by default.
    labels: words that go with the verdict, by column name (`route`: `deploy`); an unscored case may have them.
    """

    value: float | None
    unscored: str | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    evidence: Mapping[str, Any] = field(default_factory=dict)
    statistics: tuple[float, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    failed: str | None = None

    def __post_init__(self) -> None:
        if (self.value is None) + (self.unscored is None) + (self.failed is None) != 2:
            raise ValueError("a score has exactly one of a value, a reason it is unscored, and a reason it failed")
        if self.value is not None:
            if not math.isfinite(self.value):
                raise ValueError(f"a score must be finite, not {self.value}")
            if type(self.value) not in _NUMBERS:  # NumPy's numbers are no JSON
                object.__setattr__(self, "value", float(self.value))
            if not self.statistics:
                object.__setattr__(self, "statistics", (self.value,))
            elif not all(map(math.isfinite, self.statistics)):
                raise ValueError(f"the statistics of a score must be finite, not {self.statistics}")
            elif not _NUMBERS.issuperset(map(type, self.statistics)):
                object.__setattr__(self, "statistics", tuple(map(float, self.statistics)))
        else:
            self._set_reasons()
        if self.parts:
            self._set_parts()
        if self.labels:
            labels = {clean(str(name)): clean(str(label)) for name, label in self.labels.items()}
            object.__setattr__(self, "labels", labels)

    def _set_parts(self) -> None:
        """Parts that are finite, as plain numbers."""
        if not all(map(math.isfinite, self.parts.values())):
            object.__setattr__(self, "parts", {k: part for k, part in self.parts.items() if math.isfinite(part)})
        if not _NUMBERS.issuperset(map(type, self.parts.values())):
            object.__setattr__(self, "parts", {str(k): float(part) for k, part in self.parts.items()})

    def _set_reasons(self) -> None:
        """Reasons that can be written to any file."""
        for name, reason in (("unscored", self.unscored), ("failed", self.failed)):
            if reason is not None and not (isinstance(reason, str) and reason.isprintable()):
                object.__setattr__(self, name, clean(str(reason)))

    @classmethod
    def none(cls, reason: str, labels: Mapping[str, str] | None = None) -> Score:
        """The case is unscored, for this reason."""
        return cls(None, unscored=reason, labels=labels or {})

    @classmethod
    def failure(cls, error: BaseException | str, evidence: Mapping[str, Any] | None = None) -> Score:
        """The metric broke on the case: an exception (`Type: message`), or what happened in words."""
        reason = error if isinstance(error, str) else described(error)
        return cls(None, failed=reason, evidence=evidence or {})

    def to_json(self) -> str:
        """Compact JSON; `from_json` gives back an equal score, to the last bit."""
        if self.failed is not None:
            return _json({"f": self.failed, **({"e": dict(self.evidence)} if self.evidence else {})})
        if self.value is None:
            record: dict[str, Any] = {"u": self.unscored}
        else:
            record = {"v": self.value}
        if self.parts:
            record["p"] = dict(self.parts)
        if self.evidence:
            record["e"] = dict(self.evidence)
        if self.value is not None and self.statistics != (self.value,):
            record["s"] = self.statistics
        if self.labels:
            record["l"] = dict(self.labels)
        return _json(record)

    @classmethod
    def from_json(cls, text: str) -> Score:
        """The inverse of `to_json`."""
        record = json.loads(text)
        if "f" in record:
            return cls.failure(record["f"], record.get("e"))
        if "u" in record:
            fields = {"parts": record.get("p", {}), "evidence": record.get("e", {}), "labels": record.get("l", {})}
            return cls(None, unscored=record["u"], **fields)
        return cls(
            record["v"],
            parts=record.get("p", {}),
            evidence=record.get("e", {}),
            statistics=tuple(record.get("s", ())),
            labels=record.get("l", {}),
        )


def described(error: BaseException) -> str:
    """An exception in one line: `Type: message`; its type alone where it has no message, or none that can be read.

    >>> described(ValueError("no number")), described(MemoryError())
    ('ValueError: no number', 'MemoryError: there is not enough memory')
    """
    if isinstance(error, MemoryError) and not error.args:
        return "MemoryError: there is not enough memory"
    try:
        message = str(error)
    except Exception:
        message = ""
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


class Signature(str):
    """The metric, its settings and the version behind a number, on one line: `rouge1|stem:no|refs:best|v:0.1.0`.

    >>> Signature.build("rouge1", {"stem": False, "refs": "best"}, "0.1.0")
    'rouge1|stem:no|refs:best|v:0.1.0'
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The metric's name, without its settings."""
        return self.split("|", 1)[0]

    @classmethod
    def build(cls, name: str, settings: Mapping[str, object], version: str) -> Signature:
        """Name, then the settings in the order given, then the version."""
        shown = {True: "yes", False: "no", None: "none"}
        fields = [f"{k}:{shown[v] if isinstance(v, bool) or v is None else v}" for k, v in settings.items()]
        return cls("|".join([name, *fields, f"v:{version}"]))
