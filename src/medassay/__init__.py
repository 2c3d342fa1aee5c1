"""medassay judges machine-written medical text: pathology reports, clinical notes, summaries.

    >>> import medassay
    >>> result = medassay.score(["No tumor seen."], ["No tumour is seen."], metrics=["rouge1"])
    >>> round(result.mean["rouge1"], 3)
    0.571

For research and quality assurance, not for clinical decisions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from medassay.lazy import lazy_names

__version__ = "0.2.0"

if TYPE_CHECKING:
    from medassay.api import check as check
    from medassay.api import load_metric as load_metric
    from medassay.api import score as score
    from medassay.api import trust as trust
    from medassay.cases import Case as Case
    from medassay.cases import read_cases as read_cases
    from medassay.errors import MedassayError as MedassayError
    from medassay.language.ledger import Ledger as Ledger
    from medassay.metrics.base import Metric as Metric
    from medassay.result import Result as Result
    from medassay.scores import Score as Score
    from medassay.scores import Signature as Signature
    from medassay.serving.scorer import Scorer as Scorer

__all__ = [
    "Case",
    "Ledger",
    "MedassayError",
    "Metric",
    "Result",
    "Score",
    "Scorer",
    "Signature",
    "check",
    "load_metric",
    "read_cases",
    "score",
    "trust",
]

# `import medassay` and `medassay --help` stay instant.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "api": "check load_metric score trust",
        "cases": "Case read_cases",
        "errors": "MedassayError",
        "language.ledger": "Ledger",
        "metrics.base": "Metric",
        "result": "Result",
        "scores": "Score Signature",
        "serving.scorer": "Scorer",
    },
)
