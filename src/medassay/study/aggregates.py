"""The aggregate of each metric by system, as `medassay score` prints it, with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from medassay.engine.score_table import ScoreTable
from medassay.metrics.base import Metric
from medassay.study.pairing import Pairing
from medassay.study.resampling import Estimate, Floats, Ints
from medassay.study.studentised import FEW_CLUSTERS, Studentised, bootstrap_t, quotient


@dataclass(frozen=True)
class Series:
    """One metric's scores, row by row.

    values: [rows], NaN where a row is unscored.
    statistics: [rows, k], the terms of the aggregate: the value itself where the aggregate is the mean.
    metric: combines the statistics of a corpus-level metric; None where the aggregate is the mean.
    """

    values: Floats
    statistics: Floats
    metric: Metric | None = None

    @property
    def corpus(self) -> bool:
        """Whether the aggregate is a corpus-level value and not the mean."""
        return self.metric is not None

    def combine(self, sums: Floats) -> Floats:
        """The aggregate from sums of the statistics, the last of which counts the rows."""
        if self.metric is None:
            return quotient(sums)
        return self.metric.combine(sums[..., :-1], sums[..., -1])

    @staticmethod
    def cluster_sums(terms: Floats, clusters: Ints, count: int = 0) -> Floats:
        """[rows, k] summed by cluster, for `count` clusters at least."""
        return np.stack([np.bincount(clusters, column, count) for column in terms.T], axis=1)


def series_of(scores: ScoreTable, metric: str) -> Series:
    """A metric's column; at corpus level where the table has the statistics of every scored row."""
    values = scores.numbers(metric)
    combiner = scores.corpus_metric(metric)
    if combiner is not None:
        statistics = scores.statistics[metric]
        scored = ~np.isnan(values)
        if statistics.shape[1] and not np.isnan(statistics[scored]).any():
            return Series(values, statistics, combiner)
    return Series(values, values[:, None])


def aggregates(
    series: Mapping[str, Series], paired: Pairing, resamples: int, seed: int
) -> dict[str, dict[str, Estimate]]:
    """By metric and system, the aggregate over the system's scored rows with its 95 % interval over clusters."""
    estimates: dict[str, dict[str, Estimate]] = {metric: {} for metric in series}
    clusters = paired.row_clusters
    count = int(clusters.max(initial=0)) + 1
    shared: list[tuple[str, str, Floats]] = []
    for metric, column in series.items():
        for code, system in enumerate(paired.systems):
            rows = np.flatnonzero((paired.system_of_row == code) & ~np.isnan(column.values))
            estimates[metric][system] = Estimate(math.nan)
            if not len(rows):
                continue
            terms = np.concatenate([column.statistics[rows], np.ones((len(rows), 1))], axis=1)
            sums = column.cluster_sums(terms, clusters[rows], count)
            if (sums[:, -1] > 0).sum() >= FEW_CLUSTERS:
                shared.append((metric, system, sums))
            else:
                own = sums[sums[:, -1] > 0]
                (statistic,) = bootstrap_t([(own, column.combine)], resamples, seed)
                estimates[metric][system] = _estimate(statistic, len(rows))
    blocks = ((sums, series[metric].combine) for metric, _, sums in shared)
    for (metric, system, sums), statistic in zip(shared, bootstrap_t(blocks, resamples, seed)):
        estimates[metric][system] = _estimate(statistic, int(sums[:, -1].sum()))
    return estimates


def _estimate(statistic: Studentised, n: int) -> Estimate:
    low, high = statistic.interval()
    return Estimate(statistic.value, low, high, n=n)
