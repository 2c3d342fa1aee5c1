"""The tables of a study on the terminal and as records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from medassay.human.ratings import Ratings
from medassay.human.tables import AgreementRow, ChoiceRow, Effect, SpanRow, SystemRow
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


def format_number(value: float | None) -> str:
    """Two decimals; a dash where there is no number."""
    return "–" if value is None or value != value else f"{value:.2f}"


def format_interval(estimate: Estimate) -> str:
    """The interval of an estimate; a dash where there is none."""
    return "–" if estimate.low is None else f"{estimate.low:.2f} … {estimate.high:.2f}"


def format_f1(row: AgreementRow) -> str:
    """F1 at tolerance 0, 1 and 2."""
    return " · ".join(format_number(value) for value in row.f1) if row.f1 else "–"


def alpha_cells(alpha: Estimate) -> list[str]:
    """Alpha, its interval, and the number of items."""
    return [format_number(alpha.value), format_interval(alpha), str(alpha.n)]


def effect_cells(row: Effect) -> list[str]:
    """Means with and without the draft, their difference, its interval, and the number of each."""
    means = (row.with_draft, row.without, row.difference.value)
    return [*map(format_number, means), format_interval(row.difference), f"{row.n[0]} · {row.n[1]}"]


def choice_cells(row: ChoiceRow) -> list[str]:
    """The answer, its share of all ratings, and the share of texts on which everybody gave it."""
    return [f"{row.value:g}", f"{row.share:.1%}", "–" if row.unanimous is None else f"{row.unanimous:.1%}"]


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> Table:
    """A table of figures; the first `left` columns are text."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="dim")
    for index, head in enumerate(heads):
        table.add_column(head, justify="left" if index < left else "right")
    for row in rows:
        table.add_row(*row)
    return table


def print_agreement(console: Console, rows: Sequence[AgreementRow]) -> None:
    """Print agreement on raw answers, then on derived scores."""
    pairs = list(rows[0].pairs) if rows else []
    for raw, title in ((True, "Agreement on raw answers"), (False, "Agreement on derived scores")):
        lines = []
        for row in rows:
            if row.raw != raw:
                continue
            name = f"{row.column}, per case" if row.unit == "case" else row.column
            cells = [name, *alpha_cells(row.alpha), format_number(row.icc)]
            cells += [format_number(row.pairs[pair]) for pair in pairs]
            cells += [format_number(row.kappa), format_number(row.fleiss), format_f1(row)] if raw else []
            lines.append([*cells, format_number(row.pearson)])
            if row.per_text is not None:
                lines.append(["  per text", *alpha_cells(row.per_text)])
        extra = ("κ", "Fleiss κ", "F1 (0 · 1 · 2)", "r") if raw else ("r",)
        heads = ("", "alpha", "95 %", "items", "ICC", *("–".join(pair) for pair in pairs), *extra)
        console.print(_table(title, heads, lines))
        console.print()
    console.print(NOTE, style="dim")
    console.print()


def print_choices(console: Console, rows: Sequence[ChoiceRow]) -> None:
    """Print how often each answer was given, and how often by all; nothing where no question has choices."""
    if rows:
        lines = [[row.column, *choice_cells(row), str(row.texts)] for row in rows]
        console.print(_table("Answers with choices", ("", "answer", "share", "all agree", "texts"), lines))
        console.print()


def print_spans(console: Console, rows: Sequence[SpanRow]) -> None:
    """Print agreement on highlights by kind; nothing where there are none."""
    if rows:
        lines = [
            [row.kind, format_number(row.relaxed), format_number(row.exact), str(row.highlights), str(row.texts)]
            for row in rows
        ]
        heads = ("", "F1, any overlap", "F1, exact", "highlights", "texts")
        console.print(_table("Agreement on highlights", heads, lines))
        console.print("Averages over pairs of annotators, on the texts that both have finished.", style="dim")
        console.print()


def print_systems(console: Console, ratings: Ratings, rows: Sequence[SystemRow]) -> None:
    """Print the means by system: one column per annotator, and the average."""
    lines: list[list[str]] = []
    before = None
    for row in rows:
        if before is not None and row.system != before:
            lines.append([])
        shown = "" if row.system == before else (row.system or "all texts")
        before = row.system
        cells = [format_number(row.by_annotator[name]) for name in ratings.annotators]
        lines.append([shown, row.column, *cells, format_number(row.average)])
    console.print(_table("Means by system", ("system", "score", *ratings.annotators, "average"), lines, left=2))


def print_effects(console: Console, rows: Sequence[Effect]) -> None:
    """Print the effect of the machine's draft on time and answers; nothing where there is none."""
    if rows:
        heads = ("", "with", "without", "difference", "95 %", "n")
        console.print()
        console.print(_table("Machine's draft", heads, ([row.column, *effect_cells(row)] for row in rows)))
        console.print(EFFECT_NOTE, style="dim")


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
