"""The benchmark's cards as tables, Markdown and plain data."""

from __future__ import annotations

import io
import json
from dataclasses import replace

from medassay.report.bench import BenchRun, bench_tables, print_bench
from medassay.report.terminal import plain_console
from medassay.study import BenchCard, Estimate

RATE = Estimate(0.75, 0.7, 0.8, n=4)
CARD = BenchCard(
    metric="rouge1",
    texts="all",
    higher_is_better=True,
    signature="rouge1|v:0",
    documents=2,
    versions=10,
    scored=9,
    scale=1.0,
    sensitivity=RATE,
    by_kind={"negation": RATE},
    by_severity={"critical": Estimate(0.5, n=2)},
    by_wording={},
    false_alarms=RATE,
    copy=RATE,
    unrelated=RATE,
    spearman=RATE,
    kendall=RATE,
    claims=RATE,
    contradicted=RATE,
    medians={"paraphrase": 0.8},
)


def run(*cards: BenchCard) -> BenchRun:
    return BenchRun(cards, documents=2, available=4, margin=0.05, resamples=100, seed=1, version="0.0")


def test_metrics_side_by_side_then_by_error() -> None:
    overall, errors = bench_tables(run(CARD))
    assert overall.rows[0]["metric"] == "rouge1" and overall.rows[0]["sensitivity"] == RATE
    assert overall.notes[-1] == "rouge1: 1 of 10 texts have no number."
    assert [(row["error"], row["pairs"], row["rouge1"]) for row in errors.rows] == [
        ("critical", 2, Estimate(0.5, n=2)),
        ("negation", 4, RATE),
    ]


def test_kinds_of_text_get_a_table_where_there_are_several() -> None:
    cards = [CARD, replace(CARD, texts="notes"), replace(CARD, texts="reports", sensitivity=Estimate(0.5))]
    tables = bench_tables(run(*cards))
    assert [table.name for table in tables] == ["bench", "errors", "texts"]
    assert tables[2].rows == [{"metric": "rouge1", "notes": RATE, "reports": Estimate(0.5)}]


def test_terminal_markdown_and_json_tell_the_same() -> None:
    stream = io.StringIO()
    print_bench(plain_console(stream, 200), run(CARD))
    markdown = run(CARD).to_markdown()
    for text in (stream.getvalue(), markdown):
        assert "0.750 [0.700, 0.800]" in text and "2 of the 4 documents" in text
    data = json.loads(run(CARD).to_json())
    assert data["documents"] == 2 and data["cards"][0]["sensitivity"] == [0.75, 0.7, 0.8, 4]
