"""Counts of a run of `medassay check` by group, with the worst statements, and the same in the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from medassay.cases import Case
from medassay.engine.sinks import Sink
from medassay.language.ledger import Ledger, Texts, Verdict, badness
from medassay.language.ledger_view import describe, label
from medassay.metrics.statement_check import StatementCheck
from medassay.report.terminal import Column, note, print_table, printable
from medassay.scores import Score

WORST = 12
"""Worst statements that are kept of a run."""


@dataclass
class GroupCounts:
    """Counts over the cases of one system (or of another column's value).

    counts: see `Ledger.counts`. kinds: how many problems of each label and kind.
    """

    cases: int = 0
    unjudged: int = 0
    """Cases that could not be judged."""
    counts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)

    def share(self, name: str) -> float | None:
        """A count as a share of the statements it is counted among; None where there are none."""
        whole = self.counts["expected" if name in ("missed", "misstated") else "statements"]
        return self.counts[name] / whole if whole else None


@dataclass(frozen=True)
class Example:
    """One problem and its case."""

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
        self.groups: dict[str, GroupCounts] = {}
        self.worst: list[Example] = []

    def add(self, case: Case, scores: Mapping[str, Score]) -> None:
        """Take in one case."""
        value = case.value(self.by)
        group = self.groups.setdefault("" if value is None else str(value), GroupCounts())
        group.cases += 1
        ledger = ledger_of(case, scores[StatementCheck.name])
        if ledger is None:
            group.unjudged += 1
            return
        group.counts.update(ledger.counts)
        problems = ledger.problems()
        group.kinds.update((label(verdict), verdict.check.kind) for verdict in problems)
        examples = [Example(case.id, case.system, verdict, ledger.quote(verdict)) for verdict in problems[:WORST]]
        self.worst = sorted([*self.worst, *examples], key=lambda example: badness(example.verdict), reverse=True)[
            :WORST
        ]


def ledger_of(case: Case, score: Score) -> Ledger | None:
    """The ledger that a score of `StatementCheck` rests on; None where the case has none."""
    if score.value is None:
        return None
    which = int(score.evidence.get("reference", 0))
    reference = case.references[which] if case.references else None
    return Ledger.from_dict(score.evidence, Texts(case.candidate, reference, case.source))


SHOWN = 6
"""Worst statements that are printed."""

_LONGEST = 240
"""Characters of a quotation."""

_STYLES = {"contradicted": "bold red", "not_stated": "yellow"}


def print_check(console: Console, summary: CheckSummary) -> None:
    """The counts of every group, then the worst statements with the words that decide them."""
    groups = summary.groups
    columns = [Column(summary.by, [printable(name) if name else "–" for name in groups], justify="left", fold=True)]
    columns = columns if len(groups) > 1 or any(groups) else []
    columns += [
        Column("cases", [f"{group.cases:,}" for group in groups.values()]),
        _counted("statements", "statements", summary, drop_order=2),
        _counted("supported", "supported", summary, share=True, drop_order=3),
        _counted("wrong", "contradicted", summary, share=True),
        _counted("unsupported", "not_stated", summary, share=True),
        _counted("expected", "expected", summary, drop_order=1),
        _counted("missing", "missed", summary, share=True),
        _counted("critical", "critical", summary),
    ]
    if any(group.unjudged for group in groups.values()):
        columns.append(Column("not judged", [f"{group.unjudged:,}" for group in groups.values()]))
    print_table(console, columns)
    note(
        console,
        "Statements of the candidate: supported, wrong (contradicted) or unsupported by reference and source. "
        "Expected: statements of the reference, else of the source; missing: those that the candidate does not state.",
    )
    if summary.worst:
        console.print()
        console.print(Text("Worst statements", style="bold"))
        for example in summary.worst[:SHOWN]:
            _print_example(console, example)
    console.print()
    note(console, "For research and quality assurance, not for clinical decisions.")


def _counted(header: str, name: str, summary: CheckSummary, *, share: bool = False, drop_order: int = 0) -> Column:
    return Column(header, [_cell(group, name, share) for group in summary.groups.values()], drop_order=drop_order)


def _cell(group: GroupCounts, name: str, share: bool) -> str:
    rate = group.share(name) if share else None
    return f"{group.counts[name]:,}" + ("" if rate is None else f" ({100 * rate:.0f} %)")


def _print_example(console: Console, example: Example) -> None:
    verdict = example.verdict
    where = " · ".join(printable(part) for part in (example.id, example.system) if part)
    head = Text(describe(verdict), style=_STYLES[verdict.verdict])
    chance = max(verdict.check.probabilities)
    _print_block(console, Text.assemble(head, f"  {where}", (f"  p {chance:.2f}", "dim")), 1)
    _print_block(console, Text(f"{verdict.of}: “{printable(_flat(verdict.statement.text), _LONGEST)}”"), 3)
    if example.quote:
        _print_block(console, Text(f"{verdict.against}: “{printable(_flat(example.quote), _LONGEST)}”", style="dim"), 3)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _print_block(console: Console, text: Text, indent: int) -> None:
    """Indented, and wrapped to the width of a terminal; in a pipe each block is one line."""
    if console.is_terminal:
        console.print(Padding(text, (0, 0, 0, indent)))
    else:
        console.print(Text(" " * indent) + text, soft_wrap=True)
