"""How good is a metric? Its card on the bundled benchmark, from the scores of every version of every document.

A metric should put faithful paraphrases above versions with an error, keep them apart by a margin that a reader can
see, order graded texts as their levels do, and tell supported claims from the others. Intervals are over documents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from medassay.examples.bench import Document, Version
from medassay.metrics.base import Metric
from medassay.study.correlation import bootstrap, kendall, spearman
from medassay.study.resampling import Estimate, Floats, Mask, interval
from medassay.study.studentised import ratio

MARGIN = 0.01
"""A version counts as lower if it is so by more than this share of the metric's scale."""

CAUGHT = 0.5
"""Share of the wrong versions that the alarm is set to catch when false alarms are counted."""

ALL = "all"
"""The group of documents of every kind."""

_TIE = 1e-6
_BLOCK = 200
"""Resamples held at once."""

Values = Sequence[Floats]
"""By document, a number for each of its versions (or claims); NaN where it has none."""


@dataclass(frozen=True)
class BenchCard:
    """One metric on one group of documents. Rates are 0…1; NaN where nothing can be counted.

    texts: the group, a kind of text or `all`. versions, scored: how many there are, and how many have a number.
    sensitivity: share of pairs where a paraphrase scores above a wrong version of its document by more than the
        margin; 1 is best. Also by kind of error, severity and wording.
    false_alarms: share of paraphrases at or below the score that half of the wrong versions do not exceed; 0 is best.
    copy: share of pairs where the copy scores no lower than a paraphrase. unrelated: share of documents whose
        unrelated text scores below all others.
    spearman, kendall: rank correlation of graded texts' scores with their levels, −1…1, turned so that 1 is best.
    claims: area under the curve, supported claims against the others; contradicted: against contradicted ones.
    scale: what the margin is a share of. medians: the metric's middle value for copies, paraphrases, versions with a
        minor error, with a critical one, and unrelated texts.
    """

    metric: str
    texts: str
    higher_is_better: bool
    signature: str
    documents: int
    versions: int
    scored: int
    scale: float
    sensitivity: Estimate
    by_kind: Mapping[str, Estimate]
    by_severity: Mapping[str, Estimate]
    by_wording: Mapping[str, Estimate]
    false_alarms: Estimate
    copy: Estimate
    unrelated: Estimate
    spearman: Estimate
    kendall: Estimate
    claims: Estimate
    contradicted: Estimate
    medians: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """Plain data: an estimate is its value, low and high, and how many pairs or texts it is over."""

        def plain(value: object) -> object:
            if isinstance(value, Estimate):
                return [_rounded(value.value), _rounded(value.low), _rounded(value.high), value.n]
            if isinstance(value, Mapping):
                return {name: plain(part) for name, part in value.items()}
            return _rounded(value) if isinstance(value, float) else value

        return {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 4)


def bench_cards(
    documents: Sequence[Document],
    metric: Metric,
    versions: Values,
    claims: Values,
    *,
    margin: float = MARGIN,
    resamples: int = 1000,
    seed: int = 1,
) -> list[BenchCard]:
    """The cards of one metric: over all documents, and over each kind of text where there are several.

    Args:
        documents: of the benchmark.
        metric: what is judged: its name, direction, bounds and signature.
        versions: by document, the score of each version against the document.
        claims: by document, the score of each claim.
        margin: share of the scale by which a version must be lower to count as lower.
        resamples: of the bootstrap over documents; 0 for no intervals.
        seed: of the resampling.
    """
    kinds = list(dict.fromkeys(document.kind for document in documents))
    groups = [(ALL, list(range(len(documents))))] if len(kinds) > 1 else []
    groups += [(kind, [i for i, document in enumerate(documents) if document.kind == kind]) for kind in kinds]
    return [
        _Group(
            metric, [documents[i] for i in rows], [versions[i] for i in rows], [claims[i] for i in rows], margin
        ).card(name, resamples, seed)
        for name, rows in groups
    ]


class _Group:
    """The numbers of one metric on some documents, turned so that more is better."""

    def __init__(
        self, metric: Metric, documents: Sequence[Document], versions: Values, claims: Values, margin: float
    ) -> None:
        sign = 1.0 if metric.higher_is_better else -1.0
        self.metric, self.documents = metric, documents
        self.values = [sign * row for row in versions]
        self.claim_values = [sign * row for row in claims]
        self.scale = _scale(metric, self)
        self.margin, self.tie = margin * self.scale, _TIE * self.scale

    def of(self, i: int, form: str, matches: Callable[[Version], bool] = lambda version: True) -> Floats:
        """The numbers of one document's versions of a form; those without a number are left out."""
        selected = [version.form == form and matches(version) for version in self.documents[i].versions]
        row: Floats = self.values[i][np.array(selected, bool)]
        return np.asarray(row[np.isfinite(row)])

    def wrong(self, i: int, matches: Callable[[Version], bool] = lambda version: True) -> Floats:
        """The numbers of one document's versions with an error, self-contradiction included."""
        return np.concatenate([self.of(i, "error", matches), self.of(i, "contradictory", matches)])

    def card(self, texts: str, resamples: int, seed: int) -> BenchCard:
        """Everything that the card says."""

        def lower(matches: Callable[[Version], bool] = lambda version: True) -> Estimate:
            pairs = [(self.of(i, "paraphrase"), self.wrong(i, matches)) for i in range(len(self.documents))]
            return _rate([_above(a, b, self.margin) for a, b in pairs], resamples, seed)

        def each(field: str, values: Iterable[str]) -> dict[str, Estimate]:
            return {value: lower(_having(field, value)) for value in values}

        versions = [version for document in self.documents for version in document.versions]
        kinds = sorted({version.kind for version in versions if version.kind})
        rank = self.rank_agreement(resamples, seed)
        return BenchCard(
            metric=self.metric.name,
            texts=texts,
            higher_is_better=self.metric.higher_is_better,
            signature=str(self.metric.signature),
            documents=len(self.documents),
            versions=len(versions),
            scored=sum(int(np.isfinite(row).sum()) for row in self.values),
            scale=self.scale,
            sensitivity=lower(),
            by_kind=each("kind", kinds),
            by_severity=each("severity", ("critical", "minor")),
            by_wording=each("wording", ("verbatim", "reworded")),
            false_alarms=self.false_alarms(resamples, seed),
            copy=self.copy_not_below(resamples, seed),
            unrelated=self.unrelated_lowest(resamples, seed),
            spearman=rank["spearman"],
            kendall=rank["kendall"],
            claims=self.area(("not_stated", "contradicted"), resamples, seed),
            contradicted=self.area(("contradicted",), resamples, seed),
            medians=self.medians(),
        )

    def medians(self) -> dict[str, float]:
        """The metric's own middle value by form of text; a form without a number is left out."""
        rows = range(len(self.documents))
        groups = {form: [self.of(i, form) for i in rows] for form in ("copy", "paraphrase", "unrelated")}
        for severity in ("minor", "critical"):
            groups[severity] = [self.wrong(i, _having("severity", severity)) for i in rows]
        sign = 1.0 if self.metric.higher_is_better else -1.0
        joined = {form: np.concatenate(numbers) for form, numbers in groups.items()}
        return {form: sign * float(np.median(numbers)) for form, numbers in joined.items() if len(numbers)}

    def copy_not_below(self, resamples: int, seed: int) -> Estimate:
        """Share of pairs where a paraphrase does not score above the copy."""
        rows = range(len(self.documents))
        pairs = [_above(self.of(i, "paraphrase"), self.of(i, "copy"), self.tie) for i in rows]
        return _rate(pairs, resamples, seed).scaled(-1.0, 1.0)

    def unrelated_lowest(self, resamples: int, seed: int) -> Estimate:
        """Share of documents whose unrelated text scores below every other text of it."""
        sums = []
        for i in range(len(self.documents)):
            unrelated = self.of(i, "unrelated")
            rest = np.concatenate([self.of(i, form) for form in ("copy", "paraphrase", "graded")] + [self.wrong(i)])
            if len(unrelated) and len(rest):
                sums.append((float(unrelated.max() < rest.min() - self.tie), 1.0))
        return _rate(sums, resamples, seed)

    def false_alarms(self, resamples: int, seed: int) -> Estimate:
        """The share of paraphrases below the threshold that catches half of the wrong versions."""
        count = len(self.documents)
        wrong, wrong_of = _joined([self.wrong(i) for i in range(count)])
        right, right_of = _joined([self.of(i, "paraphrase") for i in range(count)])
        if not len(wrong) or not len(right):
            return Estimate(math.nan)

        def share(weights: Floats) -> Floats:
            order = np.argsort(wrong, kind="stable")
            running = np.cumsum(weights[:, wrong_of[order]], axis=1)
            reached = np.argmax(running >= CAUGHT * running[:, -1:], axis=1)
            alarmed = right[None, :] <= wrong[order][reached][:, None] + self.tie
            weighted = weights[:, right_of]
            return np.asarray((alarmed * weighted).sum(axis=1) / np.maximum(weighted.sum(axis=1), 1e-12))

        return replace(_resampled(share, count, resamples, seed), n=len(right))

    def rank_agreement(self, resamples: int, seed: int) -> dict[str, Estimate]:
        """Correlation of the graded texts' scores with minus their levels."""
        x, y, owner = [], [], []
        for i, (document, row) in enumerate(zip(self.documents, self.values)):
            for version, value in zip(document.versions, row.tolist()):
                if version.form == "graded" and math.isfinite(value):
                    x.append(value)
                    y.append(-float(version.level))
                    owner.append(i)
        numbers, levels, clusters = np.array(x), np.array(y), np.array(owner, np.int64)
        out = {}
        for name, coefficient in (("spearman", spearman), ("kendall", kendall)):
            value = coefficient(numbers, levels) if len(x) > 2 else math.nan
            ends = (None, None)
            if math.isfinite(value) and resamples:
                drawn = bootstrap(numbers, levels, clusters, len(self.documents), resamples, seed, [name])[name]
                ends = interval(drawn)  # type: ignore[assignment]
            out[name] = Estimate(value, *ends, n=len(x))
        return out

    def area(self, labels: Sequence[str], resamples: int, seed: int) -> Estimate:
        """Area under the curve: how often a supported claim scores above one with these labels, ties half."""
        values, positive, owner = [], [], []
        for i, (document, row) in enumerate(zip(self.documents, self.claim_values)):
            for claim, value in zip(document.claims, row.tolist()):
                if math.isfinite(value) and claim.label in ("supported", *labels):
                    values.append(value)
                    positive.append(claim.label == "supported")
                    owner.append(i)
        truth = np.array(positive, bool)
        if not truth.any() or truth.all():
            return Estimate(math.nan)
        number, rows = np.array(values), np.array(owner, np.int64)

        def areas(weights: Floats) -> Floats:
            return weighted_auc(number, truth, weights[:, rows])

        return replace(_resampled(areas, len(self.documents), resamples, seed), n=len(values))


def _having(field: str, value: str) -> Callable[[Version], bool]:
    """Whether a version has this kind, severity or wording."""
    return lambda version: bool(getattr(version, field) == value)


def _scale(metric: Metric, group: _Group) -> float:
    """The metric's range; where it has none, the distance of the middle copy from the middle unrelated text."""
    low, high = metric.bounds
    if low is not None and high is not None:
        return high - low
    rows = range(len(group.documents))
    ends = [np.concatenate([group.of(i, form) for i in rows]) for form in ("copy", "unrelated")]
    if not all(map(len, ends)):
        return 1.0
    return abs(float(np.median(ends[0]) - np.median(ends[1]))) or 1.0


def _above(better: Floats, worse: Floats, by: float) -> tuple[float, float]:
    """In how many pairs the first is above the second, and how many pairs there are."""
    return float((better[:, None] > worse[None, :] + by).sum()), float(len(better) * len(worse))


def _rate(sums: Sequence[tuple[float, float]], resamples: int, seed: int) -> Estimate:
    """Hits and pairs by document as a share with its interval; documents without a pair are not resampled."""
    hits_and_pairs = np.array(sums).reshape(-1, 2)
    with_pairs = hits_and_pairs[hits_and_pairs[:, 1] > 0]
    return replace(ratio(with_pairs, resamples, seed, (0.0, 1.0)), n=int(with_pairs[:, 1].sum()))


def _joined(rows: Sequence[Floats]) -> tuple[Floats, Any]:
    """All numbers in one array, and the document of each."""
    owner = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return (np.concatenate(rows) if rows else np.zeros(0)), owner


def _resampled(statistic: Callable[[Floats], Floats], count: int, resamples: int, seed: int) -> Estimate:
    """A statistic of document weights, with the interval of its values on resamples of the documents."""
    value = float(statistic(np.ones((1, count)))[0])
    if not resamples:
        return Estimate(value)
    random, drawn = np.random.default_rng(seed), []
    for start in range(0, resamples, _BLOCK):
        size = min(_BLOCK, resamples - start)
        drawn.append(statistic(random.multinomial(count, np.full(count, 1.0 / count), size).astype(float)))
    return Estimate(value, *interval(np.concatenate(drawn)))


def weighted_auc(values: Floats, positive: Mask, weights: Floats) -> Floats:
    """Weighted area under the curve by row of weights; NaN where a row has no weight on one side."""
    order = np.argsort(values, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(values[order])), len(values) - 1)
    weights, positive = weights[:, order], positive[order]
    right = np.cumsum(np.where(positive, weights, 0.0), axis=1)[:, ends]
    wrong = np.cumsum(np.where(positive, 0.0, weights), axis=1)[:, ends]
    of_right = np.diff(right, axis=1, prepend=0.0)
    of_wrong = np.diff(wrong, axis=1, prepend=0.0)
    won = (of_right * (wrong - of_wrong / 2)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(won / (right[:, -1] * wrong[:, -1]))
