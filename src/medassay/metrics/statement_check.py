"""The ledger of each case, as `medassay check` writes it: the verdicts are the evidence, the value counts problems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medassay.language.ledger import CRITICAL, Ledger, Texts
from medassay.language.ledger_maker import CERTAIN, MOST_STATEMENTS
from medassay.metrics.ledger_metric import LedgerMetric, Tallies
from medassay.scores import Score


class StatementCheck(LedgerMetric):
    """Statements of the candidate that are wrong or unsupported, and expected ones that it misses: a count from 0.

    It is not in the list of metrics: a count grows with the length of a text. The rates made from the same ledger are
    `facts`, `hallucination` and `omission`. Evidence: `Ledger.to_dict()`. With several references, that of the
    reference with the fewest problems, whose number (from 0) is then under `reference`.
    """

    name = "check"
    summary = "statements that are wrong, unsupported or missing"
    defined = "counted as by Ben Abacha et al. 2023, section 3"
    higher_is_better = False
    bounds = (0.0, None)

    def __init__(self, *, models: str = "embedded") -> None:
        super().__init__(models=models, counts="hard")

    def settings(self) -> Mapping[str, object]:
        limits = {"certain": CERTAIN, "critical": CRITICAL, "most": MOST_STATEMENTS}
        return {"models": self.model_name, **limits, "refs": self.references}

    def count(self, tallies: Tallies) -> Score:
        """Problems of either text; what the candidate contradicts of the reference is counted on its own side."""
        own, expected = tallies.grounded.hard(), tallies.expected.hard()
        return Score(own.contradicted + own.not_stated + expected.not_stated)

    def evidence(self, texts: Texts, ledger: Ledger, tallies: Tallies) -> dict[str, Any]:
        """Every statement with its verdict."""
        return ledger.to_dict()
