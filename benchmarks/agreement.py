"""Which metric agrees with the expert? Metrics on the expert's scores of generated pathology reports.

    python -m benchmarks.agreement --data ../shared/data                      # prints the tables
    python -m benchmarks.agreement --data ../shared/data --page docs/metrics/reg2025.md
    python -m benchmarks.agreement --data ../shared/data --metrics reg2025,facts,hare

`--page` writes the tables between the two marker lines of the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.papers_page import seen_of
from medassay import read_cases, score
from medassay.engine.score_table import make_table
from medassay.metrics.registry import load_metrics
from medassay.study import Estimate, Validation, validate

METRICS = (
    "reg2025,hare,hare(mode=paper),expert,facts,fidelity,risk,omission,hallucination,"
    "rouge1,rougeL,bleu,chrf,meteor,bertscore,synoptic(against=reference)"
)
PARTS = ("reg2025.rouge", "reg2025.bleu", "reg2025.key", "reg2025.emb")
HUMAN = "expert_score"
START, END = "<!-- agreement: begin -->", "<!-- agreement: end -->"


def studies(data: Path, metrics: str) -> tuple[Validation, Validation]:
    """All pairs, and those that the expert gave more than 0 (as HARE reports them)."""
    loaded = load_metrics(metrics)
    cases = [row.case for row in read_cases(data / "hare" / "expert_scores.csv", strict=True) if row.case is not None]
    result = score(cases, metrics=loaded, evidence=False)
    directions = {metric.name: metric.higher_is_better for metric in loaded}
    table = make_table("expert_scores.csv", enumerate(result.rows(), 1), directions, result.signatures)
    columns = [metric.name for metric in loaded]
    columns += [part for part in PARTS if "reg2025" in columns]
    everything = validate(table, [HUMAN], metrics=columns, scale=(0.0, 5.0))
    return everything, validate(table, [HUMAN], metrics=columns, scale=(0.0, 5.0), above=0.0)


def page(all_pairs: Validation, above: Validation) -> str:
    """The two tables in Markdown."""
    return "\n".join(
        [
            f"All {_pairs(all_pairs)} pairs:", "", *_table(all_pairs), "",
            f"The {_pairs(above)} pairs with a score above 0, as HARE's paper reports:", "", *_table(above), "",
            "In brackets: 95 % intervals, 1,000 bootstrap resamples by reference. *Better than*: metrics, by rank, "
            "that this one agrees better with the expert than (paired permutation, Pearson, Holm-corrected p < 0.05).",
        ]
    )  # fmt: skip


def _pairs(study: Validation) -> int:
    return max(agreement.n for agreement in study.agreements)


def _table(study: Validation) -> list[str]:
    lines = [
        "| rank | metric | Pearson | Spearman | Kendall | n | better than | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    ranked = study.ranked(HUMAN)
    rank = {agreement.metric: i for i, agreement in enumerate(ranked, 1)}
    for agreement in ranked:
        if agreement.reason:
            lines.append(f"| – | `{agreement.metric}` | – | – | – | {agreement.n} | – | {agreement.reason} |")
            continue
        cells = " | ".join(_cell(agreement.item[name]) for name in ("pearson", "spearman", "kendall"))
        beaten = ", ".join(str(i) for i in sorted(rank[name] for name in study.beaten(agreement.metric, HUMAN)))
        _, remark = seen_of(study.signatures.get(agreement.metric, agreement.metric), "hare", "")
        name = f"{rank[agreement.metric]} | `{agreement.metric}`"
        lines.append(f"| {name} | {cells} | {agreement.n} | {beaten or '–'} | {remark} |")
    return lines


def _cell(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the data folder with hare/expert_scores.csv")
    parser.add_argument("--metrics", default=METRICS, help="as for `medassay score`")
    parser.add_argument("--page", type=Path, help="a page with the marker lines, to be written")
    given = parser.parse_args(arguments)
    text = page(*studies(given.data, given.metrics))
    if given.page is None:
        print(text)
        return
    before, _, rest = given.page.read_text(encoding="utf-8").partition(START)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{given.page}: no lines '{START}' and '{END}' to write between")
    given.page.write_text(f"{before}{START}\n\n{text}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
