"""Pickled weights to safetensors: shards with their index, and files that would run code."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from medassay.errors import ModelError
from medassay.models.converting import convert

from .conftest import HOSTILE, Exploding

pytestmark = pytest.mark.hf
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


def test_a_hostile_pickle_is_refused_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (("plain.bin", HOSTILE), ("zip.bin", _zipped(Exploding()))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ModelError, match="refused"):
            convert([tmp_path / name], tmp_path)
    assert not (tmp_path / "was-here").exists() and not list(tmp_path.glob("*.safetensors"))


def _zipped(thing: Any) -> bytes:
    file = io.BytesIO()
    torch.save({"weight": thing}, file)
    return file.getvalue()


def test_shards_are_converted_with_their_index(tmp_path: Path) -> None:
    shards = []
    for i in (1, 2):
        shards.append(tmp_path / f"pytorch_model-0000{i}-of-00002.bin")
        torch.save({f"layer{i}.weight": torch.ones(2) * i}, shards[-1])
    convert(shards, tmp_path)
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())["weight_map"]
    assert index["layer2.weight"] == "model-00002-of-00002.safetensors"
