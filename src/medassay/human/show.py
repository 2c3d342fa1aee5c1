"""Agreement and system tables on the terminal and as records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from medassay.human.effects import Effect
from medassay.human.highlights import SpanRow
from medassay.human.ratings import Ratings
from medassay.human.tables import AgreementRow, ChoiceRow, SystemRow
from medassay.study import Estimate

if TYPE_CHECKING:
    from rich.console import Console

NOTE = (
    "Krippendorff's alpha over all annotators with a 95 % interval (cases resampled), then for each pair. "
    "ICC(2,1) is over the texts that everybody judged. "
    "κ (Cohen), F1 with tolerance 0 · 1 · 2 and Pearson's r are averages over pairs; Fleiss' κ is over all. "
    "– means: cannot be assessed (too few shared texts, or no variation)."
)

EFFECT_NOTE = (
    "Tasks drawn by lot to show the machine's draft, against those drawn not to; difference: with − without, "
    "95 % interval from resampled cases. Seconds below 0 are time saved for a task; elsewhere a difference is bias."
)


def number(value: float | None) -> str:
    """Two decimals; a dash where there is no number."""
    return "–" if value is None or value != value else f"{value:.2f}"


def bounds(estimate: Estimate) -> str:
    """An interval; a dash where there is none."""
    return "–" if estimate.low is None else f"{estimate.low:.2f} … {estimate.high:.2f}"


def span(row: AgreementRow) -> str:
    """The interval of alpha; a dash where there is none."""
    return bounds(row.alpha)


def f1(row: AgreementRow) -> str:
    """F1 at tolerance 0, 1 and 2."""
    return " · ".join(number(value) for value in row.f1) if row.f1 else "–"


def print_agreement(console: Console, ratings: Ratings, rows: Sequence[AgreementRow]) -> None:
    """The agreement table: raw answers, then derived scores."""
    pairs = list(rows[0].pairs) if rows else []
    for raw, title in ((True, "Agreement on raw answers"), (False, "Agreement on derived scores")):
        table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="dim")
        table.add_column("")
        for head in ("alpha", "95 %", "items", "ICC", *("–".join(pair) for pair in pairs)):
            table.add_column(head, justify="right")
        extra = ("κ", "Fleiss κ", "F1 (0 · 1 · 2)", "r") if raw else ("r",)
        for head in extra:
            table.add_column(head, justify="right")
        for row in (one for one in rows if one.raw == raw):
            named = f"{row.column}, per case" if row.unit == "case" else row.column
            cells = [named, number(row.alpha.value), span(row), str(row.alpha.n), number(row.icc)]
            cells += [number(row.pairs[pair]) for pair in pairs]
            cells += [number(row.kappa), number(row.fleiss), f1(row)] if raw else []
            table.add_row(*cells, number(row.pearson))
            if row.per_text is not None:
                table.add_row("  per text", number(row.per_text.value), bounds(row.per_text), str(row.per_text.n))
        console.print(table)
        console.print()
    console.print(NOTE, style="dim")
    console.print()


def print_choices(console: Console, rows: Sequence[ChoiceRow]) -> None:
    """How often each answer was given, and how often by all; nothing where no question has choices."""
    if not rows:
        return
    table = Table(title="Answers with choices", title_justify="left", box=None, pad_edge=False, header_style="dim")
    for head in ("", "answer", "share", "all agree", "texts"):
        table.add_column(head, justify="left" if not head else "right")
    for row in rows:
        unanimous = "–" if row.unanimous is None else f"{row.unanimous:.1%}"
        table.add_row(row.column, f"{row.value:g}", f"{row.share:.1%}", unanimous, str(row.texts))
    console.print(table)
    console.print()


def print_spans(console: Console, rows: Sequence[SpanRow]) -> None:
    """Agreement on highlights by kind; nothing where there are none."""
    if not rows:
        return
    table = Table(title="Agreement on highlights", title_justify="left", box=None, pad_edge=False, header_style="dim")
    for head in ("", "F1, any overlap", "F1, exact", "highlights", "texts"):
        table.add_column(head, justify="left" if not head else "right")
    for row in rows:
        table.add_row(row.kind, number(row.relaxed), number(row.exact), str(row.highlights), str(row.texts))
    console.print(table)
    console.print("Averages over pairs of annotators, on the texts that both have finished.", style="dim")
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


def print_effects(console: Console, rows: Sequence[Effect]) -> None:
    """What the machine's draft does to time and answers; nothing where there is none."""
    if not rows:
        return
    table = Table(title="Machine's draft", title_justify="left", box=None, pad_edge=False, header_style="dim")
    table.add_column("")
    for head in ("with", "without", "difference", "95 %", "n"):
        table.add_column(head, justify="right")
    for row in rows:
        table.add_row(row.column, *effect_cells(row))
    console.print()
    console.print(table)
    console.print(EFFECT_NOTE, style="dim")


def effect_cells(row: Effect) -> list[str]:
    """Mean with and without, the difference, its interval, and how many there are of each."""
    found = row.difference
    ends = "–" if found.low is None else f"{found.low:.2f} … {found.high:.2f}"
    return [number(row.with_draft), number(row.without), number(found.value), ends, f"{row.n[0]} · {row.n[1]}"]


def agreement_records(rows: Sequence[AgreementRow]) -> list[dict[str, Any]]:
    """The agreement table as flat records."""
    records = []
    for row in rows:
        record: dict[str, Any] = {
            "column": row.column,
            "kind": "raw" if row.raw else "derived",
            "unit": row.unit,
            "alpha": row.alpha.value,
            "alpha_low": row.alpha.low,
            "alpha_high": row.alpha.high,
            "items": row.alpha.n,
            "icc": row.icc,
            **{f"alpha {a}–{b}": value for (a, b), value in row.pairs.items()},
            "kappa": row.kappa,
            "fleiss_kappa": row.fleiss,
            "pearson": row.pearson,
        }
        for tolerance, value in enumerate(row.f1 or (None, None, None)):
            record[f"f1_tolerance_{tolerance}"] = value
        records.append({k: None if isinstance(v, float) and v != v else v for k, v in record.items()})
        if row.per_text is not None:
            records.append(_per_text_record(records[-1], row.per_text))
    return records


def _per_text_record(record: Mapping[str, Any], alpha: Estimate) -> dict[str, Any]:
    """The line of the same column with alpha over texts; the other figures are those of cases."""
    known = None if alpha.value != alpha.value else alpha.value
    own = {"unit": "text", "alpha": known, "alpha_low": alpha.low, "alpha_high": alpha.high, "items": alpha.n}
    return {**dict.fromkeys(record), "column": record["column"], "kind": record["kind"], **own}
