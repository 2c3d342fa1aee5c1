from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medassay.models import inventory
from medassay.models.inventory import blob_state, folder_items, licence_of, model_items, set_items
from medassay.models.loading import PAPER

Run = Callable[..., Any]


@pytest.fixture
def model_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A set of two files in the place of the embedded one, and an empty cache of the hub."""
    folder = tmp_path / "set"
    folder.mkdir()
    files = []
    for name, content in (("trunk.onnx", b"trunk" * 1000), ("ner.onnx", b"ner")):
        (folder / name).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        files.append({"name": name, "sha256": digest, "bytes": len(content), "licence": "Apache-2.0"})
    roles = {
        role: {"graph": "ner.onnx" if role == "ner" else "other.onnx", "trunk": "trunk.onnx"}
        for role in ("encoder", "ner", "re", "align", "expert")
    }
    manifest = {"schema": 1, "set": "embedded-9", "files": files, "roles": roles}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.setattr(inventory, "HOME", folder)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    return folder


def test_a_whole_set(model_set: Path) -> None:
    trunk, ner = set_items(model_set, "embedded")
    assert (trunk.role, trunk.source, trunk.bytes, trunk.state) == ("all", "embedded-9", 5000, "ok")
    assert (ner.role, ner.licence, ner.state, ner.remedy) == ("ner", "Apache-2.0", "ok", "")


def test_list_shows_every_file_and_what_is_not_fetched(model_set: Path, medassay: Run) -> None:
    ran = medassay("models", "list")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].split() == ["role", "source", "file", "size", "licence", "state"]
    assert lines[2].split() == ["ner", "embedded-9", "ner.onnx", "0.0", "MB", "Apache-2.0", "ok"]
    assert any("knowlab-research/HARE-NER" in line and line.endswith("not fetched") for line in lines)
    assert "to get it: medassay models fetch knowlab-research/HARE-NER" in lines


def test_check_passes_a_whole_set(model_set: Path, medassay: Run) -> None:
    ran = medassay("models", "check")
    assert ran.code == 0
    assert f"nothing wrong: 2 ok, {len(PAPER)} not fetched" in ran.err


def test_check_stops_at_a_changed_file(model_set: Path, medassay: Run) -> None:
    (model_set / "ner.onnx").write_bytes(b"changed")
    ran = medassay("models", "check")
    assert ran.code == 2
    assert "wrong hash" in ran.err
    assert "ner.onnx" in ran.err
    assert "pip install --force-reinstall medassay-models" in ran.err


def test_check_stops_at_a_missing_file_and_a_missing_set(model_set: Path, medassay: Run) -> None:
    (model_set / "trunk.onnx").unlink()
    ran = medassay("models", "check")
    assert ran.code == 2
    assert "trunk.onnx: missing" in ran.err
    (model_set / "manifest.json").unlink()
    ran = medassay("models", "check")
    assert ran.code == 2
    assert "no manifest.json" in ran.err


def transformers_folder(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "README.md").write_text("---\ntags:\n- x\nlicense: cc-by-4.0\n---\n# A model\n")
    return folder


def test_a_folder_of_ones_own(tmp_path: Path, medassay: Run) -> None:
    transformers_folder(tmp_path / "mine" / "ner")
    items = folder_items(tmp_path / "mine")
    assert {(i.role, i.licence, i.state) for i in items} == {("ner", "cc-by-4.0", "not verified")}
    assert medassay("models", "check", tmp_path / "mine").code == 0
    (tmp_path / "mine" / "ner" / "model.safetensors").unlink()
    ran = medassay("models", "check", tmp_path / "mine")
    assert ran.code == 2
    assert "no model.safetensors" in ran.err
    assert medassay("models", "check", tmp_path / "nowhere").code == 2


def test_a_fetched_file_is_checked_against_the_name_of_its_blob(tmp_path: Path) -> None:
    blobs = tmp_path / "blobs"
    blobs.mkdir()
    small = hashlib.sha1(b"blob 2\0{}").hexdigest()  # as git names it
    for name, content, digest in (
        ("config.json", b"{}", small),
        ("model.safetensors", b"weights", hashlib.sha256(b"weights").hexdigest()),
    ):
        (blobs / digest).write_bytes(content)
        (tmp_path / name).symlink_to(blobs / digest)
        assert blob_state(tmp_path / name) == "ok"
        (blobs / digest).write_bytes(b"changed")
        assert blob_state(tmp_path / name) == "wrong hash"
        (blobs / digest).unlink()
        assert blob_state(tmp_path / name) == "missing"


def test_a_wrong_blob_is_told_with_the_remedy(tmp_path: Path) -> None:
    folder = transformers_folder(tmp_path / "snapshot")
    (tmp_path / "blobs").mkdir()
    (folder / "model.safetensors").unlink()
    (tmp_path / "blobs" / ("0" * 64)).write_bytes(b"weights")
    (folder / "model.safetensors").symlink_to(tmp_path / "blobs" / ("0" * 64))
    wrong = [item for item in model_items(folder, "ner", "some/name") if item.state == "wrong hash"]
    assert [item.file for item in wrong] == ["model.safetensors"]
    assert "medassay models fetch some/name" in wrong[0].remedy


def test_a_licence_that_nobody_states(tmp_path: Path) -> None:
    assert licence_of(tmp_path) == "not stated"
