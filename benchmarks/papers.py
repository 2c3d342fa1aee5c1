"""`python -m benchmarks.papers --data DIR`: our figures for the published tables, in docs/papers.json and papers.md.

Every number of the page comes from `published/*.tsv` (theirs) or from the results file (ours); `papers_page.py` renders
it and types none. `--only hare,notes` computes these sections again and keeps the others; `--render` computes nothing.
Metrics are named by request in the tables; what each has seen of a set in training stands in `published/training.tsv`
(`--render` is enough after a change there).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers_page import HARE, NOTES, SECTIONS, Json, read_published, render
from medassay.api import score
from medassay.cases import Case, read_cases
from medassay.errors import MedassayError
from medassay.metrics.base import Ensemble, Metric, Part
from medassay.metrics.registry import load_metric
from medassay.study import Estimate, validate

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER.parent / "docs" / "papers.json"
LEAD_REPORTS, REPEATED = 40, 20
LEAST_SHARE = 0.5
"""A metric that scores fewer of the rows than this is set on its own rows and does not narrow the common ones."""

_HUB = "needs the extra"


def say(text: str) -> None:
    """A line of progress."""
    print(text, file=sys.stderr, flush=True)


def rounded(value: float | None) -> float | None:
    """Four digits; None for what is no number."""
    return None if value is None or not np.isfinite(value) else round(float(value), 4)


def estimate(outcome: Estimate) -> list[float | None]:
    """Value, low and high."""
    return [rounded(outcome.value), rounded(outcome.low), rounded(outcome.high)]


def load(row: Mapping[str, str], skip: Collection[str]) -> tuple[Metric | None, str]:
    """The metric that answers a published row, or None and why there is none."""
    request, remark = row["request"], row.get("remark", "")
    if not request:
        return None, remark
    if request.partition("(")[0] in skip:
        return None, "left out of this run"
    try:
        return load_metric(request), remark
    except MedassayError as error:
        return None, remark if _HUB in str(error) and remark else str(error).partition("\n")[0]


def models_of(metric: Metric) -> str:
    """The models behind a number, from its signatures."""
    members = metric.members if isinstance(metric, Ensemble | Part) else ()
    fields = [field for each in (metric, *members) for field in str(each.signature).split("|")]
    named = dict.fromkeys(field.removeprefix("models:") for field in fields if field.startswith("models:"))
    return ", ".join(named) or "none"


def about(metric: Metric) -> Json:
    """Models and signature of a metric."""
    return {"models": models_of(metric), "signature": str(metric.signature)}


def read_rows(path: Path) -> list[Case]:
    """The cases of a file."""
    return [row.case for row in read_cases(path) if row.case is not None]


class Study:
    """One set scored by all metrics of a published table."""

    def __init__(self, table: str, cases: Sequence[Case], data: str, skip: Collection[str]) -> None:
        self.data, self.rows = data, read_published(table)
        loaded = [load(row, skip) for row in self.rows]
        self.metrics = [metric for metric, _ in loaded]
        self.remarks = [remark for _, remark in loaded]
        named = {metric.name: metric for metric in self.metrics if metric is not None}
        say(f"{table}: {len(cases)} cases, {', '.join(named)}")
        self.result = score(list(cases), metrics=list(named.values()), evidence=False) if named else None
        self.records = self.result.rows() if self.result else []
        self.directions = {name: metric.higher_is_better for name, metric in named.items()}

    def scored(self, name: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which rows have a number of a metric."""
        return np.array([record.get(name) not in (None, "") for record in self.records])

    def common(self, counted: np.ndarray[Any, np.dtype[np.bool_]]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """The rows among `counted` that all metrics score which score at least half of them."""
        kept = counted.copy()
        for name in self.directions:
            if self.scored(name)[counted].mean() >= LEAST_SHARE:
                kept &= self.scored(name)
        return kept

    def validate(self, rows: np.ndarray[Any, np.dtype[np.bool_]], humans: Sequence[str], **settings: Any) -> Any:
        """The agreement with people on some rows."""
        from medassay.engine.score_table import make_table

        chosen = [record for record, kept in zip(self.records, rows) if kept]
        signatures = self.result.signatures if self.result else {}
        table = make_table("result", enumerate(chosen, 1), self.directions, signatures)
        return validate(table, humans, metrics=list(self.directions), **settings)


def published_of(row: Mapping[str, str], figures: Sequence[str]) -> Json:
    """The published figures of a row; None where a cell is empty."""
    return {figure: float(row[figure]) if row.get(figure) else None for figure in figures}


def hare(data: Path, skip: Collection[str]) -> Json:
    """HARE's Tables 5, 6 and 7."""
    cases = read_rows(data / "hare" / "expert_scores.csv")
    scores = [float(str(case.extra["expert_score"])) for case in cases]
    above = [case for case, expert in zip(cases, scores) if expert > 0]
    study = Study("hare", above, "hare", skip)
    rows = study.common(np.ones(len(above), bool))
    outcome = study.validate(rows, ["expert_score"], above=0.0, scale=(0.0, 5.0))
    out = []
    for row, metric, remark in zip(study.rows, study.metrics, study.remarks):
        record: Json = {"row": row["row"], "published": published_of(row, HARE), "ours": None, "remark": remark}
        if metric is not None:
            cell = outcome.of(metric.name, "expert_score")
            record |= about(metric) | {"n": cell.n}
            if cell.reason:
                record["remark"] = f"not assessed: {cell.reason}"
            else:
                ours = {name: estimate(cell.item[name]) for name in HARE[:3]}
                record["ours"] = ours | {"r2": [rounded(cell.r2)], "rmse": [rounded(cell.rmse)]}
        out.append(record)
    counts = Counter(int(each) for each in scores)
    return {
        "rows": out,
        "pairs": len(cases),
        "references": len({case.references[0] for case in cases}),
        "above": len(above),
        "common": int(rows.sum()),
        "distribution": {str(level): counts.get(level, 0) for level in range(6)},
    }


CHOICES: Sequence[Mapping[str, Any]] = (
    {},
    {"threshold": None},
    {"keep": "below"},
    {"entities": "distinct"},
    {"case": "mixed"},
    {"types": "graded"},
    {"types": "seven"},
    {"triples": "typed"},
    {"triples": "aligned"},
    {"triples": "aligned", "types": "graded"},
    {"ends": "kept"},
    {"empty": "unscored"},
)
"""The settings of paper mode, changed one by one."""


def choices(data: Path, skip: Collection[str]) -> Json:
    """Both halves of HARE's paper mode under each choice, and what any relation model could reach."""
    from medassay.language.graph import read_reports
    from medassay.metrics.hare_paper import PaperRules, score_pairs
    from medassay.models import load as load_model
    from medassay.study.correlation import pearson, spearman

    cases = read_rows(data / "hare" / "expert_scores.csv")
    expert = np.array([float(str(case.extra["expert_score"])) for case in cases])
    cases, expert = [case for case, e in zip(cases, expert) if e > 0], expert[expert > 0]
    reports = read_reports([case.references[0] for case in cases] + [case.candidate for case in cases])
    pairs = list(zip(reports[: len(cases)], reports[len(cases) :]))
    aligner = load_model("align")
    out = []
    for choice in CHOICES:
        scores = score_pairs(pairs, aligner, PaperRules(**choice))
        kept = np.array([each.value is not None for each in scores])
        parts = {
            name: np.array([each.parts[name] for each in scores if each.value is not None])
            for name in ("entities", "relations", "reference_relations", "candidate_relations")
        }
        total = np.array([each.value for each in scores if each.value is not None])
        record: Json = {"choice": dict(choice), "n": int(kept.sum())}
        for name, values in (("hare", total), ("entities", parts["entities"]), ("relations", parts["relations"])):
            varies = values.std() > 0
            record[name] = [rounded(f(values, expert[kept])) if varies else None for f in (pearson, spearman)]
        record["relations_above_0"] = int((parts["relations"] > 0).sum())
        record["relations_on_both_sides"] = int(
            ((parts["reference_relations"] > 0) & (parts["candidate_relations"] > 0)).sum()
        )
        out.append(record)
    return {"rows": out, "pairs": len(cases), "could_share": _could_share(pairs), **_marker_results(pairs)}


def _could_share(pairs: Sequence[Any]) -> int:
    """Pairs of reports that would share a triple if every two entities that can be related were related."""
    from medassay.spans import HARE_TYPES, RELATION_TYPES

    def triples(report: Any) -> set[tuple[str, str]]:
        kept = [entity for entity in report.entities if entity.type in HARE_TYPES]
        return {
            (head.text.lower(), tail.text.lower())
            for head in kept
            for tail in kept
            if (head.type, tail.type) in RELATION_TYPES
        }

    return sum(bool(triples(reference) & triples(candidate)) for reference, candidate in pairs)


def _marker_results(pairs: Sequence[Any]) -> Json:
    """How many references and candidates relate a marker to its result."""
    sides = [sum(any(r.type == "marker_modifier" for r in pair[i].relations) for pair in pairs) for i in (0, 1)]
    return {"references_with_marker_results": sides[0], "candidates_with_marker_results": sides[1]}


def notes(data: Path, skip: Collection[str]) -> Json:
    """Ben Abacha et al.'s Table 2, on the rows that all metrics score, and each metric on its own rows."""
    cases = read_rows(data / "mts_dialog" / "fact_scores.csv")
    study = Study("mts_dialog", cases, "mts_dialog", skip)
    everything = np.ones(len(study.records), bool)
    rows = study.common(everything)
    common, own = study.validate(rows, NOTES[:-1]), study.validate(everything, NOTES[:-1])
    out = []
    for row, metric, remark in zip(study.rows, study.metrics, study.remarks):
        record: Json = {"row": row["row"], "published": published_of(row, NOTES), "ours": None, "remark": remark}
        if metric is not None:
            record |= about(metric) | {"n": int(study.scored(metric.name)[rows].sum())}
            for key, outcome in (("ours", common), ("own", own)):
                record[key] = _note_figures(outcome, metric.name)
            record["own_n"] = int(study.scored(metric.name).sum())
            reason = common.of(metric.name, NOTES[0]).reason
            if reason:
                record["remark"] = f"not assessed: {reason}"
        out.append(record)
    return {
        "rows": out,
        "pairs": len(cases),
        "dialogues": len({case.source for case in cases}),
        "common": int(rows.sum()),
    }


def _note_figures(outcome: Any, name: str) -> Json | None:
    if outcome.of(name, NOTES[0]).reason:
        return None
    figures = {human: [rounded(outcome.of(name, human).item["pearson"].value)] for human in NOTES[:-1]}
    total = outcome.aggregates.get(name)
    return {**figures, "aggregate": estimate(total) if total else [None]}


def pathgls(data: Path, skip: Collection[str]) -> Json:
    """PathGLS' sensitivity, error hierarchy and repeat runs on reports of graded wrongness."""
    from medassay.commands.variants import score_groups, values_of
    from medassay.models import unload
    from medassay.study import repeat_runs, sensitivity
    from medassay.study.material import LOGIC, VISUAL

    kinds, groups, levels = _graded(data / "histology")
    table = read_published("pathgls_sensitivity")
    loaded = [load(row, skip) for row in table]
    metrics = [metric for metric, _ in loaded if metric is not None]
    say(f"pathgls: {sum(map(len, groups))} reports, {', '.join(metric.name for metric in metrics)}")
    values = same_texts(values_of(score_groups(groups, metrics)[0]))
    directions = {metric.name: metric.higher_is_better for metric in metrics}
    drops = {(row["variant"], row["metric"]): row for row in sensitivity(kinds, values, directions).rows}
    out = []
    for row, (metric, remark) in zip(table, loaded):
        figures = ("control", "visual", "visual_drop", "logic", "logic_drop")
        record: Json = {"row": row["row"], "published": published_of(row, figures), "ours": None, "remark": remark}
        if metric is not None:
            record |= about(metric)
            record["ours"] = {
                name: _drop(drops.get((kind, metric.name))) for name, kind in (("visual", VISUAL), ("logic", LOGIC))
            }
        out.append(record)
    some = [group[0] for group in groups[:REPEATED]]
    runs: dict[str, list[Any]] = {}
    reasons: dict[str, list[Any]] = {}
    for turn in range(2):
        unload()
        again = [metric for row in table if (metric := load(row, skip)[0]) is not None]
        order = some[::-1] if turn else some
        scores = score_groups([order], again)[0]
        for name, (group,) in scores.items():
            straight = group[::-1] if turn else group
            numbers = [np.nan if each.value is None else each.value for each in straight]
            runs.setdefault(name, []).append(np.array(numbers))
            reasons.setdefault(name, []).append([each.unscored for each in straight])
    repeated = repeat_runs(runs, reasons)
    return {
        "rows": out,
        "images": len({group[0].image for group in groups}),
        "reports": sum(map(len, groups)),
        "hierarchy": _hierarchy(values, levels),
        "repeat": [{"score": row["score"], "largest_sd": row["largest sd"], "n": row["n"]} for row in repeated.rows],
    }


def same_texts(values: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Numbers by metric and group, without those of a text that some metric does not score."""
    names = list(values)
    whole = [np.isfinite(np.stack(group)).all(axis=0) for group in zip(*values.values())]
    return {name: [np.where(kept, each, np.nan) for kept, each in zip(whole, values[name])] for name in names}


def _graded(folder: Path) -> tuple[list[list[str]], list[list[Case]], list[list[int]]]:
    """By image: the kind, case and level of wrongness of each report, the correct one (the control) first."""
    from medassay.study.material import CONTROL, LOGIC, VISUAL

    by_image: dict[str, list[Json]] = {}
    with (folder / "graded.jsonl").open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            record = json.loads(line)
            control = record["level"] == 0
            key = f"{record['image']} {number}" if control else next(reversed(by_image))
            by_image.setdefault(key, []).append(record)
    kinds, groups, levels = [], [], []
    for name, records in by_image.items():
        control = records[0]["report"]
        kinds.append(
            [
                CONTROL
                if r["level"] == 0
                else LOGIC
                if r["level"] == 2 and r["parts"]
                else VISUAL
                if r["level"] == 3
                else ""
                for r in records
            ]
        )
        levels.append([int(r["level"]) for r in records])
        groups.append(
            [
                Case(
                    id=f"{name} {r['level']}",
                    candidate=r["report"],
                    references=(control,),
                    image=str(folder / r["image"]),
                )
                for r in records
            ]
        )
    return kinds, groups, levels


def _drop(row: Mapping[str, Any] | None) -> Json | None:
    if row is None or not row["n"]:
        return None
    drop = row["drop %"]
    return {
        "control": rounded(row["control"]),
        "changed": rounded(row["changed"]),
        "drop": estimate(drop) if isinstance(drop, Estimate) else [rounded(drop)],
        "auc": rounded(row["AUC"]),
        "n": row["n"],
    }


def _hierarchy(values: Mapping[str, Sequence[Any]], levels: Sequence[Sequence[int]]) -> list[Json]:
    """Spearman of each score with the level of wrongness, turned so that 1 is perfect, on the same reports."""
    from medassay.metrics.policy import Policy
    from medassay.study.correlation import spearman

    level = np.concatenate([np.array(each, float) for each in levels])
    flat = {name: np.concatenate(list(groups)) for name, groups in values.items()}
    if not {"grounding", "logic"} <= set(flat):
        return []
    both = np.isfinite(flat["grounding"]) & np.isfinite(flat["logic"])
    weights = Policy().weights
    trust = weights["grounding"] * flat["grounding"] + weights["logic"] * flat["logic"]
    ways = {"grounding and logic": trust, "grounding alone": flat["grounding"], "logic alone": flat["logic"]}
    return [
        {"row": name, "spearman": rounded(-spearman(numbers[both], level[both])), "n": int(both.sum())}
        for name, numbers in ways.items()
    ]


def facts(data: Path, skip: Collection[str]) -> Json:
    """The fact-counting paper: its data, and the baseline Lead-3 with facts counted by our metric, not by people."""
    from medassay.commands.baseline import lead

    with gzip.open(data / "mtsamples" / "notes.csv.gz", "rt", encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if len((row["description"] or "").split()) >= 12]
    rows = [row for row in rows if (row["transcription"] or "").strip()]
    cases = [
        Case(id=row["note_id"], candidate=row["description"].strip(), references=(row["transcription"].strip(),))
        for row in rows
    ]
    say(f"mtsamples: {len(cases)} reports")
    metrics = [load_metric("rouge1_p"), load_metric("rougeL_p")]
    means = score(cases, metrics=metrics, evidence=False).rows()
    words = [(len(row["transcription"].split()), len(row["description"].split())) for row in rows]
    figures = [
        float(len(cases)),
        *np.mean(words, axis=0).tolist(),
        *(float(np.mean([row[metric.name] for row in means])) for metric in metrics),
    ]
    chosen = random.Random(1).sample(rows, min(LEAD_REPORTS, len(rows)))
    summaries = [
        replace(
            Case(id=row["note_id"], candidate=lead(row["transcription"]), references=(row["description"].strip(),)),
            source=row["transcription"],
        )
        for row in chosen
    ]
    metric, remark = load({"request": "facts"}, skip)
    counted: Json = {"n": len(summaries), "remark": remark}
    if metric is not None:
        say(f"lead-3: {len(summaries)} reports, {metric.name}")
        scores = [each for each in metric.score(summaries) if each.value is not None]
        counted |= about(metric) | {"scored": len(scores)}
        if scores:
            parts = {name: [each.parts[name] for each in scores if name in each.parts] for name in metric.parts}
            counted["value"] = rounded(float(np.mean([float(each.value or 0.0) for each in scores])))
            counted["parts"] = {name: rounded(float(np.mean(outcome))) for name, outcome in parts.items() if outcome}
    return {"figures": [rounded(figure) for figure in figures], "lead3": counted}


COLLECT: Mapping[str, Callable[[Path, Collection[str]], Json]] = {
    "hare": hare,
    "choices": choices,
    "notes": notes,
    "pathgls": pathgls,
    "facts": facts,
}
NEEDED = ("hare/expert_scores.csv", "mts_dialog/fact_scores.csv", "histology/graded.jsonl", "mtsamples/notes.csv.gz")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute, write the results file, render the page; 2 where the data are not there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with hare/, mts_dialog/, histology/, mtsamples/")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--only", default="", help=f"sections to compute, of {', '.join(SECTIONS)}")
    parser.add_argument("--skip", default="", help="metrics to leave out, comma-separated")
    parser.add_argument("--render", action="store_true", help="render the page from the results file")
    given = parser.parse_args(arguments)
    results: Json = json.loads(given.results.read_text(encoding="utf-8")) if given.results.is_file() else {}
    if not given.render:
        folder = given.data or Path()
        missing = [name for name in NEEDED if not (folder / name).exists()]
        if missing:
            say(f"{folder}: {', '.join(missing)} not found")
            return 2
        for name in [name for name in given.only.split(",") if name] or SECTIONS:
            start = time.perf_counter()
            results[name] = COLLECT[name](folder, [each for each in given.skip.split(",") if each])
            say(f"{name}: {time.perf_counter() - start:.0f} s")
            text = json.dumps({key: results[key] for key in SECTIONS if key in results}, indent=1, ensure_ascii=False)
            given.results.write_text(text + "\n", encoding="utf-8")
    page = given.results.with_suffix(".md")
    page.write_text(render(results), encoding="utf-8")
    say(f"written to {given.results} and {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
