"""The figures of docs/ledger.md and docs/metrics/fidelity.md: `python -m benchmarks.ledger --data FOLDER`.

- `dialogues`: metrics against rates that people counted on MTS-Dialog (`mts_dialog/fact_scores.csv`).
- `counted`: the same on candidates counted for this project, on dialogues held out from training.
- `preferences`: agreement with two readers' scores of radiology reports and review conclusions (`corpus/preferences`).
- `ladder`: copy, faithful rewordings, versions with one error and another text, of documents held out from training.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import medassay
from benchmarks.papers_page import table
from medassay.training.reader.material import held_out, read_csv, read_jsonl

METRICS = ("note", "facts", "hallucination", "omission", "risk", "fidelity")
WITH_HARD = ("note", "facts", "hallucination", "omission")
RATES = ("P", "R", "F1", "hallucination", "omission")

Rows = Sequence[Mapping[str, Any]]


def values(result: Any, metric: str) -> Any:
    return np.array([np.nan if score.value is None else score.value for score in result[metric]], float)


def pearson(one: Any, other: Any) -> float:
    known = ~np.isnan(one) & ~np.isnan(other)
    return float(np.corrcoef(one[known], other[known])[0, 1])


def correlations(rows: Rows, people: Mapping[str, Any], models: str | None) -> list[list[str]]:
    """A line per metric: Pearson correlation with each rate, and the aggregate ¼(2 r_F1 − r_H − r_O)."""
    names = [*METRICS, *(f"{name}(counts=hard)" for name in WITH_HARD)]
    result = medassay.score(
        [row["candidate"] for row in rows],
        [row["reference"] for row in rows],
        sources=[row["source"] for row in rows],
        metrics=[*names, "rouge1"],
        models=models,
        evidence=False,
    )
    columns = {name: values(result, name) for name in names}
    columns["ROUGE-1 recall"] = np.array([score.parts.get("recall", np.nan) for score in result["rouge1"]], float)
    lines = []
    for name, column in columns.items():
        r = {rate: pearson(column, people[rate]) for rate in RATES}
        aggregate = (2 * r["F1"] - r["hallucination"] - r["omission"]) / 4
        lines.append([name, *(f"{r[rate]:.2f}" for rate in RATES), f"{aggregate:.2f}"])
    return lines


def dialogues(data: Path, models: str | None) -> list[list[str]]:
    rows = read_csv(data / "mts_dialog/fact_scores.csv")
    names = ("factual_precision", "factual_recall", "factual_f1", "hallucination_rate", "omission_rate")
    people = {rate: np.array([float(row[name]) for row in rows]) for rate, name in zip(RATES, names)}
    return correlations(rows, people, models)


def counted(data: Path, models: str | None) -> list[list[str]]:
    rows = [row for row in read_jsonl(data / "mts_dialog/judged_facts.jsonl") if held_out(row["source"])]
    stated = np.array([row["correct"] + row["incorrect"] + row["hallucinated"] for row in rows], float)
    correct, reference = (np.array([row[name] for row in rows], float) for name in ("correct", "ref_facts"))
    precision, recall = correct / np.maximum(stated, 1), correct / reference
    people = {
        "P": precision,
        "R": recall,
        "F1": 2 * precision * recall / np.maximum(precision + recall, 1e-9),
        "hallucination": np.array([row["hallucinated"] for row in rows]) / np.maximum(stated, 1),
        "omission": np.array([row["omitted"] for row in rows]) / reference,
    }
    return correlations(rows, people, models)


def preferences(corpus: Path, models: str | None) -> list[list[str]]:
    """A line per metric: Pearson correlation with the mean of both readers' scores, by kind of text."""
    names = ("facts", "fidelity", "note", "rouge1", "bertscore")
    columns = []
    for kind in ("radiology", "reviews"):
        rows = read_jsonl(corpus / f"preferences/{kind}.jsonl")
        readers = [read_jsonl(corpus / f"preferences/{kind}.{name}.jsonl") for name in ("scores", "scores_b")]
        by_reader = [{row["id"]: float(row["score"]) for row in reader} for reader in readers]
        people = np.array([np.mean([scores[row["id"]] for scores in by_reader]) for row in rows])
        candidates, references = [row["candidate"] for row in rows], [row["reference"] for row in rows]
        result = medassay.score(candidates, references, metrics=list(names), models=models, evidence=False)
        columns.append([f"{pearson(values(result, name), people):.2f}" for name in names])
    return [[name, *figures] for name, *figures in zip(names, *columns)]


@dataclass(frozen=True)
class Rungs:
    """A text with faithful rewordings, versions with one error near its wording and reworded, and another text."""

    kind: str
    text: str
    rewordings: Sequence[str]
    near: Sequence[str]
    reworded: Sequence[str]
    other: str


def held_out_rungs(data: Path, corpus: Path) -> list[Rungs]:
    sets: list[tuple[str, str, list[str], list[str], list[str]]] = []
    for record in read_jsonl(data / "paraphrases/dev.jsonl"):
        rewordings = [record["paraphrase_a"], record["paraphrase_b"]]
        sets.append((record["kind"], record["text"], rewordings, [], [record["error"]]))
    for path in sorted((corpus / "ladders").glob("*.jsonl")):
        for record in read_jsonl(path):
            errors = [error["text"] for error in record["errors"]]
            sets.append((record["kind"], record["text"], record["paraphrases"], errors[:2], errors[2:]))
    sets = [each for each in sets if held_out(each[1])]
    chooser = random.Random(0)
    others = [chooser.choice([o[1] for o in sets if o[1] != each[1] and o[0] == each[0]] or [""]) for each in sets]
    return [Rungs(*each, other) for each, other in zip(sets, others)]


def ladder(data: Path, corpus: Path, models: str | None) -> list[list[str]]:
    """A line per kind of text: shares of pairs in the right order; a tie with an error counts half."""
    sets = [rungs for rungs in held_out_rungs(data, corpus) if rungs.other]
    pairs = [
        (rungs.text, text)
        for rungs in sets
        for text in (rungs.text, *rungs.rewordings, *rungs.near, *rungs.reworded, rungs.other)
    ]
    result = medassay.score(
        [c for _, c in pairs], [r for r, _ in pairs], metrics=["fidelity"], models=models, evidence=False
    )
    scored = iter(values(result, "fidelity").tolist())
    shares: dict[str, dict[str, list[float]]] = {}
    for rungs in sets:
        own = shares.setdefault(rungs.kind, {name: [] for name in _ORDERS})
        copy, rewordings, near, reworded, other = (
            [next(scored) for _ in texts]
            for texts in ([rungs.text], rungs.rewordings, rungs.near, rungs.reworded, [rungs.other])
        )
        own["reworded error"] += _above(rewordings, reworded)
        own["near-verbatim error"] += _above(rewordings, near)
        own["copy > error"] += [float(copy[0] > error) for error in (*near, *reworded)]
        own["copy ≥ rewording"] += [float(copy[0] >= rewording) for rewording in rewordings]
        own["other lowest"].append(float(other[0] <= min(copy + rewordings + near + reworded)))
    return [
        [kind, *(f"{np.mean(own[name]):.3f} ({len(own[name])})" if own[name] else "–" for name in _ORDERS)]
        for kind, own in sorted(shares.items())
    ]


_ORDERS = ("reworded error", "near-verbatim error", "copy > error", "copy ≥ rewording", "other lowest")


def _above(higher: Sequence[float], lower: Sequence[float]) -> list[float]:
    return [1.0 if one > other else 0.5 if one == other else 0.0 for one in higher for other in lower]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, default=Path(__file__).parents[1] / "corpus")
    parser.add_argument("--models", default=None)
    parser.add_argument("--only", default="dialogues,counted,preferences,ladder")
    given = parser.parse_args()
    rates = ("metric", *RATES, "aggregate")
    parts: dict[str, tuple[Sequence[str], Callable[[], list[list[str]]]]] = {
        "dialogues": (rates, lambda: dialogues(given.data, given.models)),
        "counted": (rates, lambda: counted(given.data, given.models)),
        "preferences": (("metric", "radiology", "reviews"), lambda: preferences(given.corpus, given.models)),
        "ladder": (("kind", *_ORDERS), lambda: ladder(given.data, given.corpus, given.models)),
    }
    for name in given.only.split(","):
        header, measure = parts[name]
        print(f"\n{name}\n")
        print("\n".join(table(header, measure())), flush=True)


if __name__ == "__main__":
    main()
