"""A model for each role, from the embedded set, a local folder or the hub.

>>> from medassay.models import load
>>> load("encoder").embed(["no residual tumour"]).shape
(1, 384)

The contracts of the roles (`Encoder`, `NliModel` …) stand in `medassay.models.base`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medassay.models.base import Matrix as Matrix
    from medassay.models.fetching import fetch as fetch
    from medassay.models.graphs import ModelSet as ModelSet
    from medassay.models.loading import PAPER as PAPER
    from medassay.models.loading import ROLES as ROLES
    from medassay.models.loading import load as load
    from medassay.models.loading import model_set as model_set
    from medassay.models.loading import resolve as resolve
    from medassay.models.loading import unload as unload
    from medassay.models.sources import for_metric as for_metric

__all__ = ["PAPER", "ROLES", "Matrix", "ModelSet", "fetch", "for_metric", "load", "model_set", "resolve", "unload"]

_HOMES = {"Matrix": "base", "ModelSet": "graphs", "fetch": "fetching", "for_metric": "sources"}


def __getattr__(name: str) -> Any:
    # On first use: whoever imports a part of this room does not load what runs models.
    if name in __all__:
        return getattr(import_module(f"medassay.models.{_HOMES.get(name, 'loading')}"), name)
    raise AttributeError(f"module 'medassay.models' has no attribute '{name}'")
