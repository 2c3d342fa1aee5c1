"""Scores: a number with its evidence, or the reason there is none.

`Score` is one metric's verdict on one case, `Signature` names what made a number, and `Result` is a
whole run: cases × metrics, with aggregates and intervals.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medassay.cases import Case

if TYPE_CHECKING:
    import pandas
    import polars

    from medassay.metrics.base import Metric
    from medassay.study.summary import Aggregate


_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Score:
    """One metric's verdict on one case.

    value: the number, or None where the case is unscored.
    unscored: why there is no number; None exactly when there is one. Never a stand-in number.
    parts: named components (`precision`, `recall`, …); they become columns `<metric>.<part>`.
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

    def __post_init__(self) -> None:
        if (self.value is None) == (self.unscored is None):
            raise ValueError("a score has either a value or the reason it has none")
        if self.value is not None:
            if not math.isfinite(self.value):
                raise ValueError(f"a score must be finite, not {self.value}")
            if not self.statistics:
                object.__setattr__(self, "statistics", (float(self.value),))

    @classmethod
    def none(cls, reason: str, labels: Mapping[str, str] | None = None) -> Score:
        """The case is unscored, for this reason."""
        return cls(None, unscored=reason, labels=labels or {})

    def to_json(self) -> str:
        """Compact JSON; `from_json` gives back an equal score, to the last bit."""
        if self.value is None:
            said = {"l": dict(self.labels)} if self.labels else {}
            return _json({"u": self.unscored, **said})
        record: dict[str, Any] = {"v": self.value}
        if self.parts:
            record["p"] = dict(self.parts)
        if self.evidence:
            record["e"] = dict(self.evidence)
        if self.statistics != (self.value,):
            record["s"] = self.statistics
        if self.labels:
            record["l"] = dict(self.labels)
        return _json(record)

    @classmethod
    def from_json(cls, text: str) -> Score:
        """The inverse of `to_json`."""
        record = json.loads(text)
        if "u" in record:
            return cls.none(record["u"], record.get("l"))
        return cls(
            record["v"],
            parts=record.get("p", {}),
            evidence=record.get("e", {}),
            statistics=tuple(record.get("s", ())),
            labels=record.get("l", {}),
        )


class Signature(str):
    """What made a number, on one line: `rouge1|stem:no|refs:best|v:0.1.0`.

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


@dataclass(frozen=True)
class Result:
    """A finished run: every case with every metric's score, in input order.

    Aggregates skip unscored cases and say how many there were.
    """

    cases: Sequence[Case]
    metrics: Sequence[Metric]
    scores: Mapping[str, Sequence[Score]]

    def __len__(self) -> int:
        return len(self.cases)

    def __getitem__(self, metric: str) -> Sequence[Score]:
        return self.scores[metric]

    @property
    def mean(self) -> dict[str, float]:
        """Each metric's aggregate over all scored cases (the mean, except where a metric defines its
        own, such as corpus BLEU); NaN where no case is scored."""
        return {row.metric: row.value for row in self.summary(resamples=0)}

    @property
    def signatures(self) -> dict[str, str]:
        """What made each number."""
        return {metric.name: str(metric.signature) for metric in self.metrics}

    def summary(
        self, by: str | None = None, *, cluster: str = "reference", resamples: int = 1000, seed: int = 1
    ) -> list[Aggregate]:
        """Aggregates with 95 % bootstrap intervals, over all cases or for each value of a column.

        Resampling draws whole clusters (`reference`: cases that share their references; or any column;
        or `none`), because several systems on one case are not several independent cases.
        """
        from medassay.study.summary import summarise, tally

        return summarise(tally(self, by=by, cluster=cluster), resamples=resamples, seed=seed)

    def table(self, by: str | None = None) -> str:
        """The summary as plain text."""
        from medassay.report.terminal import summary_text

        return summary_text(self.summary(by))

    def rows(self) -> list[dict[str, Any]]:
        """One flat record a case, as in the scores file."""
        from medassay.outputs import Flat

        flat = Flat(self.metrics)
        return [flat(case, {m.name: self.scores[m.name][i] for m in self.metrics}) for i, case in enumerate(self.cases)]

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas frame (pandas must be installed)."""
        import pandas

        return pandas.DataFrame(self.rows())

    def to_polars(self) -> polars.DataFrame:
        """The rows as a Polars frame (polars must be installed)."""
        import polars

        return polars.DataFrame(self.rows(), infer_schema_length=None)

    def save(self, path: str | Path) -> None:
        """Write the scores file (.csv, .tsv, .jsonl or .parquet) and its `.meta.json`."""
        from medassay.outputs import write

        write(self, Path(path))

    def report(self, path: str | Path, *, title: str = "medassay report") -> None:
        """Write the report page: one HTML file, no network."""
        from medassay.report.page import write_page

        write_page(self, Path(path), title=title)

    def __repr__(self) -> str:
        return f"<Result: {len(self.cases)} cases × {len(self.metrics)} metrics>\n{self.table()}"

    def _repr_html_(self) -> str:
        from medassay.report.page import summary_html

        return summary_html(self.summary())
