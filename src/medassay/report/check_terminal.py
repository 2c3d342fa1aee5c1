"""`medassay check` in the terminal: counts by system, and the worst statements quoted."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from medassay.language.ledger_view import describe
from medassay.report.check_summary import CheckSummary, Example, Group
from medassay.report.terminal import Column, note, print_table, shown

SHOWN = 6
"""Worst statements that are printed."""

_LONGEST = 240
"""Characters of a quotation."""

_STYLES = {"contradicted": "bold red", "not_stated": "yellow"}


def print_check(console: Console, summary: CheckSummary) -> None:
    """The counts of every group, then the worst statements with the words that decide them."""
    groups = summary.groups
    columns = [Column(summary.by, [shown(name) if name else "–" for name in groups], justify="left", fold=True)]
    columns = columns if len(groups) > 1 or any(groups) else []
    columns += [
        Column("cases", [f"{group.cases:,}" for group in groups.values()]),
        _counted("statements", "statements", summary, keep=2),
        _counted("supported", "supported", summary, share=True, keep=3),
        _counted("wrong", "contradicted", summary, share=True),
        _counted("unsupported", "not_stated", summary, share=True),
        _counted("expected", "expected", summary, keep=1),
        _counted("missing", "missed", summary, share=True),
        _counted("critical", "critical", summary),
    ]
    if any(group.without for group in groups.values()):
        columns.append(Column("not judged", [f"{group.without:,}" for group in groups.values()]))
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


def _counted(header: str, name: str, summary: CheckSummary, *, share: bool = False, keep: int = 0) -> Column:
    return Column(header, [_cell(group, name, share) for group in summary.groups.values()], keep=keep)


def _cell(group: Group, name: str, share: bool) -> str:
    rate = group.share(name) if share else None
    return f"{group.counts[name]:,}" + ("" if rate is None else f" ({100 * rate:.0f} %)")


def _print_example(console: Console, example: Example) -> None:
    verdict = example.verdict
    where = " · ".join(shown(part) for part in (example.id, example.system) if part)
    head = Text(describe(verdict), style=_STYLES[verdict.verdict])
    chance = max(verdict.check.probabilities)
    _print_block(console, Text.assemble(head, f"  {where}", (f"  p {chance:.2f}", "dim")), 1)
    _print_block(console, Text(f"{verdict.of}: “{shown(_flat(verdict.statement.text), _LONGEST)}”"), 3)
    if example.quote:
        _print_block(console, Text(f"{verdict.against}: “{shown(_flat(example.quote), _LONGEST)}”", style="dim"), 3)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _print_block(console: Console, text: Text, indent: int) -> None:
    """Indented, and wrapped to the width of a terminal; in a pipe each block is one line."""
    if console.is_terminal:
        console.print(Padding(text, (0, 0, 0, indent)))
    else:
        console.print(Text(" " * indent) + text, soft_wrap=True)
