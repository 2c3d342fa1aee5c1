"""People: annotation protocols, the study and its event store, the web pages, tables of agreement.

The coefficients themselves are pure functions in `medassay.study.agreement`. This room needs the extra `serve`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from medassay.lazy import lazy_names

if TYPE_CHECKING:
    from medassay.human.live import from_store as from_store
    from medassay.human.protocols import PROTOCOLS as PROTOCOLS
    from medassay.human.protocols import Protocol as Protocol
    from medassay.human.protocols import load_protocol as load_protocol
    from medassay.human.ratings import Rating as Rating
    from medassay.human.ratings import Ratings as Ratings
    from medassay.human.store import Store as Store
    from medassay.human.study import Study as Study
    from medassay.human.study import load_study as load_study
    from medassay.human.tables import agreement as agreement
    from medassay.human.tables import system_table as system_table
    from medassay.human.web.app import create_app as create_app

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "live": "from_store",
        "protocols": "PROTOCOLS Protocol load_protocol",
        "ratings": "Rating Ratings",
        "store": "Store",
        "study": "Study load_study",
        "tables": "agreement system_table",
        "web.app": "create_app",
    },
)
