"""Segments of the corpus are joined with the texts that they were marked in."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from medassay.errors import InputError
from medassay.training.data import read_annotation
from medassay.training.entities import OWN, SEGMENTS, joined, main

TEXT = "Gross: pale.\nBreast, left: ductal carcinoma. No necrosis."
RECORD = {
    "id": "e1",
    "set": "tcga/reports.csv.gz",
    "row": 1,
    "field": "text",
    "start": 13,
    "end": len(TEXT),
    "doc": "B",
    "entities": [
        {"start": 0, "end": 12, "type": "site", "assertion": "present"},
        {"start": 14, "end": 30, "type": "diagnosis", "assertion": "present"},
    ],
    "relations": [],
}


def _folders(tmp_path: Path, record: dict[str, Any]) -> tuple[Path, Path]:
    data, corpus = tmp_path / "data", tmp_path / "corpus"
    for path in (data / "tcga", data / Path(OWN).parent, corpus / Path(SEGMENTS).parent):
        path.mkdir(parents=True)
    table = f'id,text\nA,first\nB,"{TEXT}"\n'
    (data / "tcga/reports.csv.gz").write_bytes(gzip.compress(table.encode()))
    own = {"id": "d1", "doc": "A", "text": "No tumor.", "entities": [], "relations": []}
    (data / OWN).write_text(json.dumps(own) + "\n", encoding="utf-8")
    (corpus / SEGMENTS).write_text(json.dumps(record) + "\n", encoding="utf-8")
    return data, corpus


def test_offsets_count_in_the_joined_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, corpus = _folders(tmp_path, RECORD)
    out = tmp_path / "annotation.jsonl"
    monkeypatch.setattr("sys.argv", ["entities", "--data", str(data), "--corpus", str(corpus), "--out", str(out)])
    main()
    own, segment = read_annotation(out)
    assert own.text == "No tumor."
    assert [segment.text[e.start : e.end] for e in segment.entities] == ["Breast, left", "ductal carcinoma"]
    assert segment.doc == "B"


def test_a_row_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    data, corpus = _folders(tmp_path, RECORD | {"row": 0})
    with pytest.raises(InputError, match="e1 does not fit row 0 of "):
        list(joined(data, corpus))
