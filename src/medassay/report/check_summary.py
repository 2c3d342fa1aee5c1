"""What a run of `medassay check` comes to: counts by group, kinds of errors, and the worst statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from medassay.cases import Case
from medassay.engine.sinks import Sink
from medassay.language.ledger import Ledger, Texts, Verdict, badness
from medassay.language.ledger_view import label
from medassay.metrics.statement_check import StatementCheck
from medassay.scores import Score

WORST = 12
"""Worst statements that are kept of a run."""


@dataclass
class Group:
    """The sums over the cases of one system (or of another column's value).

    counts: see `Ledger.counts`. kinds: how many problems of each label and kind.
    """

    cases: int = 0
    without: int = 0
    """Cases that could not be judged."""
    counts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)

    def share(self, name: str) -> float | None:
        """A count as a share of the statements it is counted among; None where there are none."""
        whole = self.counts["expected" if name in ("missed", "misstated") else "statements"]
        return self.counts[name] / whole if whole else None


@dataclass(frozen=True)
class Example:
    """One problem with where it stands."""

    id: str
    system: str | None
    verdict: Verdict
    quote: str


class CheckSummary(Sink):
    """Counts a run as one of its sinks, in bounded memory.

    by: the column whose values are the groups.
    """

    explained = float("inf")

    def __init__(self, by: str | None = None) -> None:
        self.by = by or "system"
        self.groups: dict[str, Group] = {}
        self.worst: list[Example] = []

    def add(self, case: Case, scores: Mapping[str, Score]) -> None:
        """Take in one case."""
        value = case.value(self.by)
        group = self.groups.setdefault("" if value is None else str(value), Group())
        group.cases += 1
        ledger = ledger_of(case, scores[StatementCheck.name])
        if ledger is None:
            group.without += 1
            return
        group.counts.update(ledger.counts)
        problems = ledger.problems()
        group.kinds.update((label(verdict), verdict.check.kind) for verdict in problems)
        examples = [Example(case.id, case.system, verdict, ledger.quote(verdict)) for verdict in problems[:WORST]]
        self.worst = sorted([*self.worst, *examples], key=lambda one: badness(one.verdict), reverse=True)[:WORST]


def ledger_of(case: Case, score: Score) -> Ledger | None:
    """The ledger that a score of `StatementCheck` rests on; None where the case has none."""
    if score.value is None:
        return None
    which = int(score.evidence.get("reference", 0))
    reference = case.references[which] if case.references else None
    return Ledger.from_dict(score.evidence, Texts(case.candidate, reference, case.source))
