"""Runs: the local engine and Ray behind one interface, the store of results, and the jobs of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from medassay.engine.base import Engine

ENGINES = ("local", "ray")


def load_engine(name: str, *, workers: int | None = None, address: str | None = None) -> Engine:
    """The engine of that name. workers: processes (None: one per core); address: of a Ray cluster."""
    from medassay.errors import MedassayError, UnknownName, nearest

    if name not in ENGINES:
        raise UnknownName(f"no engine '{name}'{nearest(name, ENGINES) or '.'} Engines: {', '.join(ENGINES)}")
    if name == "ray":
        from medassay.engine.ray import Ray

        return Ray(workers, address)
    if address is not None:
        raise MedassayError(f"--address {address} names a Ray cluster: add --engine ray, or leave it out")
    from medassay.engine.local import Local

    return Local(workers)
