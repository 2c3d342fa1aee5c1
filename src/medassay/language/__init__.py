"""Text to meaning: sentences, sections, entities, relations, assertions, concepts, the report graph.

>>> from medassay.language import read_reports
>>> [report] = read_reports(["No residual tumour is seen."])
>>> [(entity.text, entity.assertion) for entity in report.entities]
[('residual tumour', 'absent')]

Rules and word lists are data (`lexicons/`). For research and quality assurance, not for clinical decisions.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medassay.language.alignment import align as align
    from medassay.language.checks import looks_english as looks_english
    from medassay.language.checks import problem as problem
    from medassay.language.concepts import link as link
    from medassay.language.graph import Entity as Entity
    from medassay.language.graph import Relation as Relation
    from medassay.language.graph import Report as Report
    from medassay.language.graph import read_reports as read_reports
    from medassay.language.inference import load_nli as load_nli
    from medassay.language.layout import diagnosis_first as diagnosis_first
    from medassay.language.rules import compare as compare

_HOMES = {
    "Entity": "graph",
    "Relation": "graph",
    "Report": "graph",
    "align": "alignment",
    "compare": "rules",
    "diagnosis_first": "layout",
    "link": "concepts",
    "load_nli": "inference",
    "looks_english": "checks",
    "problem": "checks",
    "read_reports": "graph",
}

__all__ = [
    "Entity",
    "Relation",
    "Report",
    "align",
    "compare",
    "diagnosis_first",
    "link",
    "load_nli",
    "looks_english",
    "problem",
    "read_reports",
]


def __getattr__(name: str) -> Any:
    # On first use: whoever imports a part of this room does not load the models.
    if name in _HOMES:
        return getattr(import_module(f"medassay.language.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'medassay.language' has no attribute '{name}'")
