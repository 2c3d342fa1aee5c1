"""`medassay train` writes model sets that the runtime reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
from medassay.errors import ModelError, UnknownName  # noqa: E402
from medassay.training.annotation import Segment  # noqa: E402
from medassay.training.command import train_role  # noqa: E402

pytestmark = pytest.mark.hf


def test_train_command_writes_a_set_that_the_runtime_reads(
    tiny_base: Path, segments: list[Segment], tmp_path: Path
) -> None:
    pytest.importorskip("onnx")
    from medassay.models.loading import load
    from medassay.training.command import train_role

    data = tmp_path / "data.jsonl"
    with data.open("w", encoding="utf-8") as out:
        for s in segments:
            entities = [{"start": e.start, "end": e.end, "type": e.type, "assertion": e.assertion} for e in s.entities]
            row = {"id": s.id, "doc": s.doc, "text": s.text, "entities": entities, "relations": sorted(s.relations)}
            out.write(json.dumps(row) + "\n")
    figures = train_role("ner", data, str(tiny_base), tmp_path / "ner", epochs=2)
    assert 0 <= figures["f1"] <= 1
    load("ner", str(tmp_path / "ner"))
    figures = train_role("re", data, str(tiny_base), tmp_path / "re", epochs=2)
    assert 0 <= figures["assertion_accuracy"] <= 1
    load("re", str(tmp_path / "re"))
    with pytest.raises(UnknownName, match="no recipe"):
        train_role("nre", data, str(tiny_base), tmp_path / "x")
    with pytest.raises(ModelError, match=r"config\.json is missing"):
        train_role("ner", data, str(tmp_path / "absent"), tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_other_roles_have_no_published_recipe(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="ner, re and align"):
        train_role("expert", tmp_path, "base", tmp_path / "out", "paper")
