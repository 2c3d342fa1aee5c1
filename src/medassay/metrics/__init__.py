"""Metrics, one file per family. `base` is the contract, `scoring` what holds for every metric, `registry` the list."""

from medassay.metrics.base import Ensemble, Metric, Part, SetMetric, depends_on_set
from medassay.metrics.registry import (
    BUILT_IN,
    DEFAULT,
    FAMILIES,
    default_metrics,
    load_metric,
    load_metrics,
    metric_class,
    names,
)

__all__ = [
    "BUILT_IN",
    "DEFAULT",
    "FAMILIES",
    "Ensemble",
    "Metric",
    "Part",
    "SetMetric",
    "default_metrics",
    "depends_on_set",
    "load_metric",
    "load_metrics",
    "metric_class",
    "names",
]
