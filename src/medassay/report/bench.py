"""The benchmark's cards as tables: in the terminal, as Markdown, and as plain data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console

from medassay.report.study_tables import markdown_table, print_study
from medassay.study import BenchCard, Cell, Table
from medassay.study.bench import ALL, CAUGHT

_RATES = {
    "sensitivity": "sensitivity",
    "false alarms": "false_alarms",
    "copy ≥ paraphrase": "copy",
    "unrelated lowest": "unrelated",
    "Spearman": "spearman",
    "Kendall": "kendall",
    "claims AUC": "claims",
    "contradicted AUC": "contradicted",
}


@dataclass(frozen=True)
class BenchRun:
    """A finished run of the benchmark: the cards, which documents they are over, and how it was made."""

    cards: Sequence[BenchCard]
    documents: int
    available: int
    margin: float
    resamples: int
    seed: int
    version: str

    def to_json(self) -> str:
        """The run as JSON, which `medassay bench` writes and docs/which-metric.md is made from."""
        facts = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "cards"}
        return json.dumps({**facts, "cards": [card.to_json() for card in self.cards]}, indent=1, ensure_ascii=False)

    def to_markdown(self) -> str:
        """The same tables as in the terminal."""
        tables = "\n\n".join(markdown_table(table) for table in bench_tables(self))
        return f"# Benchmark of metrics\n\n{self.description}\n\n{tables}\n"

    @property
    def description(self) -> str:
        """Which documents the figures are over, and how they were resampled."""
        part = "all" if self.documents == self.available else f"{self.documents} of the"
        return (
            f"{part} {self.available} documents, written for medassay and never trained on; medassay {self.version}, "
            f"margin {self.margin:g} of a metric's scale, {self.resamples:,} bootstrap resamples over documents, seed "
            f"{self.seed}. For research and quality assurance, not for clinical decisions."
        )


def bench_tables(run: BenchRun) -> list[Table]:
    """The cards as tables: the metrics side by side, then by kind of error, by severity and by kind of text."""
    first = run.cards[0].texts if run.cards else ALL
    cards = [card for card in run.cards if card.texts == first]
    tables = [
        Table("bench", "What a metric can tell", [_row(card) for card in cards], _notes(cards)),
        Table(
            "errors",
            "Sensitivity by kind and severity of the error",
            _by_error(cards),
            ["Share of pairs where a paraphrase scores above the version with the error by more than the margin."],
        ),
    ]
    kinds = list(dict.fromkeys(card.texts for card in run.cards if card.texts != ALL))
    if len(kinds) > 1:
        rows = [{"metric": card.metric, **_kinds(run.cards, card.metric, kinds)} for card in cards]
        tables.append(Table("texts", "Sensitivity by kind of text", rows))
    return tables


def _row(card: BenchCard) -> dict[str, Cell]:
    return {"metric": card.metric, **{name: getattr(card, field) for name, field in _RATES.items()}}


def _by_error(cards: Sequence[BenchCard]) -> list[dict[str, Cell]]:
    """A row per severity, wording and kind of error, a column per metric."""
    rows: list[dict[str, Cell]] = []
    for field in ("by_severity", "by_wording", "by_kind"):
        for name in dict.fromkeys(name for card in cards for name in getattr(card, field)):
            by_metric = {card.metric: getattr(card, field)[name] for card in cards if name in getattr(card, field)}
            pairs = next(iter(by_metric.values())).n
            rows.append({"error": name, "pairs": pairs, **by_metric})
    return rows


def _kinds(cards: Sequence[BenchCard], metric: str, kinds: Sequence[str]) -> Mapping[str, Cell]:
    return {card.texts: card.sensitivity for card in cards if card.metric == metric and card.texts in kinds}


def _notes(cards: Sequence[BenchCard]) -> list[str]:
    notes = [
        "Sensitivity: share of pairs where a paraphrase scores above a wrong version by more than the margin. "
        f"False alarms: share of paraphrases at or below the threshold that catches {CAUGHT:.0%} of the wrong versions "
        "(0 is best). Spearman, Kendall: graded texts against their levels. AUC: supported claims against the others, "
        "against contradicted ones; 0.5 is chance."
    ]
    for card in cards:
        if card.scored < card.versions:
            notes.append(f"{card.metric}: {card.versions - card.scored:,} of {card.versions:,} texts have no number.")
    return notes


def print_bench(console: Console, run: BenchRun) -> None:
    """Print the tables, then which documents the figures are over."""
    for table in bench_tables(run):
        print_study(console, table)
        console.print()
    console.print(run.description[0].upper() + run.description[1:], highlight=False, markup=False, soft_wrap=False)
