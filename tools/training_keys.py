"""Which references the bundled metrics were fitted to: `src/medassay/study/rules/trained_on.tsv`.

    python tools/training_keys.py --data ../shared/data

Writes the keys (12 hexadecimal digits of a hash, as in the column `reference_key` of a scores file) of the references
of every set that a metric's model was trained on, or its numbers chosen on, after MODEL_CARD.md. No text is written.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from medassay.cases import Case, read_cases

TARGET = Path(__file__).parents[1] / "src" / "medassay" / "study" / "rules" / "trained_on.tsv"
SETS: dict[str, tuple[str, ...]] = {
    "hare/expert_scores.csv": ("expert", "hare"),
    "judged_pairs/dev.csv": ("expert",),
    "mts_dialog/fact_scores.csv": ("facts", "hallucination", "omission", "note"),
    "mts_dialog/judged_facts.jsonl": ("facts", "hallucination", "omission", "note"),
}
"""Each set with the metrics that were fitted to it."""


def references(path: Path) -> Iterator[str]:
    """The references of a set."""
    if path.suffix == ".jsonl":
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)["reference"]
        return
    for row in read_cases(path):
        if row.case is not None and row.case.reference is not None:
            yield row.case.reference


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    metrics: dict[str, set[str]] = {}
    for name, fitted in SETS.items():
        for reference in references(data / name):
            key = Case("", "", (reference,)).reference_key.hex()[:12]
            metrics.setdefault(key, set()).update(fitted)
    lines = [
        "# References that bundled metrics were fitted to, by key (a hash, as reference_key in scores files).",
        "# Made by tools/training_keys.py. metrics: those whose models or numbers saw the reference with its scores.",
        "key\tmetrics",
        *(f"{key}\t{'|'.join(sorted(metrics[key]))}" for key in sorted(metrics)),
    ]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(metrics)} references written to {TARGET}")


if __name__ == "__main__":
    main()
