"""`python tools/which_metric.py --bench BENCH.json [--papers PAPERS.json]` makes docs/which-metric.md.

BENCH.json is what `medassay bench --out` writes, PAPERS.json the figures of `make papers`. The figures also go to
`src/medassay/report/which_metric.json`, which `medassay metrics NAME` reads.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medassay.metrics.registry import metric_class, names
from medassay.report.which_metric import which_page

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.papers_page import seen_of  # noqa: E402

PAGE = ROOT / "docs" / "which-metric.md"
DATA = ROOT / "src" / "medassay" / "report" / "which_metric.json"

Json = dict[str, Any]

KINDS = (
    ("pathology report", "pathology", "hare", ""),
    ("note section", "notes", "notes", ""),
    ("full note", "notes", "notes", "The benchmark's notes are 60 to 120 words; people judged note sections."),
    ("summary", "all", "", "The benchmark has no summaries: figures over all of its texts, and no human scores."),
    ("radiology report", "radiology", "", "No human scores of radiology reports are at hand."),
)
"""Kind of text, group of the benchmark, section of the published tables, what a reader must know."""

DATA_SETS = {"hare": "hare", "notes": "mts_dialog"}
"""The set that a section of the published tables stands on."""

_FEWEST_PAIRS = 10
_MISSES = 3
_HALF = 0.5
"""A metric that prefers the paraphrase in no more than this share of pairs is not recommended."""


def build(bench: Json, papers: Json) -> Json:
    """The figures of the page."""
    part = "all" if bench["documents"] == bench["available"] else f"{bench['documents']} of the"
    made = (
        f"{part} {bench['available']} documents, written for medassay and never trained on; medassay "
        f"{bench['version']}, margin {bench['margin']:g} of a metric's scale, 95 % intervals over documents; models: "
        f"{', '.join(models_of(bench)) or 'none'}."
    )
    return {"bench": made, "kinds": [of_kind(bench["cards"], papers, *kind) for kind in KINDS]}


def models_of(bench: Json) -> list[str]:
    """The models that the signatures name."""
    fields = [field for card in bench["cards"] for field in card["signature"].split("|")]
    return list(dict.fromkeys(field.removeprefix("models:") for field in fields if field.startswith("models:")))


def of_kind(cards: Sequence[Json], papers: Json, kind: str, texts: str, section: str, remark: str) -> Json:
    """One kind of text: its metrics, best first, and which are recommended."""
    chosen = [card for card in cards if card["texts"] == texts and _fits(card["metric"], kind)]
    ranked = sorted(chosen, key=lambda card: -(card["sensitivity"][0] or 0.0))
    best = (ranked[0]["sensitivity"][0] or 0.0) if ranked else 0.0
    recommended = [card["metric"] for card in ranked if best > _HALF and _reaches(card["sensitivity"], best)]
    rows = [
        {
            "metric": card["metric"],
            "sensitivity": card["sensitivity"],
            "critical": card["by_severity"]["critical"],
            "false_alarms": card["false_alarms"],
            "medians": card["medians"],
            "misses": misses(card["by_kind"]),
            "people": people(papers, section, card),
        }
        for card in ranked
    ]
    return {"kind": kind, "recommended": recommended, "remark": remark, "rows": rows}


def _fits(metric: str, kind: str) -> bool:
    """Whether a metric is for this kind of text: one made for another kind is not."""
    made_for = metric_class(metric).made_for if metric in names() else ""
    return made_for in ("", kind)


def _reaches(found: Sequence[float | None], best: float) -> bool:
    value, high = found[0], found[2]
    return value is not None and (value >= best or (high is not None and high >= best))


def misses(by_kind: Mapping[str, Sequence[Any]]) -> list[list[Any]]:
    """The kinds of error that are noticed least, where there are enough pairs to say so."""
    enough = {kind: found[0] for kind, found in by_kind.items() if found[0] is not None and found[3] >= _FEWEST_PAIRS}
    return [[kind, enough[kind]] for kind in sorted(enough, key=lambda kind: (enough[kind], kind))[:_MISSES]]


def people(papers: Json, section: str, card: Json) -> str:
    """Agreement with people as the published tables' set has it, in words; whether it was trained on that set."""
    own = _settings(card)
    rows = [row for row in papers.get(section, {}).get("rows", ()) if row.get("ours") and _name(row) == card["metric"]]
    if not rows:
        return "not measured"
    # A metric may stand there with several settings: the row that shares most of them is the one.
    row = max(rows, key=lambda row: len(own & _settings(row)))
    seen, _ = seen_of(row["signature"], DATA_SETS[section], row["models"])
    trained = {"scores": "; trained on these scores: a fit, not a forecast", "texts": "; has seen these texts"}
    if section == "hare":
        found = f"Pearson {_figure(row['ours']['pearson'])} with an expert's 0–5 score, n {row['n']}"
    else:
        found = f"aggregate {_figure(row['ours']['aggregate'])} with counted facts, n {row['n']}"
    return found + trained.get(seen, "")


def _settings(row: Json) -> set[str]:
    """The fields of a signature, without the version."""
    return {field for field in row["signature"].split("|") if not field.startswith("v:")}


def _name(row: Json) -> str:
    return str(row["signature"].split("|")[0])


def _figure(found: Sequence[float | None]) -> str:
    value, *ends = found
    if value is None:
        return "–"
    if len(ends) == 2 and None not in ends:
        return f"{value:.2f} ({ends[0]:.2f} to {ends[1]:.2f})"
    return f"{value:.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, required=True)
    parser.add_argument("--papers", type=Path)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--data", type=Path, default=DATA)
    given = parser.parse_args(arguments)
    known = given.papers is not None and given.papers.is_file()
    papers = json.loads(given.papers.read_text(encoding="utf-8")) if known else {}
    data = build(json.loads(given.bench.read_text(encoding="utf-8")), papers)
    given.data.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    given.page.write_text(which_page(data), encoding="utf-8")


if __name__ == "__main__":
    main()
