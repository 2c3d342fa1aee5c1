"""Annotated segments of the corpus with their texts, which are other people's, joined from the data folder.

`python -m medassay.training.entities --data DATA --corpus corpus --out annotation.jsonl` writes them, with those of the
data folder, as `medassay train ner` and `medassay train re` read them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from medassay.errors import InputError
from medassay.files import write_text
from medassay.training.reader.material import read_csv, read_jsonl

SEGMENTS = "entities/segments.jsonl"
"""In the corpus: `set`, `row` and `field` of the data folder, `start` and `end` in it, entities and relations."""

OWN = "pathology_entities/dev.jsonl"
"""In the data folder: segments with their texts."""


def joined(data: Path, corpus: Path) -> Iterator[dict[str, Any]]:
    """The segments of the corpus, each with the `text` that its offsets count in."""
    tables: dict[str, list[dict[str, str]]] = {}
    for record in read_jsonl(corpus / SEGMENTS):
        name = record.pop("set")
        if name not in tables:
            tables[name] = read_csv(data / name)
        row, field = record.pop("row"), record.pop("field")
        text = tables[name][row][field][record.pop("start") : record.pop("end")]
        outside = [entity for entity in record["entities"] if not 0 <= entity["start"] < entity["end"] <= len(text)]
        if outside:
            raise InputError(f"{corpus / SEGMENTS}: {record['id']} does not fit row {row} of {data / name}")
        yield {**record, "text": text}


def main() -> None:
    """Parse the arguments and write the file."""
    parser = argparse.ArgumentParser(prog="python -m medassay.training.entities", description=__doc__)
    for name in ("data", "corpus", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    arguments = parser.parse_args()
    own = (arguments.data / OWN).read_text(encoding="utf-8").splitlines()
    further = [json.dumps(record, ensure_ascii=False) for record in joined(arguments.data, arguments.corpus)]
    write_text(arguments.out, "\n".join([*own, *further]) + "\n")
    print(f"{len(own) + len(further):,} segments written to {arguments.out}")


if __name__ == "__main__":
    main()
