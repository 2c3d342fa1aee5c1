"""Agreement and system tables on the terminal, as records, and as a section of the report page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from medassay.human.ratings import Ratings
from medassay.human.tables import AgreementRow, SystemRow

if TYPE_CHECKING:
    from rich.console import Console

    from medassay.report.sections import Run, Section

NOTE = (
    "Krippendorff's alpha over all annotators with a 95 % interval (cases resampled), then for each pair. "
    "κ (Cohen), F1 with tolerance 0 · 1 · 2 and Pearson's r are averages over pairs; Fleiss' κ is over all. "
    "– means: cannot be assessed (too few shared texts, or no variation)."
)


def number(value: float | None) -> str:
    """Two decimals; a dash where there is no number."""
    return "–" if value is None or value != value else f"{value:.2f}"


def _span(row: AgreementRow) -> str:
    return "–" if row.alpha.low != row.alpha.low else f"{row.alpha.low:.2f} … {row.alpha.high:.2f}"


def _f1(row: AgreementRow) -> str:
    return " · ".join(number(value) for value in row.f1) if row.f1 else "–"


def print_agreement(console: Console, ratings: Ratings, rows: Sequence[AgreementRow]) -> None:
    """The agreement table: raw answers, then derived scores."""
    pairs = list(rows[0].pairs) if rows else []
    for raw, title in ((True, "Agreement on raw answers"), (False, "Agreement on derived scores")):
        table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="dim")
        table.add_column("")
        for head in ("alpha", "95 %", "items", *("–".join(pair) for pair in pairs)):
            table.add_column(head, justify="right")
        extra = ("κ", "Fleiss κ", "F1 (0 · 1 · 2)", "r") if raw else ("r",)
        for head in extra:
            table.add_column(head, justify="right")
        for row in (one for one in rows if one.raw == raw):
            cells = [row.column, number(row.alpha.value), _span(row), str(row.alpha.items)]
            cells += [number(row.pairs[pair]) for pair in pairs]
            cells += [number(row.kappa), number(row.fleiss), _f1(row)] if raw else []
            table.add_row(*cells, number(row.pearson))
        console.print(table)
        console.print()
    console.print(NOTE, style="dim")
    console.print()


def print_systems(console: Console, ratings: Ratings, rows: Sequence[SystemRow]) -> None:
    """The per-system table: one column an annotator, and the average."""
    table = Table(title="Means by system", title_justify="left", box=None, pad_edge=False, header_style="dim")
    table.add_column("system")
    table.add_column("score")
    for name in (*ratings.annotators, "average"):
        table.add_column(name, justify="right")
    before = None
    for row in rows:
        if before is not None and row.system != before:
            table.add_row()
        shown = "" if row.system == before else (row.system or "all texts")
        before = row.system
        cells = [number(row.by_annotator[name]) for name in ratings.annotators]
        table.add_row(shown, row.column, *cells, number(row.average))
    console.print(table)


def agreement_records(rows: Sequence[AgreementRow]) -> list[dict[str, Any]]:
    """The agreement table as flat records."""
    records = []
    for row in rows:
        record: dict[str, Any] = {
            "column": row.column,
            "kind": "raw" if row.raw else "derived",
            "alpha": row.alpha.value,
            "alpha_low": row.alpha.low,
            "alpha_high": row.alpha.high,
            "items": row.alpha.items,
            **{f"alpha {a}–{b}": value for (a, b), value in row.pairs.items()},
            "kappa": row.kappa,
            "fleiss_kappa": row.fleiss,
            "pearson": row.pearson,
        }
        for tolerance, value in enumerate(row.f1 or (None, None, None)):
            record[f"f1_tolerance_{tolerance}"] = value
        records.append({k: None if isinstance(v, float) and v != v else v for k, v in record.items()})
    return records


def agreement_html(ratings: Ratings, rows: Sequence[AgreementRow], systems: Sequence[SystemRow]) -> str:
    """Both tables as HTML; every name in it is escaped."""
    pairs = list(rows[0].pairs) if rows else []
    heads = ["alpha", "95 %", "items", *("–".join(pair) for pair in pairs), "κ", "F1 (0 · 1 · 2)", "r"]
    parts = [f"<p>{escape(NOTE)}</p>"]
    for raw, title in ((True, "Raw answers"), (False, "Derived scores")):
        body = []
        for row in (one for one in rows if one.raw == raw):
            cells = [number(row.alpha.value), _span(row), str(row.alpha.items)]
            cells += [number(row.pairs[pair]) for pair in pairs]
            cells += [number(row.kappa), _f1(row), number(row.pearson)]
            body.append((row.column, cells))
        parts.append(_table(title, ["", *heads], body))
    listed = [
        (row.system or "all texts", [row.column, *(number(v) for v in row.by_annotator.values()), number(row.average)])
        for row in systems
    ]
    parts.append(_table("Means by system", ["system", "score", *ratings.annotators, "average"], listed))
    return "".join(parts)


def _table(caption: str, heads: Sequence[str], body: Sequence[tuple[str, Sequence[str]]]) -> str:
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'
        for name, cells in body
    )
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>"


class AgreementSection:
    """A section of the report page: hand it to `PageWriter(sections=[…])`."""

    def __init__(self, ratings: Ratings, rows: Sequence[AgreementRow], systems: Sequence[SystemRow]) -> None:
        self.html = agreement_html(ratings, rows, systems)

    def __call__(self, run: Run) -> Section:
        """The section, whatever else the page shows."""
        from medassay.report.sections import Section

        return Section("people", "People", self.html)


def write_page(
    ratings: Ratings, rows: Sequence[AgreementRow], systems: Sequence[SystemRow], path: Path, *, title: str
) -> None:
    """The two tables as a page of their own, in the report page's dress."""
    from medassay.report.page import PageWriter

    page = PageWriter([], title=title, sections=[AgreementSection(ratings, rows, systems)])
    path.write_text(page.html([]), encoding="utf-8")
