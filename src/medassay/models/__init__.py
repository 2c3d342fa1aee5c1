"""A model for each role, from the embedded set, a local folder or the hub.

>>> from medassay.models import load
>>> load("encoder").embed(["no residual tumour"]).shape
(1, 384)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medassay.models.loading import ROLES as ROLES
    from medassay.models.loading import load as load

__all__ = ["ROLES", "load"]


def __getattr__(name: str) -> Any:
    # On first use: the command line mounts its `models` commands without loading what runs models.
    if name in __all__:
        from medassay.models import loading

        return getattr(loading, name)
    raise AttributeError(f"module 'medassay.models' has no attribute '{name}'")
