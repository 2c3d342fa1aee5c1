"""The tables of a study on the terminal and as records."""

from __future__ import annotations

import csv
import io
import json

from rich.console import Console

from medassay.files import csv_text
from medassay.human.tables import Effect, SpanRow, agreement, choice_shares, system_table
from medassay.human.terminal import (
    agreement_records,
    print_agreement,
    print_choices,
    print_effects,
    print_spans,
    print_systems,
)
from medassay.study import Estimate


def printed(print_table, *values) -> list[str]:
    console = Console(width=160, record=True, file=io.StringIO())
    print_table(console, *values)
    return [" ".join(line.split()) for line in console.export_text().splitlines() if line.strip()]


def test_agreement_names_what_alpha_is_over(ratings):
    lines = printed(print_agreement, agreement(ratings, resamples=20))
    assert lines[0] == "Agreement on raw answers"
    assert lines[1].endswith("κ Fleiss κ F1 (0 · 1 · 2) r")
    assert lines[2].startswith("R, per case ") and lines[3].startswith("per text ")
    derived = lines[lines.index("Agreement on derived scores") :]
    assert "Fleiss" not in derived[1] and derived[2].startswith("precision 1.00")


def test_means_by_system_name_each_system_once(ratings):
    lines = printed(print_systems, ratings, system_table(ratings, ["recall", "coherence"]))
    assert lines[1] == "system score anna ben average"
    assert lines[2:] == [
        "a recall 0.80 0.80 0.80",  # (4/4 + 3/5) / 2
        "coherence 1.00 1.00 1.00",
        "b recall 0.12 0.12 0.12",  # (1/4 + 0/5) / 2
        "coherence 0.25 0.25 0.25",
    ]


def test_choices_highlights_and_the_draft_are_printed_where_there_are_any(ratings):
    lines = printed(print_choices, choice_shares(ratings))
    assert lines[2] == "coherence 1 50.0% 50.0% 4"
    assert printed(print_spans, [SpanRow("fact", 0.5, float("nan"), 3, 2)])[2] == "fact 0.50 – 3 2"
    effect = Effect("seconds", 30.0, 40.0, Estimate(-10.0, -12.0, -8.0, 4), (2, 2))
    assert printed(print_effects, [effect])[2] == "seconds 30.00 40.00 -10.00 -12.00 … -8.00 2 · 2"
    assert printed(print_choices, []) == printed(print_spans, []) == printed(print_effects, []) == []


def test_records_are_plain_json_and_csv(ratings):
    records = agreement_records(agreement(ratings, resamples=20))
    json.dumps(records, allow_nan=False)
    assert next(csv.DictReader(io.StringIO(csv_text(records))))["column"] == "R"
