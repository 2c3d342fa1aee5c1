"""docs/papers.md from the results file and the published tables: every number is one of theirs, none is typed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Json = dict[str, Any]

SECTIONS = ("hare", "choices", "notes", "pathgls", "facts")
HARE = ("pearson", "spearman", "kendall", "r2", "rmse")
NOTES = (
    "factual_precision", "factual_recall", "factual_f1", "hallucination_rate", "omission_rate", "aggregate",
)  # fmt: skip

_PUBLISHED = Path(__file__).resolve().parent / "published"
_SEEN = {"no": "out", "texts": "texts in, scores out", "scores": "in", "not stated": "not stated"}
NO_OURS = "not available:"

HEAD = """# Published tables beside ours

What the papers report, and what medassay measures on the parts of their data that are at hand. Written by `make papers DATA=DIR` from [papers.json](papers.json) and the published tables (`benchmarks/published/`); do not edit by hand. Every figure of ours says how many rows it is computed on; metrics that are compared are computed on the same rows. In brackets: 95 % intervals, bootstrap over references.

*Models*: what made our number; `none` where a metric has no model. The papers' own models are `--models paper` ([models](models.md)); no hub can be reached where this page is made, so none of them was run. *Training*: whether the rows of the table were in the training of our metric. **in**: its numbers were, so the figure is a fit, not a forecast. **texts in, scores out**: it has read these texts, not the numbers it is compared with. **out**: neither.

medassay is for research and quality assurance, not for clinical decisions.
"""  # noqa: E501


def read_published(name: str) -> list[dict[str, str]]:
    """The rows of a published table; lines that begin with # are comments."""
    text = (_PUBLISHED / f"{name}.tsv").read_text(encoding="utf-8")
    lines = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    return [dict(zip(lines[0], cells + [""] * (len(lines[0]) - len(cells)))) for cells in lines[1:]]


def size(name: str) -> str:
    """A number of a paper that is no row of a table, as printed."""
    return next(row["value"] for row in read_published("sizes") if row["row"] == name)


def seen_of(signature: str, data: str, models: str) -> tuple[str, str]:
    """What a metric has seen of a set in training (`no`, `texts`, `scores`, `not stated`), and in words."""
    name, *fields = signature.split("|")
    whole = next((field.removeprefix("of:").rpartition(".")[0] for field in fields if field.startswith("of:")), name)
    for row in read_published("training"):
        if (row["metric"], row["set"]) == (whole, data):
            return row["seen"], row["words"]
    return ("no" if models == "none" else "not stated"), ""


def trained(row: Json, data: str) -> str:
    """The cell that says whether the rows of a table were in a metric's training."""
    seen, words = seen_of(row["signature"], data, row["models"])
    return f"{_SEEN[seen]}: {words}" if words and seen in ("texts", "scores") else _SEEN[seen]


def number(value: float | str | None, places: int = 2) -> str:
    """`.648`, `−.02`, `40.3`; a dash where there is none."""
    if value is None or value == "":
        return "–"
    value = float(value)
    text = f"{abs(value):.{places}f}"
    text = text.removeprefix("0") if places and abs(value) < 1 else text
    return f"−{text}" if value < 0 and float(text) != 0 else text


def ranged(figure: Sequence[float | None] | None, places: int = 2) -> str:
    """A value with its interval, where it has one."""
    if not figure:
        return "–"
    shown = number(figure[0], places)
    if len(figure) == 3 and figure[1] is not None and figure[2] is not None:
        shown += f" ({number(figure[1], min(places, 2))} to {number(figure[2], min(places, 2))})"
    return shown


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    return [*lines, *(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows), ""]


def _compared(row: Json, data: str, figures: Sequence[str], places: int) -> list[list[str]]:
    """The published line of a row, and ours under it."""
    lines = []
    if any(value is not None for value in row["published"].values()):
        cells = [number(row["published"][figure], places) for figure in figures]
        lines.append([row["row"], "published", *cells, "", "", ""])
    if row["ours"] is None:
        lines.append([row["row"], "ours", *["–"] * len(figures), "", "", _without(row["remark"])])
    else:
        cells = [ranged(row["ours"].get(figure), places) for figure in figures]
        lines.append([row["row"], f"ours, n {row['n']}", *cells, row["models"], trained(row, data), row["remark"]])
    return lines


def _without(reason: str) -> str:
    return reason if reason.startswith("not assessed") else f"{NO_OURS} {reason or 'nothing here computes it'}"


def render_hare(part: Json, choices: Json | None) -> list[str]:
    """HARE's tables."""
    published = {row["row"]: row["count"] for row in read_published("hare_scores")}
    lines = [
        "## HARE: expert scores of generated pathology reports",
        "",
        f"Tables 6 and 7 of the paper. Published: the {size('hare scores above 0')} scores above 0 of "
        f"{sum(map(int, published.values()))} pairs. "
        f"Ours: the {part['above']} scores above 0 of the {part['pairs']} pairs at hand ({part['references']} "
        f"references), one part of the published set; every metric on the same {part['common']} of them. RMSE: "
        "residual of the expert score, on a 0–1 scale, about its line on the metric. Paper mode's choices: "
        "[HARE as published](metrics/hare-paper.md).",
        "",
        *table(
            ("metric", "", "Pearson", "Spearman", "Kendall", "R²", "RMSE", "models", "training", "remark"),
            [line for row in part["rows"] for line in _compared(row, "hare", HARE, 3)],
        ),
        "Reports by expert score (Table 5):",
        "",
        *table(
            ("", *published),
            [
                ["published", *published.values()],
                ["ours", *(str(part["distribution"][level]) for level in published)],
            ],
        ),
        f"F1 by encoder (Table 4). Ours is {NO_OURS} the paper's annotation is not at hand; the embedded readers' "
        "held-out figures, on our own annotation, are in the "
        "[model card](../src/medassay/models/embedded/MODEL_CARD.md).",
        "",
        *table(
            ("encoder, published", "entities", "relations"),
            [[row["row"], number(row["ner_f1"], 3), number(row["re_f1"], 3)] for row in read_published("hare_models")],
        ),
    ]
    return lines + (render_choices(choices) if choices else [])


def render_choices(part: Json) -> list[str]:
    """Both halves of paper mode."""
    rows = []
    for row in part["rows"]:
        named = ", ".join(f"`{key}={'none' if value is None else value}`" for key, value in row["choice"].items())
        halves = [
            f"{number(row[half][0], 3)} / {number(row[half][1], 3)}" for half in ("hare", "entities", "relations")
        ]
        counts = [str(row["relations_on_both_sides"]), str(row["relations_above_0"])]
        rows.append([named or "defaults", str(row["n"]), *halves, *counts])
    return [
        "### HARE: the two halves and every choice",
        "",
        f"`hare(mode=paper)` with the embedded models on the {part['pairs']} pairs above 0, one setting changed at a "
        "time. Pearson / Spearman with the expert of HARE, of its entity half F1_e and of its relation half F1_r; a "
        "dash where F1_r is 0 on every pair. Then the pairs in which both reports have a relation, and those with F1_r "
        f"above 0. {part['references_with_marker_results']} references relate a marker to its result, "
        f"{part['candidates_with_marker_results']} candidates do. If every two entities that can be related were "
        f"related, {part['could_share']} pairs would share a triple of equal words.",
        "",
        *table(
            ("settings", "n", "HARE", "F1_e", "F1_r", "relations on both sides", "F1_r above 0"),
            rows,
        ),
    ]


def render_notes(part: Json) -> list[str]:
    """The clinical-note tables."""
    own = [
        [row["row"], str(row["own_n"]), ranged(row["own"]["factual_f1"]), ranged(row["own"]["aggregate"])]
        for row in part["rows"]
        if row.get("own")
    ]
    return [
        "## Clinical notes: factual scores of MTS-DIALOG summaries",
        "",
        f"Table 2 of Ben Abacha et al., all of its rows. Published: Pearson on {size('mts_dialog pairs')} pairs. "
        f"Ours: the {part['pairs']} pairs at hand ({part['dialogues']} dialogues), one part of the published set; "
        f"all metrics on the {part['common']} of them that every metric scores (MIST needs a concept in the "
        "reference). Aggregate: ¼(2 r_F1 − r_H − r_O). The rates stand as published, an omission rate of −1 included. "
        f"Tables 3 to 6 of the paper, ours {NO_OURS} CONSULT-FACTS and CONSULT-FULL are in-house collections, "
        "MEDIQA-RRS is not "
        "at hand, and the averages of Table 6 need all of them.",
        "",
        *table(
            ("metric", "", "P", "R", "F1", "H", "O", "aggregate", "models", "training", "remark"),
            [line for row in part["rows"] for line in _compared(row, "mts_dialog", NOTES, 2)],
        ),
        "Each metric on all rows that it scores; rows with different n are not comparable:",
        "",
        *table(("metric", "n", "F1", "aggregate"), own),
    ]


def render_pathgls(part: Json) -> list[str]:
    """PathGLS' tables."""
    rows = []
    for row in part["rows"]:
        cells = [number(row["published"][name], 2) for name in ("control", "visual")]
        drops = [number(row["published"][name], 1) for name in ("visual_drop", "logic_drop")]
        wrong = number(row["published"]["logic"], 2)
        rows.append([row["row"], "published", *cells, drops[0], cells[0], wrong, drops[1], "", "", ""])
        if row["ours"] is None:
            rows.append([row["row"], "ours", *["–"] * 6, "", "", _without(row["remark"])])
            continue
        visual, logic = row["ours"]["visual"] or {}, row["ours"]["logic"] or {}
        n = f"ours, n {visual.get('n', 0)} and {logic.get('n', 0)}"
        shown = [number(visual.get("control")), number(visual.get("changed")), ranged(visual.get("drop"), 1)]
        shown += [number(logic.get("control")), number(logic.get("changed")), ranged(logic.get("drop"), 1)]
        rows.append([row["row"], n, *shown, row["models"], trained(row, "graded"), row["remark"]])
    hierarchy = {row["row"]: row for row in read_published("pathgls_hierarchy")}
    ours = part["hierarchy"]
    return [
        "## PathGLS: trust without a reference",
        "",
        "Table 1, sensitivity. Published: Quilt-1M captions and their perturbations. Ours: "
        f"{part['reports']} reports of graded wrongness on {part['images']} images, written for this project, not by "
        "pathologists. Control: the correct report; visual hallucination: a conspicuous finding or process that the "
        "image does not show (level 3); logic error: a report that contradicts itself (level 2 with conflicting "
        "passages). All metrics on the reports that every one scores. Drops in per cent of the control. Metrics that "
        "need a reference get the correct report, so that "
        "their control is 1 by construction.",
        "",
        *table(
            ("metric", "", "control", "visual", "drop %", "control", "logic", "drop %", "models", "training", "remark"),
            rows,
        ),
        "Error hierarchy (section 4.2 and Figure 3b): Spearman with the levels of wrongness, 1 is best. Published on "
        "Quilt-1M with all three dimensions, and the change in per cent without one. Ours on the same "
        f"{ours[0]['n'] if ours else 0} reports with a number for both dimensions, levels 0 to 4; stability is "
        f"{NO_OURS} it needs the model that wrote the reports; a judge of that size cannot be reached here.",
        "",
        *table(
            ("", "", "Spearman", "change %"),
            [
                *(
                    [name, "published", number(row["spearman"]), number(row["change"], 1)]
                    for name, row in hierarchy.items()
                ),
                *([row["row"], f"ours, n {row['n']}", number(row["spearman"]), "–"] for row in ours),
            ],
        ),
        f"Repeated runs (Figure 3a). Published: standard deviation {size('pathgls standard deviation')}. Ours, two "
        "runs with models loaded anew and "
        "rows in another order, largest standard deviation of a report: "
        + ", ".join(f"{row['score']} {number(row['largest_sd'], 6)} (n {row['n']})" for row in part["repeat"])
        + ".",
        "",
        f"Table 2, benchmark. Ours is {NO_OURS} neither these models nor what they wrote is at hand "
        "(`medassay trust-study benchmark` makes the table from scores).",
        "",
        *table(
            ("data set, model, scale", "grounding", "logic", "stability", "PathGLS"),
            [
                [row["row"], *(number(row[name]) for name in ("grounding", "logic", "stability", "pathgls"))]
                for row in read_published("pathgls_models")
            ],
        ),
        f"Table 3, domain gap. Ours is {NO_OURS} as for Table 2 (`medassay trust-study gap`).",
        "",
        *table(
            ("model", "public", "private", "drop"),
            [
                [row["row"], *(number(row[name], 3) for name in ("public", "private", "drop"))]
                for row in read_published("pathgls_gap")
            ],
        ),
    ]


def render_facts(part: Json) -> list[str]:
    """The fact-counting tables."""
    places = [0, 0, 0, 3, 3]
    data = [
        [row["row"], number(row["value"], digits), number(ours, digits)]
        for row, ours, digits in zip(read_published("mtsamples"), part["figures"], places)
    ]
    lead = part["lead3"]
    parts = ", ".join(f"{name} {number(value)}" for name, value in (lead.get("parts") or {}).items())
    return [
        "## Fact counting: what three evaluators counted",
        "",
        "The data (section 3), MTSamples:",
        "",
        *table(("", "published", "ours"), data),
        f"Table 1, averages over {size('fact counting reports')} reports. Ours is {NO_OURS} the "
        "evaluators' raw counts and the models' descriptions "
        "are not at hand; `medassay annotate` collects such counts, and imports them, and computes this table.",
        "",
        *table(
            ("model, score", "evaluator 1", "evaluator 2", "evaluator 3", "average"),
            [
                [row["row"], *(number(row[name]) for name in ("eval1", "eval2", "eval3", "average"))]
                for row in read_published("fact_counting")
            ],
        ),
        _lead(lead, parts),
        "",
        f"Table 2, Krippendorff's alpha. Ours is {NO_OURS} as for Table 1.",
        "",
        *table(
            ("", "all three", "1 and 2", "1 and 3", "2 and 3"),
            [
                [row["row"], *(number(row[name]) for name in ("all", "e1_e2", "e1_e3", "e2_e3"))]
                for row in read_published("fact_agreement")
            ],
        ),
    ]


def _lead(lead: Json, parts: str) -> str:
    if "value" not in lead:
        return f"Lead-3 with facts counted by `facts` is {NO_OURS} {lead.get('remark') or 'no report was scored'}."
    return (
        f"The baseline Lead-3 can be had, its counts by people cannot. On {lead['scored']} of {lead['n']} other "
        "reports of the same data (whole reports, drawn by seed 1), facts counted by the metric `facts` against the "
        f"description and the report: {number(lead['value'])} ({parts}). It is no row of the table above: other "
        f"reports, and no people. Models: {lead['models']}."
    )


def signatures(results: Json) -> list[str]:
    """What made our numbers."""
    rows = [row for name in ("hare", "notes", "pathgls") for row in results.get(name, {}).get("rows", ())]
    signed = dict.fromkeys(row["signature"] for row in rows if "signature" in row)
    return ["## Signatures", "", "```", *signed, "```", ""]


def render(results: Mapping[str, Any]) -> str:
    """The whole page."""
    part = dict(results)
    lines = [HEAD]
    if "hare" in part:
        lines += render_hare(part["hare"], part.get("choices"))
    for name, draw in (("notes", render_notes), ("pathgls", render_pathgls), ("facts", render_facts)):
        if name in part:
            lines += draw(part[name])
    return "\n".join([*lines, *signatures(part)])
