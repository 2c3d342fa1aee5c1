"""Small inputs for every command, and what the adversarial tests share."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

NOTE = "Colon: tubular adenoma. No high-grade dysplasia is seen. Margins are clear. Size 4 mm."
REFERENCE = "Colon: tubular adenoma without high-grade dysplasia. Margins are clear. Size 5 mm."


def write_csv(path: Path, rows: Sequence[Sequence[Any]]) -> Path:
    """Write rows, the header first."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)
    return path


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a file that was written."""
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def write_inputs(folder: Path) -> None:
    """`cases.csv` for scoring, `scores.csv` for studies, `extract.jsonl` for INCEpTION."""
    header = ["id", "system", "candidate", "reference", "source", "people", "ward"]
    rows = [[k, "ab"[k % 2], NOTE, REFERENCE + " x" * k, NOTE, k % 5, k % 3] for k in range(12)]
    write_csv(folder / "cases.csv", [header, *rows])
    columns = ["id", "system", "dataset", "level", "people"]
    dimensions = ("grounding", "logic", "stability", "trust")
    columns += [part for name in dimensions for part in (name, f"{name}.unscored")]
    scores = []
    for k in range(60):
        cells: list[Any] = [k, "ab"[k % 2], ("public", "private")[k % 3 == 0], "patch", k % 6]
        for shift in range(len(dimensions)):
            cells += [round(((7 * k + shift) % 60) / 60, 3), ""]
        scores.append(cells)
    write_csv(folder / "scores.csv", [columns, *scores])
    (folder / "extract.jsonl").write_text(json.dumps({"id": "1", "text": NOTE, "entities": [], "relations": []}) + "\n")


COMMANDS: dict[str, tuple[list[str], dict[str, str]]] = {
    "score": (
        ["score", "cases.csv", "--metrics", "rouge1", "--resamples", "20"],
        {"--out": "s.csv", "--report": "r.html", "--save-distribution": "d.json"},
    ),
    "trust": (
        ["trust", "cases.csv", "--resamples", "0"],
        {"--out": "s.csv", "--report": "r.html", "--evidence": "e.jsonl"},
    ),
    "check": (["check", "cases.csv"], {"--out": "c.jsonl", "--html": "c.html"}),
    "extract": (["extract", "cases.csv"], {"--out": "e.jsonl", "--html": "e.html"}),
    "validate": (
        ["validate", "cases.csv", "--human", "people", "--metrics", "rouge1", "--resamples", "20"],
        {"--out": "v.csv", "--report": "v.html"},
    ),
    "stress": (
        ["stress", "cases.csv", "--metrics", "rouge1", "--limit", "2", "--resamples", "0"],
        {"--out": "t.csv", "--report": "t.html"},
    ),
    "baseline": (["baseline", "lead3", "cases.csv"], {"--out": "b.csv"}),
    "calibrate": (
        ["trust-study", "calibrate", "scores.csv", "--human", "people", "--resamples", "20"],
        {"--out": "p.json", "--report": "p.html"},
    ),
    "ablation": (
        ["trust-study", "ablation", "scores.csv", "--human", "people", "--resamples", "20"],
        {"--out": "a.csv", "--report": "a.html"},
    ),
    "benchmark": (
        ["trust-study", "benchmark", "scores.csv", "--resamples", "20"],
        {"--out": "a.csv", "--report": "a.html"},
    ),
    "gap": (
        ["trust-study", "gap", "scores.csv", "--public", "public", "--private", "private", "--resamples", "20"],
        {"--out": "a.csv", "--report": "a.html"},
    ),
}
"""By command: its arguments, and its outputs with the names they would usually have."""


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file of a folder with its inode and content, to see that nothing was touched."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): (os.stat(path).st_ino, path.read_bytes()) for path in files}  # noqa: PTH116
