"""Metrics over cases: source -> engine -> sinks, the store of results, scores files and tables of scores."""

from __future__ import annotations

from medassay.engine.base import CaseFiles, Engine, Scored, Source
from medassay.engine.job import Failures, Job, Outcome
from medassay.engine.local import Local, score_cases
from medassay.engine.scores_file import FlatRecords, ScoresFile
from medassay.engine.sinks import DistributionFile, EvidenceFile, RouteCount, Sink
from medassay.engine.store import Store
from medassay.errors import MedassayError, UnknownName, nearest

__all__ = [
    "ENGINES",
    "CaseFiles",
    "DistributionFile",
    "Engine",
    "EvidenceFile",
    "Failures",
    "FlatRecords",
    "Job",
    "Local",
    "Outcome",
    "RouteCount",
    "Scored",
    "ScoresFile",
    "Sink",
    "Source",
    "Store",
    "load_engine",
    "score_cases",
]

ENGINES = ("local", "ray")


def load_engine(
    name: str, *, workers: int | None = None, address: str | None = None, case_timeout: float | None = None
) -> Engine:
    """The engine of that name.

    Args:
        workers: processes; None: one per core.
        address: of a Ray cluster; None: one of our own on this machine.
        case_timeout: seconds that a metric may take for one case (local engine).
    """
    if name not in ENGINES:
        raise UnknownName(f"no engine '{name}'{nearest(name, ENGINES) or '.'} Engines: {', '.join(ENGINES)}")
    if name == "ray":
        if case_timeout is not None:
            raise MedassayError("--case-timeout is kept by the local engine; leave it out, or --engine ray")
        from medassay.engine.ray import Ray

        return Ray(workers, address)
    if address is not None:
        raise MedassayError(f"--address {address} names a Ray cluster: add --engine ray, or leave it out")
    return Local(workers, case_timeout=case_timeout)
