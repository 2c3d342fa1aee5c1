"""`python -m benchmarks.papers --data DIR` writes docs/papers.md: each published table beside ours.

DIR holds `hare/expert_scores.csv`, `mts_dialog/fact_scores.csv` and, for the ladder, `perturbed/dev.jsonl` and
`paraphrases/dev.jsonl`. Published figures are data (`published/*.tsv`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from medassay.api import score
from medassay.cases import Case, read_cases
from medassay.commands.stress import score_material
from medassay.commands.variants import values_of
from medassay.engine.score_table import make_table
from medassay.errors import MedassayError, ModelError, UnknownName
from medassay.metrics.base import Metric
from medassay.metrics.registry import load_metric
from medassay.records import read_records
from medassay.study import RUNGS, Estimate, Validation, make_material, originals_of, sample, sensitivity_cards, validate

FOLDER = Path(__file__).resolve().parent
HARE = ("pearson", "spearman", "kendall", "r2", "rmse")
NOTES = ("factual_precision", "factual_recall", "factual_f1", "hallucination_rate", "omission_rate")
LADDER = (
    "rouge1",
    "rougeL",
    "bleu",
    "chrf",
    "meteor",
    "hare",
    "expert",
    "bertscore",
    "clinicalbleurt",
    "facts",
    "fidelity",
    "note",
)
LADDER_REFERENCES = 200
CLOSE = 0.05
_LETTERS = dict(zip((*NOTES, "aggregate"), ("P", "R", "F1", "H", "O", "aggregate")))


@dataclass(frozen=True)
class Row:
    """A row of a published table: its figures, and the metric of ours that answers it, or why none does."""

    name: str
    published: Mapping[str, float | None]
    metric: Metric | None
    remark: str


def read_rows(name: str, figures: Sequence[str], skip: Collection[str]) -> list[Row]:
    """The published table, each row with our metric loaded; metrics named in `skip` are left out."""
    text = (FOLDER / "published" / name).read_text(encoding="utf-8")
    lines = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    rows = []
    for cells in lines[1:]:
        one = dict(zip(lines[0], cells + [""] * (len(lines[0]) - len(cells))))
        metric, remark = _metric(one["request"], one["remark"], skip)
        numbers = {figure: float(one[figure]) if one[figure] else None for figure in figures}
        rows.append(Row(one["row"], numbers, metric, remark))
    return rows


def _metric(request: str, remark: str, skip: Collection[str]) -> tuple[Metric | None, str]:
    if not request:
        return None, remark
    if request.partition("(")[0] in skip:
        return None, "left out of this run"
    try:
        return load_metric(request), remark
    except UnknownName:
        return None, "not in this version"
    except (ModelError, MedassayError) as error:
        return None, str(error).partition("\n")[0]


def _cases(path: Path) -> list[Case]:
    return [row.case for row in read_cases(path) if row.case is not None]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def study(path: Path, rows: Sequence[Row], humans: Sequence[str], above: float | None) -> Validation | None:
    """The data scored with every metric of the table and held against people; None where no metric is there."""
    metrics = {row.metric.name: row.metric for row in rows if row.metric is not None}
    if not metrics:
        return None
    _say(f"{path.name}: {', '.join(metrics)}")
    result = score(_cases(path), metrics=metrics.values(), evidence=False)
    directions = {name: metric.higher_is_better for name, metric in metrics.items()}
    table = make_table("result", enumerate(result.rows(), 1), directions, result.signatures)
    scale = (0.0, 5.0) if above is not None else None
    return validate(table, humans, metrics=list(metrics), above=above, scale=scale)


def _number(value: float | None, places: int) -> str:
    """`.648`, `−.02`; a dash where there is none."""
    if value is None or value != value:
        return "–"
    text = f"{abs(value):.{places}f}".removeprefix("0")
    return f"−{text}" if value < 0 and float(text) != 0 else text


def hare(data: Path, skip: Collection[str] = ()) -> list[str]:
    """The HARE table: published on 231 scores above 0, ours on those of the pairs at hand."""
    rows = read_rows("hare.tsv", HARE, skip)
    found = study(data / "hare" / "expert_scores.csv", rows, ["expert_score"], 0.0)
    n = max((a.n for a in found.agreements), default=0) if found else 0
    lines = [
        "## HARE: expert scores of generated pathology reports",
        "",
        f"Published: 231 scores above 0 of 600 pairs. Ours: the {n} scores above 0 of the 312 pairs at hand, one part "
        "of the published set, so that figures differ by sampling alone (in brackets: 95 % intervals, bootstrap over "
        "references). RMSE: residual of the expert score, on a 0–1 scale, about its line on the metric.",
        "",
        "| metric | | Pearson | Spearman | Kendall | R² | RMSE | remark |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if any(value is not None for value in row.published.values()):
            cells = " | ".join(_number(row.published[figure], 3) for figure in HARE)
            lines.append(f"| {row.name} | published | {cells} | |")
        lines.append(_hare_ours(row, found))
    return lines


def _hare_ours(row: Row, found: Validation | None) -> str:
    if row.metric is None or found is None:
        return f"| {row.name} | ours | – | – | – | – | – | {row.remark} |"
    one = found.of(row.metric.name, "expert_score")
    if one.reason:
        return f"| {row.name} | ours | – | – | – | – | – | not assessed: {one.reason} |"
    cells = []
    for name in HARE[:3]:
        c = one.item[name]
        extent = "" if c.low is None or c.high is None else f" ({_number(c.low, 2)} to {_number(c.high, 2)})"
        cells.append(_number(c.value, 3) + extent)
    cells += [_number(one.r2, 3), _number(one.rmse, 3)]
    missing = f"; {one.missing} pairs unscored" if one.missing else ""
    return f"| {row.name} | ours, n {one.n} | {' | '.join(cells)} | {row.remark}{missing} |"


def notes(data: Path, skip: Collection[str] = ()) -> list[str]:
    """The clinical-note table: published on 400 pairs, ours on the pairs at hand."""
    rows = read_rows("mts_dialog.tsv", (*NOTES, "aggregate"), skip)
    found = study(data / "mts_dialog" / "fact_scores.csv", rows, NOTES, None)
    n = max((a.n for a in found.agreements), default=0) if found else 0
    lines = [
        "## Clinical notes: factual scores of MTS-DIALOG summaries",
        "",
        f"Published: Pearson on 400 pairs. Ours: the {n} pairs at hand (61 dialogues × 4 systems), one part of the "
        "published set. Aggregate: ¼(2 r_F1 − r_H − r_O). The rates stand as published, an omission rate of −1 "
        "included. Our ROUGE equals `rouge-score` and stemming moves no figure by more than .01, yet on these pairs "
        "ROUGE stands well above the published rows: the part differs from the whole, or the paper prepared its texts "
        "otherwise; which of the two cannot be told from here.",
        "",
        "| metric | | P | R | F1 | H | O | aggregate | remark |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if any(value is not None for value in row.published.values()):
            cells = " | ".join(_number(row.published[figure], 2) for figure in (*NOTES, "aggregate"))
            lines.append(f"| {row.name} | published | {cells} | |")
        lines.append(_notes_ours(row, found))
    return lines


def _notes_ours(row: Row, found: Validation | None) -> str:
    if row.metric is None or found is None:
        return f"| {row.name} | ours | – | – | – | – | – | – | {row.remark} |"
    ours: dict[str, float | None] = {}
    for human in NOTES:
        one = found.of(row.metric.name, human)
        ours[human] = None if one.reason else one.item["pearson"].value
    total = found.aggregates.get(row.metric.name)
    ours["aggregate"] = total.value if total else None
    extent = (
        ""
        if total is None or total.low is None or total.high is None
        else (f" ({_number(total.low, 2)} to {_number(total.high, 2)})")
    )
    far = [
        _LETTERS[name]
        for name, value in ours.items()
        if value is not None and (published := row.published[name]) is not None and abs(value - published) > CLOSE
    ]
    remark = "; ".join(filter(None, [row.remark, f"more than ±.05 away: {', '.join(far)}" if far else ""]))
    cells = " | ".join(_number(value, 2) for value in ours.values())
    return f"| {row.name} | ours | {cells}{extent} | {remark} |"


def ladder(data: Path, skip: Collection[str] = ()) -> list[str]:
    """Not published: the order in which metrics put copies, paraphrases, errors and strangers."""
    metrics = [metric for name in LADDER if (metric := _metric(name, "", skip)[0]) is not None]
    lines = [
        "## The ladder (our own data, nothing published)",
        "",
        "Share of pairs of texts of one reference in the right order, 1 is best; all texts are the files' own, none "
        f"made by rule. perturbed: 26 references. paraphrases: {LADDER_REFERENCES} references drawn by seed 1 (that "
        "file has no verbatim errors). What `medassay stress FILE --no-rules` prints. `clinicalbleurt` and the checker "
        "behind `facts`, `fidelity` and `note` were trained on nine tenths of these sets: a fit, not a forecast "
        "(figures on unseen sets: docs/ledger.md).",
        "",
        f"| metric | data | {' | '.join(RUNGS)} |",
        f"|---|---|{'---|' * len(RUNGS)}",
    ]
    for name in ("perturbed", "paraphrases"):
        path = data / name / "dev.jsonl"
        originals, _ = originals_of(str(path), list(read_records(path)))
        material = make_material(sample(originals, LADDER_REFERENCES, 1), rules=False)
        _say(f"ladder, {name}: {', '.join(metric.name for metric in metrics)}")
        values = values_of(score_material(material, metrics)[0])
        for card in sensitivity_cards(material, metrics, values).cards:
            cells = " | ".join(_rate(card.ladder[rung]) for rung in RUNGS)
            lines.append(f"| {card.metric} | {name} | {cells} |")
    return lines


def _rate(rate: Estimate) -> str:
    extent = "" if rate.low is None or rate.high is None else f" ({rate.low:.2f} to {rate.high:.2f})"
    return f"{rate.value:.3f}{extent}" if rate.known else "–"


HEAD = """# Published tables beside ours

Made by `make papers DATA=DIR` (`python -m benchmarks.papers --data DIR`); do not edit by hand. The published sets
are not all at hand: ours are parts of them, and every figure of ours says on how many pairs it stands. Metrics
that use a model run on the embedded set, which is not the papers' (those need hub models: `--models paper`).
medassay is for research and quality assurance, not for clinical decisions.
"""


def signatures(rows: Sequence[Row]) -> list[str]:
    """What made our numbers."""
    made = {str(row.metric.signature): None for row in rows if row.metric is not None}
    return ["## Signatures", "", "```", *made, "```"]


def page(data: Path, skip: Collection[str] = ()) -> str:
    """The whole document."""
    rows = [*read_rows("hare.tsv", HARE, skip), *read_rows("mts_dialog.tsv", (*NOTES, "aggregate"), skip)]
    parts = [HEAD, *hare(data, skip), "", *notes(data, skip), "", *ladder(data, skip), "", *signatures(rows), ""]
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the document; 2 where the data are not there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with hare/, mts_dialog/, perturbed/, paraphrases/"
    )
    parser.add_argument("--out", type=Path, default=FOLDER.parent / "docs" / "papers.md")
    parser.add_argument("--skip", default="", help="metrics to leave out, comma-separated")
    given = parser.parse_args(arguments)
    needed = ("hare/expert_scores.csv", "mts_dialog/fact_scores.csv", "perturbed/dev.jsonl", "paraphrases/dev.jsonl")
    missing = [name for name in needed if not (given.data / name).exists()]
    if missing:
        _say(f"{given.data}: {', '.join(missing)} not found")
        return 2
    given.out.write_text(page(given.data, [name for name in given.skip.split(",") if name]), encoding="utf-8")
    _say(f"written to {given.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
