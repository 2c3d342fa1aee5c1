"""Agreement and system tables on the terminal and as records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from medassay.human.ratings import Ratings
from medassay.human.tables import AgreementRow, SystemRow

if TYPE_CHECKING:
    from rich.console import Console

NOTE = (
    "Krippendorff's alpha over all annotators with a 95 % interval (cases resampled), then for each pair. "
    "κ (Cohen), F1 with tolerance 0 · 1 · 2 and Pearson's r are averages over pairs; Fleiss' κ is over all. "
    "– means: cannot be assessed (too few shared texts, or no variation)."
)


def number(value: float | None) -> str:
    """Two decimals; a dash where there is no number."""
    return "–" if value is None or value != value else f"{value:.2f}"


def span(row: AgreementRow) -> str:
    """The interval; a dash where there is none."""
    return "–" if row.alpha.low is None else f"{row.alpha.low:.2f} … {row.alpha.high:.2f}"


def f1(row: AgreementRow) -> str:
    """F1 at tolerance 0, 1 and 2."""
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
            cells = [row.column, number(row.alpha.value), span(row), str(row.alpha.n)]
            cells += [number(row.pairs[pair]) for pair in pairs]
            cells += [number(row.kappa), number(row.fleiss), f1(row)] if raw else []
            table.add_row(*cells, number(row.pearson))
        console.print(table)
        console.print()
    console.print(NOTE, style="dim")
    console.print()


def print_systems(console: Console, ratings: Ratings, rows: Sequence[SystemRow]) -> None:
    """The per-system table: one column per annotator, and the average."""
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
            "items": row.alpha.n,
            **{f"alpha {a}–{b}": value for (a, b), value in row.pairs.items()},
            "kappa": row.kappa,
            "fleiss_kappa": row.fleiss,
            "pearson": row.pearson,
        }
        for tolerance, value in enumerate(row.f1 or (None, None, None)):
            record[f"f1_tolerance_{tolerance}"] = value
        records.append({k: None if isinstance(v, float) and v != v else v for k, v in record.items()})
    return records
