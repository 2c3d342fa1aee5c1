"""Tables of studies, in the terminal and on a page."""

from __future__ import annotations

from html import escape

from rich.console import Console
from rich.text import Text

from medassay.report.sections import Section, table
from medassay.report.study_page import minus
from medassay.report.terminal import Column, estimate_text, note, print_table, shown
from medassay.study import Cell, Estimate, Table


def print_study(console: Console, study: Table) -> None:
    """The table, then what a reader must know."""
    console.print(Text(study.title, style="bold"))
    columns = []
    for k, name in enumerate(study.columns):
        cells = [row.get(name) for row in study.rows]
        words = all(isinstance(cell, str) or cell is None for cell in cells) and any(isinstance(c, str) for c in cells)
        columns.append(
            Column(
                name,
                [written(cell, name in study.percent) for cell in cells],
                justify="left" if words else "right",
                keep=0 if k < 4 else k,
            )
        )
    print_table(console, columns)
    for remark in study.notes:
        note(console, shown(remark, 500))


def written(cell: Cell, percent: bool = False) -> str:
    """A cell as text: three decimals, one in per cent, the interval in brackets.

    >>> written(Estimate(0.5, 0.41, 0.62)), written(12.34, True), written(None), written(7), written(0.0)
    ('0.500 [0.410, 0.620]', '12.3', '–', '7', '0.000')
    """
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return shown(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    digits = 1 if percent else 3
    if isinstance(cell, Estimate):
        return estimate_text(cell, digits, digits)
    return f"{cell:.{digits}f}" if cell == 0 or abs(cell) >= 10**-digits / 2 else f"{cell:.1e}"


def study_section(study: Table) -> Section:
    """The same table on a page."""
    columns = {escape(name): "num" if _numeric(study, name) else "" for name in study.columns}
    rows = ""
    for row in study.rows:
        cells = ""
        for name in study.columns:
            text = minus(escape(written(row.get(name), name in study.percent)))
            cells += (
                f'<td class="num">{text}</td>'
                if _numeric(study, name)
                else f"<td>{escape(str(row.get(name) or '–'))}</td>"
            )
        rows += f"<tr>{cells}</tr>"
    notes = "".join(f"<li>{escape(remark)}</li>" for remark in study.notes)
    html = table("plain snug", columns, f"<tbody>{rows}</tbody>") + f'<ul class="note notes">{notes}</ul>'
    return Section(study.name, study.title, html)


def _numeric(study: Table, column: str) -> bool:
    return any(isinstance(row.get(column), int | float | Estimate) for row in study.rows)


def markdown_table(study: Table) -> str:
    """The same table in Markdown: a heading, the rows, the remarks."""
    columns = study.columns
    lines = [f"## {study.title}", "", f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for row in study.rows:
        cells = [written(row.get(name), name in study.percent).replace("|", "\\|") for name in columns]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, *(f"\n{remark}" for remark in study.notes)])
