"""Where a metric is measured and how many cases it is given at a time: decided from what it declares."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from medassay.engine.base import BATCH
from medassay.metrics.base import Metric
from medassay.metrics.callables import CallableMetric
from medassay.metrics.scoring import leaves

Placement = Literal["cores", "device", "network"]

_CASES_BY_ROLE = {
    "image": 8,
    "checker": 16,
    "align": 32,
    "encoder": 32,
    "expert": 32,
    "ner": 64,
    "nli": 64,
    "re": 64,
    "quality": 128,
    "likelihood": 256,
    "kge": 512,
}
"""Cases between two writes to the store: a few seconds' work of one core with a model of that role."""
_CASES_OF_ENDPOINT = 16
_CASES_OF_UNKNOWN_CODE = 64
"""Of a metric from outside this package, which may be slow."""


def placement(metric: Metric) -> Placement:
    """Where a metric is measured.

    `cores`: worker processes, one per core. `device`: models that run on torch and fill a graphics card, or all
    cores, by themselves; one thread. `network`: it waits for an endpoint; a process of its own, so that its calls
    are counted in one place and end with the run.
    """
    if metric.waits_for_network:
        return "network"
    return "device" if any(_on_torch(role, spec) for role, spec in metric.roles) else "cores"


def unlimited(metrics: Iterable[Metric]) -> list[str]:
    """The metrics that no time limit per case holds for: those that are not measured by a process per core."""
    return [leaf.name for leaf in leaves(metrics) if placement(leaf) != "cores"]


def checkpoint_every(metric: Metric) -> int:
    """Cases measured between two writes to the store: fewer of a slow metric, so that a kill loses little."""
    if metric.waits_for_network:
        return _CASES_OF_ENDPOINT
    if type(metric).__module__.partition(".")[0] != "medassay" or isinstance(metric, CallableMetric):
        return _CASES_OF_UNKNOWN_CODE
    size = min((_CASES_BY_ROLE.get(role, BATCH) for role, _ in metric.roles), default=BATCH)
    if placement(metric) == "device":
        from medassay.models.loading import load

        # On a graphics card a slice takes a second or so, and small ones would leave it waiting.
        size = max(size, *(int(getattr(load(role, spec), "cases_at_once", 0)) for role, spec in metric.roles))  # type: ignore[call-overload]
    return size


def batch_size(metrics: Iterable[Metric]) -> int:
    """Rows per batch: as many as the slowest metric is given between two writes to the store."""
    return min(map(checkpoint_every, leaves(metrics)), default=BATCH)


def _on_torch(role: str, spec: str) -> bool:
    """Whether a role's model comes from anything but a set of ONNX graphs."""
    from medassay.models.loading import resolve

    source = resolve(role, spec)
    return source != "embedded" and not (Path(source) / "manifest.json").is_file()
