"""What a model folder lacks is said before torch is needed: none of these tests does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from medassay.errors import MissingExtra, ModelError
from medassay.models import hub
from medassay.models.hub_files import fingerprint, open_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "my model"
    path.mkdir()
    config = {"architectures": ["BertForTokenClassification"], "model_type": "bert"}
    (path / "config.json").write_text(json.dumps(config))
    (path / "tokenizer.json").write_text("{}")
    (path / "model.safetensors").write_bytes(b"weights")
    return path


def test_a_whole_folder_opens_and_its_name_tells_versions_apart(folder: Path) -> None:
    before = open_folder("ner", str(folder)).name
    assert before == f"my_model@{fingerprint(folder)}"
    (folder / "model.safetensors").write_bytes(b"retrained")
    assert open_folder("ner", str(folder)).name != before


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(folder: Path, file: str) -> None:
    (folder / file).unlink()
    with pytest.raises(ModelError, match=rf"my model: no {file}.*fetch"):
        open_folder("ner", str(folder))


def test_a_missing_shard_is_named(folder: Path) -> None:
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelError, match=r"no model-00001-of-00002.safetensors"):
        open_folder("ner", str(folder))


@pytest.mark.parametrize("file", ["pytorch_model.bin", "model.pt"])
def test_pickled_weights_are_refused(folder: Path, file: str) -> None:
    (folder / "model.safetensors").rename(folder / file)
    with pytest.raises(ModelError, match=rf"pickled \({file}\).*only safetensors.*models convert {file}"):
        open_folder("ner", str(folder))


def test_a_broken_config_is_named(folder: Path) -> None:
    (folder / "config.json").write_text("{")
    with pytest.raises(ModelError, match=r"config.json: not JSON"):
        open_folder("ner", str(folder))


@pytest.mark.parametrize(
    ("role", "found", "wanted"),
    [
        ("re", "BertForTokenClassification", "ForSequenceClassification"),
        ("expert", "BertModel", "ForSequenceClassification"),
        ("ner", "BertModel", "ForTokenClassification"),
        ("encoder", "GPT2LMHeadModel", "text encoder"),
        ("align", "BartForConditionalGeneration", "text encoder"),
    ],
)
def test_the_wrong_architecture_is_told_with_what_was_wanted(folder: Path, role: str, found: str, wanted: str) -> None:
    (folder / "config.json").write_text(json.dumps({"architectures": [found]}))
    with pytest.raises(ModelError, match=rf"'{role}' needs .*{wanted}.*config.json says {found}"):
        open_folder(role, str(folder))


def test_a_path_that_is_not_there_is_no_hub_name() -> None:
    with pytest.raises(ModelError, match=r"\./nowhere: no such model folder"):
        open_folder("ner", "./nowhere")


def test_a_hub_model_that_was_never_fetched_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match=r"`medassay models fetch some/model`.*--to FOLDER, copy the folder"):
        open_folder("ner", "some/model")


def test_without_the_extra_the_install_command_is_given(folder: Path, without_torch: Callable[[], None]) -> None:
    without_torch()
    for source in (str(folder), "some/model"):
        with pytest.raises(MissingExtra, match=r"pip install 'medassay\[hf\]'"):
            hub.load_hub("ner", source)
    with pytest.raises(ModelError, match="no such model folder"):
        hub.load_hub("ner", "./nowhere")


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return lambda: monkeypatch.setattr(hub, "find_spec", lambda name: None)
