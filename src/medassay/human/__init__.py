"""People: annotation protocols, the study and its event store, the web pages, tables of agreement.

The coefficients themselves are pure functions in `medassay.study.agreement`. This room needs the extra `serve`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medassay.human.protocols import PROTOCOLS as PROTOCOLS
    from medassay.human.protocols import Protocol as Protocol
    from medassay.human.protocols import load_protocol as load_protocol
    from medassay.human.ratings import Rating as Rating
    from medassay.human.ratings import Ratings as Ratings
    from medassay.human.ratings import from_store as from_store
    from medassay.human.store import Store as Store
    from medassay.human.study import Study as Study
    from medassay.human.study import load_study as load_study
    from medassay.human.tables import agreement as agreement
    from medassay.human.tables import system_table as system_table
    from medassay.human.web.app import create_app as create_app

_HOMES = {
    "PROTOCOLS": "protocols",
    "Protocol": "protocols",
    "Rating": "ratings",
    "Ratings": "ratings",
    "Store": "store",
    "Study": "study",
    "agreement": "tables",
    "create_app": "web.app",
    "from_store": "ratings",
    "load_protocol": "protocols",
    "load_study": "study",
    "system_table": "tables",
}

__all__ = [
    "PROTOCOLS",
    "Protocol",
    "Rating",
    "Ratings",
    "Store",
    "Study",
    "agreement",
    "create_app",
    "from_store",
    "load_protocol",
    "load_study",
    "system_table",
]


def __getattr__(name: str) -> Any:
    # On first use: the web framework and the database are not loaded with the room.
    if name in _HOMES:
        return getattr(import_module(f"medassay.human.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'medassay.human' has no attribute '{name}'")
