"""Text to meaning: sentences, sections, entities, relations, assertions, concepts, the report graph.

>>> from medassay.language import read_reports
>>> [report] = read_reports(["No residual tumour is seen."])
>>> [(entity.text, entity.assertion) for entity in report.entities]
[('residual tumour', 'absent')]

Rules and word lists are data (`lexicons/`). For research and quality assurance, not for clinical decisions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from medassay.lazy import lazy_names

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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "alignment": "align",
        "checks": "looks_english problem",
        "concepts": "link",
        "graph": "Entity Relation Report read_reports",
        "inference": "load_nli",
        "layout": "diagnosis_first",
        "rules": "compare",
    },
)
