"""How well `synoptic` reads reports: elements and conflicts marked by hand in `corpus/synoptic`.

    python -m benchmarks.synoptic --data ../shared/data

A marked element is found where the statement that the metric quotes overlaps a marked one; a quote elsewhere counts
as invented and as missed. Conflicts are counted by element and status.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from medassay.language.synoptic import ELEMENTS, check_report

CORPUS = Path(__file__).parents[1] / "corpus" / "synoptic"
HALVES = ("development", "held_out", "later")
"""later: reports that were drawn and marked when the rules were complete."""


@dataclass
class Counts:
    """Marks that were found, invented and missed."""

    found: int = 0
    invented: int = 0
    missed: int = 0

    @property
    def f1(self) -> float:
        """2 · found / (2 · found + invented + missed)."""
        return 2 * self.found / ((2 * self.found + self.invented + self.missed) or 1)

    def __str__(self) -> str:
        return f"found {self.found:4d}  invented {self.invented:3d}  missed {self.missed:3d}  F1 {self.f1:.3f}"


def rows(name: str) -> list[dict[str, Any]]:
    """The records of a file of the corpus."""
    return [json.loads(line) for line in (CORPUS / name).read_text(encoding="utf-8").splitlines()]


def texts(data: Path) -> dict[tuple[str, str], str]:
    """The marked reports by set and id."""
    columns = {"tcga/reports.csv.gz": ("bcr_patient_barcode", "text"), "reg2025/reports.csv": ("id", "report")}
    return {
        (name, row[identity]): row[text] for name, (identity, text) in columns.items() for row in _table(data / name)
    }


def _table(path: Path) -> Iterator[dict[str, str]]:
    csv.field_size_limit(10**8)
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        yield from csv.DictReader(TextIOWrapper(stream, encoding="utf-8", newline=""))


def elements(marked: Sequence[dict[str, Any]], known: dict[tuple[str, str], str]) -> dict[str, Counts]:
    """Counts per element."""
    counts = {element: Counts() for element in ELEMENTS}
    for row in marked:
        report = check_report(known[row["set"], row["id"]])
        for element in ELEMENTS:
            spans = row["elements"].get(element, [])
            mentions = report.element(element).mentions if report else ()
            hit = bool(mentions) and any(a < mentions[0].end and mentions[0].start < b for a, b in spans)
            counts[element].found += hit
            counts[element].invented += bool(mentions) and not hit
            counts[element].missed += bool(spans) and not hit
    return counts


def conflicts(marked: Sequence[tuple[str, dict[str, str]]]) -> Counts:
    """Counts of contradicted and inconsistent elements, from texts with their marks."""
    counts = Counts()
    for text, marks in marked:
        report = check_report(text)
        told = {(e.name, e.status) for e in report.elements if e.conflict} if report else set()
        expected = set(marks.items())
        counts.found += len(told & expected)
        counts.invented += len(told - expected)
        counts.missed += len(expected - told)
    return counts


def total(counts: dict[str, Counts]) -> Counts:
    """All elements together."""
    return Counts(
        sum(c.found for c in counts.values()),
        sum(c.invented for c in counts.values()),
        sum(c.missed for c in counts.values()),
    )


def main() -> None:
    """Print the table of both halves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the data folder with tcga/ and reg2025/")
    known = texts(parser.parse_args().data)
    reports, written = rows("reports.jsonl"), rows("written.jsonl")
    for half in HALVES:
        marked = [row for row in reports if row["half"] == half]
        organs = sum(
            (r := check_report(known[x["set"], x["id"]])) is not None and r.organ == x["organ"] for x in marked
        )
        counts = elements(marked, known)
        print(f"{half}: {len(marked)} reports, organ right in {organs}")
        for element, count in {**counts, "all": total(counts)}.items():
            print(f"  {element:11s}{count}")
        real = conflicts([(known[row["set"], row["id"]], row["conflicts"]) for row in marked])
        own = conflicts([(row["text"], row["conflicts"]) for row in written if row["half"] == half])
        for name, count in {"these reports": real, "written reports": own}.items():
            if count != Counts():
                print(f"  conflicts, {name:16s}{count}")


if __name__ == "__main__":
    main()
