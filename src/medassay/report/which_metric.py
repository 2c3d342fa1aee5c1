"""Which metric for which text: the figures behind docs/which-metric.md and `medassay metrics NAME`.

They are data (`which_metric.json`), made by `tools/which_metric.py` from a run of `medassay bench` and from the
published tables (docs/papers.json). Nothing here is typed by hand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

from medassay.examples.bench import SELF

Json = Mapping[str, Any]


@lru_cache(maxsize=1)
def which_metric() -> Json:
    """The figures that come with the package."""
    stored: Json = json.loads((files("medassay.report") / "which_metric.json").read_text(encoding="utf-8"))
    return stored


def metric_lines(name: str, data: Json | None = None) -> list[str]:
    """What is known of one metric, a line per kind of text; empty where the benchmark did not have it."""
    lines = []
    for kind in (data or which_metric())["kinds"]:
        for row in kind["rows"]:
            if row["metric"] == name:
                lines.append(
                    f"{kind['kind']}: {_description(row)}{', recommended' if name in kind['recommended'] else ''}."
                )
    return lines


def _description(row: Json) -> str:
    """One row in words."""
    parts = [f"paraphrase above error in {share(row['sensitivity'])} of pairs"]
    parts.append(f"false alarms {share(row['false_alarms'])}")
    parts.append(typical(row["medians"]))
    if row["misses"]:
        parts.append(f"misses most: {missed(row['misses'])}")
    parts.append(f"people: {row['people']}")
    return "; ".join(part for part in parts if part)


def share(rate: Sequence[float | None]) -> str:
    """A share in per cent with its interval.

    >>> share([0.812, 0.74, 0.87, 120]), share([None, None, None, 0])
    ('81 % (74–87)', '–')
    """
    if rate[0] is None:
        return "–"
    ends = "" if rate[1] is None or rate[2] is None else f" ({100 * rate[1]:.0f}–{100 * rate[2]:.0f})"
    return f"{100 * rate[0]:.0f} %{ends}"


def typical(medians: Mapping[str, float | None]) -> str:
    """What values to expect: the middle of faithful paraphrases and of texts with a critical error."""
    good, poor = medians.get("paraphrase"), medians.get("critical")
    return "" if good is None or poor is None else f"faithful texts about {good:.2f}, with a critical error {poor:.2f}"


def missed(misses: Sequence[Sequence[Any]]) -> str:
    """The kinds of error that a metric notices least.

    >>> missed([["certainty", 0.31], ["person", 0.5]])
    'certainty (31 %), person (50 %)'
    """
    named = [("self-contradiction" if kind == SELF else kind, rate) for kind, rate in misses]
    return ", ".join(f"{kind} ({100 * rate:.0f} %)" for kind, rate in named)


def which_page(data: Json) -> str:
    """docs/which-metric.md."""
    lines = [
        "# Which metric for which text",
        "",
        "Which metric to use for a kind of text, which values to expect, and what each metric misses. `medassay "
        "metrics NAME` shows the same lines. Written by `make which-metric` from a run of [`medassay bench`](bench.md) "
        "and from [the published tables](papers.md); do not edit by hand.",
        "",
        f"Benchmark: {data['bench']}",
        "",
        "- *Paraphrase above error*: share of pairs in which a faithful paraphrase scores above a version with one "
        "planted error by more than the margin.",
        "- *False alarms*: share of faithful paraphrases that score no better than the threshold that catches half of "
        "the wrong versions.",
        "- *Good value*: the median of faithful paraphrases, then of texts with a critical error.",
        "- *Recommended*: the metric with the highest share, and those whose 95 % interval reaches it; none where the "
        "highest is not above one half. A metric made for one kind of text is listed for it alone.",
    ]
    shown: list[Json] = []
    for kind in data["kinds"]:
        recommended = ", ".join(kind["recommended"]) or "none of those measured"
        lines += ["", f"## {kind['kind'].capitalize()}", "", f"Recommended: **{recommended}**."]
        if kind["remark"]:
            lines += ["", kind["remark"]]
        same = next((other["kind"] for other in shown if other["rows"] == kind["rows"]), None)
        shown.append(kind)
        if same is not None:
            lines += ["", f"The figures are those of the [{same}](#{same.replace(' ', '-')})."]
            continue
        lines += [
            "",
            "| metric | paraphrase above error | false alarms | critical errors | good value | misses most | people |",
            "|---|---|---|---|---|---|---|",
        ]
        for row in kind["rows"]:
            cells = (share(row["sensitivity"]), share(row["false_alarms"]), share(row["critical"]))
            words = (typical(row["medians"]) or "–", missed(row["misses"]) or "–", row["people"])
            lines.append(f"| {row['metric']} | {' | '.join((*cells, *words))} |")
    return "\n".join(lines) + "\n"
