"""Tables of studies, in the terminal, on a page, in Markdown and in LaTeX."""

from __future__ import annotations

from html import escape

from rich.console import Console
from rich.text import Text

from medassay.report.sections import Section, table
from medassay.report.study_page import minus
from medassay.report.terminal import Column, estimate_text, note, print_table, printable
from medassay.study import Cell, Estimate, Table


def print_study(console: Console, study: Table) -> None:
    """Print the table, then its notes."""
    console.print(Text(study.title, style="bold"))
    columns = []
    for k, name in enumerate(study.columns):
        cells = [row.get(name) for row in study.rows]
        words = all(isinstance(cell, str) or cell is None for cell in cells) and any(isinstance(c, str) for c in cells)
        columns.append(
            Column(
                name,
                [cell_text(cell, name in study.percent) for cell in cells],
                justify="left" if words else "right",
                drop_order=0 if k < 4 else k,
            )
        )
    print_table(console, columns)
    for remark in study.notes:
        note(console, printable(remark, 500))


def cell_text(cell: Cell, percent: bool = False) -> str:
    """A cell as text: three decimals, one in per cent, the interval in brackets.

    >>> cell_text(Estimate(0.5, 0.41, 0.62)), cell_text(12.34, True), cell_text(None), cell_text(7), cell_text(0.0)
    ('0.500 [0.410, 0.620]', '12.3', '–', '7', '0.000')
    """
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return printable(cell)
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
            text = minus(escape(cell_text(row.get(name), name in study.percent)))
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
    lines = [f"## {study.title}", "", f"| {' | '.join(map(_markdown, columns))} |", "|" + "---|" * len(columns)]
    for row in study.rows:
        cells = [_markdown(cell_text(row.get(name), name in study.percent)) for name in columns]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, *(f"\n{_markdown(remark)}" for remark in study.notes)])


def _markdown(text: str) -> str:
    """A text that neither ends a cell nor starts a tag."""
    return text.replace("|", "\\|").replace("<", "&lt;")


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "–": "--",
    "[": "{[}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "≥": r"$\geq$",
    **{character: "\\" + character for character in "&%$#_{}"},
}


def latex_text(text: str) -> str:
    r"""A text in which nothing is a LaTeX command; a bracket at the start of a row would be an option of the row above.

    >>> print(latex_text("rouge_1 < 5 %"))
    rouge\_1 \textless{} 5 \%
    """
    return "".join(_LATEX.get(character, character) for character in text)


def latex_table(study: Table) -> str:
    """The same table in LaTeX, for a document that uses booktabs: rows, caption, remarks below."""
    columns = study.columns
    layout = "".join("r" if _numeric(study, name) else "l" for name in columns)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_text(study.title)}}}",
        rf"\begin{{tabular}}{{{layout}}}",
        r"\toprule",
        " & ".join(map(latex_text, columns)) + r" \\",
        r"\midrule",
    ]
    for row in study.rows:
        cells = [latex_text(cell_text(row.get(name), name in study.percent)) for name in columns]
        lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip{{\footnotesize {latex_text(remark)}}}" for remark in study.notes]
    return "\n".join([*lines, r"\end{table}"])
