"""Fetching, against a hub of our own on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from medassay.errors import MissingExtra, ModelError
from medassay.models.fetching import fetch, wanted_files
from medassay.models.hub_files import cached
from medassay.models.inventory import model_items
from medassay.models.loading import PAPER

from .hub_server import COMMIT, Hub, serving

FILES = {
    "config.json": b'{"architectures": ["BertModel"]}',
    "tokenizer.json": b"{}",
    "model.safetensors": b"weights",
    "pytorch_model.bin": b"pickle",
    "onnx/model.onnx": b"graph",
    "1_Pooling/config.json": b'{"pooling_mode_cls_token": true}',
    "README.md": b"---\nlicense: mit\n---\n",
    "train.py": b"print()",
}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    models = {"some/model": FILES, **dict.fromkeys(PAPER.values(), FILES)}
    with serving(models, tmp_path / "cache", monkeypatch) as server:
        yield server


def test_only_weights_configuration_tokenizer_and_licence_are_wanted() -> None:
    assert wanted_files(list(FILES), "some/model") == [
        "config.json",
        "tokenizer.json",
        "model.safetensors",
        "1_Pooling/config.json",
        "README.md",
    ]


def test_a_model_lands_in_the_cache_under_its_name(hub: type[Hub]) -> None:
    [(name, folder)] = fetch("some/model")
    assert name == "some/model"
    assert folder == cached("some/model")
    assert folder.name == COMMIT
    assert (folder / "model.safetensors").read_bytes() == b"weights"
    assert not (folder / "pytorch_model.bin").exists()
    assert not any(path.endswith((".bin", ".onnx", ".py")) for path in hub.asked)
    items = model_items(folder, "encoder", name)
    assert {item.state for item in items} == {"ok"}
    assert {item.licence for item in items} == {"mit"}


def test_a_model_lands_in_a_folder_of_ones_own(hub: type[Hub], tmp_path: Path) -> None:
    [(_, folder)] = fetch("some/model", tmp_path / "mine")
    assert folder == tmp_path / "mine"
    assert json.loads((folder / "1_Pooling" / "config.json").read_text()) == {"pooling_mode_cls_token": True}


def test_the_paper_lands_in_a_folder_a_role(hub: type[Hub], tmp_path: Path, medassay: Callable[..., Any]) -> None:
    ran = medassay("models", "fetch", "paper", "--to", tmp_path / "paper")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == f"{PAPER['ner']}: {tmp_path / 'paper' / 'ner'}"
    assert sorted(path.name for path in (tmp_path / "paper").iterdir()) == sorted([*PAPER, "models.toml"])
    assert "likelihood: not fetched. BARTScore's BART fine-tuned on ParaBank2 is not on the hub" in ran.err


def test_pickled_weights_need_the_extra(hub: type[Hub], monkeypatch: pytest.MonkeyPatch) -> None:
    del hub.models["some/model"]["model.safetensors"]
    monkeypatch.setattr("medassay.models.converting.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"Converting pytorch_model.bin .* needs the extra 'hf'"):
        fetch("some/model")
    assert not any("resolve" in path for path in hub.asked)


def test_a_model_without_weights(hub: type[Hub]) -> None:
    del hub.models["some/model"]["model.safetensors"], hub.models["some/model"]["pytorch_model.bin"]
    hub.models["some/model"]["training_args.bin"] = b"pickle"
    with pytest.raises(ModelError, match="no weights on the hub that can be read"):
        fetch("some/model")


def test_a_model_that_the_hub_does_not_have(hub: type[Hub]) -> None:
    with pytest.raises(ModelError, match=r"no/such: the hub has no model of that name"):
        fetch("no/such")


def test_no_network(monkeypatch: pytest.MonkeyPatch, medassay: Callable[..., Any]) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    ran = medassay("models", "fetch", "some/model")
    assert ran.code == 2
    assert "the model hub cannot be reached" in ran.err
    assert "`medassay models fetch some/model --to FOLDER`; copy FOLDER here" in ran.err


@pytest.mark.parametrize("name", ["not a name", "a/b/c", "embedded"])
def test_what_is_no_hub_name(name: str) -> None:
    with pytest.raises(ModelError):
        fetch(name)
