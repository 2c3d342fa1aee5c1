"""`python tools/report_words.py DATA` fits `lexicons/report_words.tsv`: words that make a text read like a report.

DATA is the data folder. Documents are halved by a hash of their folded text: one half fits, the other is measured;
the benchmark's texts are measured alone. Only single words and their weights are kept, and of those only words that
occur in several sources.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from medassay.examples.bench import read_bench
from medassay.language.domain import reads_as_report, words

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "src/medassay/language/lexicons/report_words.tsv"
VOCABULARY, MOST, LEAST_WORDS = 400, 1500, 8
PENALTY = 2.0

csv.field_size_limit(10**8)


def rows(path: Path) -> Iterator[dict[str, str]]:
    """The records of a CSV file, packed or not."""
    with (
        gzip.open(path, "rt", encoding="utf-8", newline="")
        if path.suffix == ".gz"
        else path.open(encoding="utf-8", newline="")
    ) as stream:
        yield from csv.DictReader(stream)


def sources(data: Path) -> Iterator[tuple[str, bool, list[str]]]:
    """Each source with its texts, and whether they are pathology reports."""
    yield "TCGA reports", True, [row["text"] for row in rows(data / "tcga/reports.csv.gz")]
    yield "TCGA summaries", True, [row["summary"] for row in rows(data / "tcga/summaries.csv.gz")]
    yield "REG2025 reports", True, [row["report"] for row in rows(data / "reg2025/reports.csv")]
    hare = list(rows(data / "hare/expert_scores.csv"))
    yield "HARE pairs", True, [row[side] for row in hare for side in ("reference", "candidate")]
    ladders = [json.loads(line) for line in (ROOT / "corpus/ladders/sets.jsonl").read_text("utf-8").splitlines()]
    yield "ladders, reports", True, [each["text"] for each in ladders if each["kind"] == "pathology"]
    yield "ladders, notes", False, [each["text"] for each in ladders if each["kind"] != "pathology"]
    dialogues = list(rows(data / "mts_dialog/train.csv"))
    yield "MTS-Dialog sections", False, [row["section_text"] for row in dialogues]
    yield "MTS-Dialog dialogues", False, [row["dialogue"] for row in dialogues]
    notes = [row for row in rows(data / "mtsamples/notes.csv.gz") if "Pathology" not in row["medical_specialty"]]
    yield "MTSamples", False, [row["transcription"] for row in notes if "Radiology" not in row["medical_specialty"]]
    yield (
        "MTSamples radiology",
        False,
        [row["transcription"] for row in notes if "Radiology" in row["medical_specialty"]],
    )


def half(text: str) -> int:
    """0 or 1 by the folded text, so that a document is on one side wherever it occurs."""
    return hashlib.sha256(" ".join(text.lower().split()).encode()).digest()[0] % 2


def chosen(texts: Sequence[str], side: int) -> list[str]:
    """The distinct texts of one half, the first of them by hash."""
    distinct = {" ".join(text.lower().split()): text for text in texts if text and len(text.split()) >= LEAST_WORDS}
    kept = [text for text in distinct.values() if half(text) == side]
    return sorted(kept, key=lambda text: hashlib.sha256(text.encode()).digest())[:MOST]


def fit(groups: Sequence[tuple[bool, list[frozenset[str]]]]) -> tuple[list[str], np.ndarray]:
    """Words and weights, the constant last: every source counts alike within its class."""
    counts: dict[str, float] = {}
    spread: Counter[str] = Counter()
    for _, texts in groups:
        seen = Counter(word for text in texts for word in text)
        counts |= {word: n / len(texts) for word, n in seen.items()}
        spread.update(word for word, n in seen.items() if n >= max(3, 0.002 * len(texts)))
    sign = {True: 1, False: -1}
    lean: dict[str, float] = {}
    size = Counter(label for label, _ in groups)
    for label, texts in groups:
        for word, n in Counter(word for text in texts for word in text).items():
            lean[word] = lean.get(word, 0.0) + sign[label] * n / len(texts) / size[label]
    vocabulary = sorted((w for w in counts if spread[w] >= 3), key=lambda w: (-abs(lean[w]), w))[:VOCABULARY]
    column = {word: k for k, word in enumerate(vocabulary)}
    matrix, truth, weight = [], [], []
    for label, texts in groups:
        for text in texts:
            row = np.zeros(len(vocabulary) + 1)
            row[[column[word] for word in text if word in column]] = 1.0
            row[-1] = 1.0
            matrix.append(row)
            truth.append(float(label))
            weight.append(1.0 / len(texts) / size[label])
    x, y, w = np.array(matrix), np.array(truth), np.array(weight)
    w *= len(w) / w.sum()
    beta = np.zeros(x.shape[1])
    penalty = np.full(len(beta), PENALTY)
    penalty[-1] = 1e-6
    for _ in range(25):  # Newton's method
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ beta, -30, 30)))
        gradient = x.T @ (w * (p - y)) + penalty * beta
        hessian = (x * (w * p * (1 - p))[:, None]).T @ x + np.diag(penalty)
        beta -= np.linalg.solve(hessian, gradient)
    return vocabulary, beta


def main(data: Path) -> None:
    """Fit, write the lexicon, print the share of texts that read as reports, by source, on what was not fitted."""
    found = list(sources(data))
    groups = [(label, [words(text) for text in chosen(texts, 0)]) for _, label, texts in found]
    vocabulary, beta = fit(groups)
    lines = [
        "# Words that make a text read like a pathology report (+) or not (−): weights of a logistic regression over",
        "# the presence of words, fitted by tools/report_words.py. It holds single words and no text of any source.",
        "word\tweight",
        f"(constant)\t{beta[-1]:.3f}",
        *(f"{word}\t{weight:.3f}" for word, weight in sorted(zip(vocabulary, beta[:-1])) if abs(weight) >= 0.02),
    ]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    held = [(name, label, chosen(texts, 1)) for name, label, texts in found]
    for kind in ("pathology", "notes", "radiology"):
        held.append((f"benchmark, {kind}", kind == "pathology", [document.text for document in read_bench([kind])]))
    for name, label, texts in held:
        share = sum(map(reads_as_report, texts)) / len(texts)
        print(f"| {name} | {'reports' if label else 'other'} | {len(texts):,} | {share:.1%} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
