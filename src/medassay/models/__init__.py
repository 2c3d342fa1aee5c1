"""A model for each role, from the embedded set, a local folder or the hub.

>>> from medassay.models import load
>>> load("encoder").embed(["no residual tumour"]).shape
(1, 384)

The contracts of the roles (`Encoder`, `NliModel` …) stand in `medassay.models.base`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from medassay.lazy import lazy_names

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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "base": "Matrix",
        "fetching": "fetch",
        "graphs": "ModelSet",
        "loading": "PAPER ROLES load model_set resolve unload",
        "sources": "for_metric",
    },
)
