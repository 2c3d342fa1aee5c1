"""A model for each role, from the embedded set, a local folder or the hub.

>>> from medassay.models import load
>>> load("encoder").embed(["no residual tumour"]).shape
(1, 384)
"""

from __future__ import annotations

from medassay.models.loading import ROLES, load

__all__ = ["ROLES", "load"]
