"""Tables in the terminal: summaries, the list of metrics, a metric's card.

Names come from files and are not trusted: they are never read as markup, and control characters are shown as
escapes. On a narrow terminal the least important columns are left out and named below the table; a file or pipe
gets all columns.
"""

from __future__ import annotations

import inspect
import io
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from medassay.metrics.settings import parameters
from medassay.report.which_metric import metric_lines

if TYPE_CHECKING:
    from medassay.metrics.base import Metric
    from medassay.study import Aggregate, Estimate

_LONGEST = 48
"""Characters of a name that are shown."""

_FOLDED = 10
"""A text column may be folded down to this width before a column is left out."""

_GAP = 3
"""Characters between two columns."""

_PIPED = 160
"""Long texts fold at this width where the output is no terminal."""


def printable(text: str, longest: int = _LONGEST) -> str:
    r"""A name that is safe to print: controls, bidirectional marks and lone surrogates as escapes.

    >>> print(printable("a\x1b[31mb\n"))
    a\x1b[31mb\n
    """
    safe = "".join(_visible(c) for c in text[: longest + 1])
    return safe if len(text) <= longest else safe[: longest - 1] + "…"


def _visible(character: str) -> str:
    if character == " " or unicodedata.category(character)[0] not in "CZ":
        return character
    return character.encode("unicode_escape").decode("ascii")


def number(value: float | None, scale: float | None = None) -> str:
    """Four decimals for scores around one, fewer for larger ones; a dash where there is no number.

    `scale` is the largest number beside it, so that numbers of one row have the same decimals.

    >>> number(0.51234), number(34.5678), number(3.4, 34.5678), number(None)
    ('0.5123', '34.57', '3.40', '–')
    """
    if value is None or not math.isfinite(value):
        return "–"
    size = max(abs(value), abs(scale) if scale is not None and math.isfinite(scale) else 0.0)
    return f"{value:.4f}" if size < 10 else f"{value:.2f}" if size < 10_000 else f"{value:.4g}"


def p_value(p: float | None) -> str:
    """A p-value to four decimals.

    >>> p_value(0.00001), p_value(0.0312)
    ('<0.0001', '0.0312')
    """
    return "–" if p is None else "<0.0001" if p < 0.0001 else f"{p:.4f}"


def interval_text(low: float | None, high: float | None) -> str:
    """`[low, high]`, or a dash where there is none."""
    if low is None or high is None:
        return "–"
    scale = max(abs(low), abs(high))
    return f"[{number(low, scale)}, {number(high, scale)}]"


def decimals(value: float | None, digits: int = 3) -> str:
    """A number with a fixed count of decimals; a dash where there is none.

    >>> decimals(0.12345), decimals(float("nan")), decimals(None)
    ('0.123', '–', '–')
    """
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def bounds_text(estimate: Estimate, digits: int = 2) -> str:
    """The interval of an estimate in brackets; a dash where there is none."""
    if not estimate.known or estimate.low is None or estimate.high is None:
        return "–"
    return f"[{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def estimate_text(estimate: Estimate, digits: int = 3, bounds: int = 2) -> str:
    """An estimate with its interval: `0.512 [0.41, 0.62]`."""
    interval = bounds_text(estimate, bounds)
    return decimals(estimate.value, digits) + ("" if interval == "–" else f" {interval}")


def arrow(higher_is_better: bool) -> str:
    """Which way is better."""
    return "↑" if higher_is_better else "↓"


@dataclass(frozen=True)
class Column:
    """A column of a table; `drop_order` 0 is never left out, the highest is left out first."""

    header: str
    cells: Sequence[str]
    drop_order: int = 0
    justify: Literal["left", "right", "center"] = "right"
    fold: bool = False

    @property
    def width(self) -> int:
        """The width that its longest text needs."""
        return max([cell_len(self.header), *map(cell_len, self.cells)])

    @property
    def least(self) -> int:
        """The smallest width that it can be folded to."""
        return min(self.width, _FOLDED) if self.fold else self.width


def print_table(console: Console, columns: Sequence[Column], rules: Sequence[int] = ()) -> None:
    """Print as many columns as fit; a line is drawn below the rows numbered in `rules`."""
    natural, least = (sum(width) + _GAP * len(columns) for width in zip(*((c.width, c.least) for c in columns)))
    available = console.width if console.is_terminal else max(least, min(natural, _PIPED))
    kept = list(columns)
    while sum(column.least + _GAP for column in kept) > available and any(column.drop_order for column in kept):
        kept.remove(max(kept, key=lambda column: column.drop_order))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold", padding=(0, 1))
    for column in kept:
        table.add_column(
            Text(column.header),
            justify=column.justify,
            no_wrap=not column.fold,
            overflow="fold" if column.fold else "ellipsis",
        )
    for i, row in enumerate(zip(*(column.cells for column in kept))):
        table.add_row(*(Text(cell) for cell in row), end_section=i in rules)
    if console.is_terminal:
        console.print(table)
    else:
        # A pipe has no width, but rich assumes one and would cut the columns to it.
        stream = io.StringIO()
        plain_console(stream, available).print(table)
        console.print(Text(stripped(stream)), soft_wrap=True)
    hidden = [column.header for column in columns if column not in kept]
    if hidden:
        note(console, f"Too narrow to show: {', '.join(hidden)}.")


def note(console: Console, text: str) -> None:
    """A faint line below a table."""
    console.print(Text(text, style="dim"), soft_wrap=not console.is_terminal)


def print_summary(console: Console, aggregates: Sequence[Aggregate]) -> None:
    """The summary table: one row per metric, or per metric and group where there are several groups."""
    if not aggregates:
        note(console, "Nothing to summarise.")
        return
    grouped = len({row.group for row in aggregates}) > 1
    starts = [i for i, row in enumerate(aggregates) if i == 0 or row.metric != aggregates[i - 1].metric]
    names = [
        f"{printable(row.metric)} {arrow(row.higher_is_better)}" if i in starts else ""
        for i, row in enumerate(aggregates)
    ]
    columns = [Column("metric", names, justify="left", fold=True)]
    if grouped:
        groups = ["–" if row.group is None else printable(row.group) for row in aggregates]
        columns.append(Column("group", groups, justify="left", fold=True))
    columns += [
        Column("value", [number(row.value) for row in aggregates]),
        Column("95 % interval", [interval_text(row.low, row.high) for row in aggregates], drop_order=1),
        Column("median", [number(row.median, row.value) for row in aggregates], drop_order=4),
        Column("sd", [number(row.sd, row.value) for row in aggregates], drop_order=3),
        Column("n", [f"{row.n:,}" for row in aggregates], drop_order=2),
    ]
    if any(row.unscored for row in aggregates):
        columns.append(Column("unscored", [f"{row.unscored:,}" for row in aggregates]))
    if any(row.failed for row in aggregates):
        columns.append(Column("failed", [f"{row.failed:,}" for row in aggregates]))
    print_table(console, columns, rules=[start - 1 for start in starts[1:]] if grouped else [])
    note(console, _legend({row.higher_is_better for row in aggregates}))


def _legend(directions: set[bool]) -> str:
    words = {True: "↑ higher is better", False: "↓ lower is better"}
    return ", ".join(words[direction] for direction in sorted(directions, reverse=True)) + "."


def summary_text(rows: Sequence[Aggregate]) -> str:
    """The summary table as plain text."""
    stream = io.StringIO()
    print_summary(plain_console(stream), rows)
    return stripped(stream)


def plain_console(stream: io.StringIO, width: int = 100) -> Console:
    """A console that writes plain text to a stream."""
    return Console(file=stream, force_terminal=False, color_system=None, width=width, legacy_windows=False)


def stripped(stream: io.StringIO) -> str:
    """What was written, without blanks at the ends of lines."""
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def print_metric_list(console: Console, metrics: Sequence[tuple[str, type[Metric]]]) -> None:
    """All metrics: range, direction, needs and where each is defined."""
    columns = [
        Column("metric", [printable(name) for name, _ in metrics], justify="left"),
        Column("", [arrow(metric.higher_is_better) for _, metric in metrics]),
        Column("range", [_range(metric) for _, metric in metrics], drop_order=2, justify="left"),
        Column("needs", [_needs(metric) for _, metric in metrics], drop_order=1, justify="left", fold=True),
        Column("what it measures", [metric.summary for _, metric in metrics], justify="left", fold=True),
        Column("defined in", [metric.defined for _, metric in metrics], drop_order=3, justify="left", fold=True),
    ]
    print_table(console, columns)
    note(console, _legend({True, False}) + " `medassay metrics NAME` prints a metric's card.")


_WRAP = re.compile(r"(?<=.{70})\n *(?=\S)")
"""A line of a docstring that goes on in the next one: the terminal breaks lines where it must."""


def print_metric_card(console: Console, name: str, metric: type[Metric]) -> None:
    """One metric in full: what it measures, how to read it, its parts and settings."""
    console.print(Text(printable(name), style="bold"))
    console.print(Text(metric.summary))
    facts = {
        "range": _range(metric),
        "better": "higher" if metric.higher_is_better else "lower",
        "needs": _needs(metric),
        "parts": ", ".join(f"{name}.{part}" for part in metric.parts) or "none",
        "settings": ", ".join(_settings(metric)) or "none",
        "defined in": metric.defined,
    }
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, fact in facts.items():
        grid.add_row(label, Text(fact))
    console.print()
    console.print(grid)
    # Examples at the end of a docstring are for readers of the code.
    description = (inspect.getdoc(metric) or "").split(">>>")[0].strip() if metric.__doc__ else ""
    if description and description != metric.summary:
        console.print()
        console.print(Text(_WRAP.sub(" ", description)))
    lines = metric_lines(name)
    if lines:
        console.print()
        console.print(Text("On the bundled benchmark, and with people (docs/which-metric.md)", style="bold"))
    for line in lines:
        console.print(Text(line))


def _range(metric: type[Metric]) -> str:
    low, high = metric.bounds
    return f"{'−∞' if low is None else f'{low:g}'} … {'∞' if high is None else f'{high:g}'}"


def _needs(metric: type[Metric]) -> str:
    return ", ".join(sorted(metric.needs))


def _settings(metric: type[Metric]) -> list[str]:
    """The settings with their defaults."""
    known = parameters(metric).values()
    return [p.name if p.default is p.empty else f"{p.name}={p.default}" for p in known]
