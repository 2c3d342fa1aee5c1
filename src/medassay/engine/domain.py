"""Are the texts of a run of the kind that its metrics are made for? Counted as the cases go by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medassay.cases import Case
from medassay.engine.sinks import Sink
from medassay.language.domain import PATHOLOGY, reads_as_report
from medassay.metrics.base import Metric, members_of
from medassay.scores import Score

LEAST_SHARE = 0.25
"""Share of the rows from which a run is warned about: unusual reports among the others read as something else too."""


class DomainCheck(Sink):
    """Counts the rows whose reference (the candidate, where there is none) does not read like a pathology report.

    Only where a metric of the run is made for pathology reports; it then says so from a quarter of the rows on.
    """

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.names = [metric.name for metric in metrics if _made_for(metric, PATHOLOGY)]
        self.rows = self.others = 0
        self.known: dict[str, bool] = {}

    def add(self, case: Case, scores: Mapping[str, Score]) -> None:
        """Look at one case, where a metric in question has scored it."""
        if any(scores[name].value is not None for name in self.names):
            self.rows += 1
            self.others += not self._is_report(case.reference or case.candidate)

    def _is_report(self, text: str) -> bool:
        # Texts repeat, a reference for each system; a few hundred answers are enough to profit from that.
        if text not in self.known:
            if len(self.known) >= 500:
                self.known.clear()
            self.known[text] = reads_as_report(text)
        return self.known[text]

    def remarks(self) -> Sequence[str]:
        """The warning, where there is one."""
        if not self.rows or self.others < LEAST_SHARE * self.rows:
            return ()
        verb, number = ("is made", "its number") if len(self.names) == 1 else ("are made", "their numbers")
        return (
            f"{', '.join(self.names)} {verb} for pathology reports, and {self.others:,} of {self.rows:,} rows "
            f"({100 * self.others / self.rows:.0f} %) do not read like one; nothing stands behind {number} there "
            "(see docs/which-metric.md)",
        )


def _made_for(metric: Metric, kind: str) -> bool:
    """Whether a metric, or one that it is made of, is made for this kind of text."""
    return metric.made_for == kind or any(_made_for(member, kind) for member in members_of(metric))
