"""Which references the bundled metrics were fitted to, and which are of the same data sets: `rules/trained_on.tsv`.

    python tools/training_keys.py --data ../shared/data

Writes the keys (12 hexadecimal digits of a hash, as in the column `reference_key` of a scores file) of the references
of every set that a metric's model was trained on, or its numbers chosen on, after MODEL_CARD.md; and of further
references of the same data sets, without a metric. No text is written.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from medassay.cases import Case
from medassay.columns import clean
from medassay.records import read_records

TARGET = Path(__file__).parents[1] / "src" / "medassay" / "study" / "rules" / "trained_on.tsv"
LEDGER = ("facts", "fidelity", "hallucination", "note", "omission", "risk")
SETS: dict[str, tuple[str, tuple[str, ...]]] = {
    "hare/expert_scores.csv": ("HARE", ("expert", "hare")),
    "judged_pairs/dev.csv": ("", ("expert",)),
    "mts_dialog/fact_scores.csv": ("MTS-Dialog", LEDGER),
    "mts_dialog/judged_facts.jsonl": ("MTS-Dialog", LEDGER),
    "mts_dialog/train.csv": ("MTS-Dialog", ()),
    "reg2025/generated_a.csv": ("REG2025", ()),
    "reg2025/generated_b.csv": ("REG2025", ()),
}
"""Each file with the data set that it is of and the metrics that were fitted to it."""
JUDGED = {"hare": "HARE", "reg2025": "REG2025"}
"""The data set of a judged pair, by its column `source`; the others are of TCGA."""


def references(path: Path, data_set: str) -> Iterator[tuple[str, str]]:
    """The references of a file, each with its data set."""
    for _, record in read_records(path):
        if not isinstance(record, str):
            text = record.get("reference") or record.get("section_text") or ""
            yield clean(text), data_set or JUDGED.get(record["source"], "TCGA")


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    metrics: dict[str, set[str]] = {}
    sets: dict[str, str] = {}
    for name, (data_set, fitted) in SETS.items():
        for reference, its_set in references(data / name, data_set):
            key = Case("", "", (reference,)).reference_key.hex()[:12]
            metrics.setdefault(key, set()).update(fitted)
            sets.setdefault(key, its_set)
    lines = [
        "# References that bundled metrics were fitted to, by key (a hash, as reference_key in scores files).",
        "# Made by tools/training_keys.py. metrics: those whose models or numbers saw it with its judgements;",
        "# - for none, where only the data set is known.",
        "key\tset\tmetrics",
        *(f"{key}\t{sets[key]}\t{'|'.join(sorted(metrics[key])) or '-'}" for key in sorted(metrics)),
    ]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(metrics)} references written to {TARGET}")


if __name__ == "__main__":
    main()
