from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from medassay.errors import ModelError, UnknownName
from medassay.models.graphs import write_manifest
from medassay.models.loading import PAPER, ROLES, load, resolve, unload


def test_an_unknown_role_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"no model role 'encodr'; did you mean 'encoder'\?"):
        load("encodr")  # type: ignore[call-overload]


@pytest.mark.parametrize("role", ROLES)
def test_the_paper_names_its_own_models_and_leaves_the_rest_embedded(role: str) -> None:
    assert resolve(role, "embedded") == "embedded"
    if role == "likelihood":
        with pytest.raises(ModelError, match="ParaBank2 is not on the hub"):
            resolve(role, "paper")
    else:
        assert resolve(role, "paper") == PAPER.get(role, "embedded")


def test_a_models_file_names_sources_by_role(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    toml = tmp_path / "models.toml"
    toml.write_text('ner = "mine"\nre = "paper"\nalign = "some/name"\n')
    assert resolve("ner", str(toml)) == str(tmp_path / "mine")  # beside the file
    assert resolve("re", str(toml)) == PAPER["re"]
    assert resolve("align", str(toml)) == "some/name"
    assert resolve("expert", str(toml)) == "embedded"
    as_json = tmp_path / "models.json"
    as_json.write_text(json.dumps({"ner": str(tmp_path / "mine")}))
    assert resolve("ner", str(as_json)) == str(tmp_path / "mine")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("ner = ", "not a models file"),
        ("ner = 3", "not a models file"),
        ('ner = "other.toml"', "'other.toml' for the role 'ner' is a file"),
        ('nre = "folder"', "no model role 'nre'; did you mean 're'"),
    ],
)
def test_a_models_file_that_says_something_else(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "models.toml"
    path.write_text(content)
    with pytest.raises((ModelError, UnknownName), match=message):
        resolve("ner", str(path))


def test_a_models_file_that_is_a_list_or_missing(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    with pytest.raises(ModelError, match="not a models file"):
        resolve("ner", str(path))
    path.write_text("[1]")
    with pytest.raises(ModelError, match="not a models file"):
        resolve("ner", str(path))


def test_a_folder_of_role_folders_leaves_other_roles_embedded(tmp_path: Path) -> None:
    (tmp_path / "ner").mkdir()
    assert resolve("ner", str(tmp_path)) == str(tmp_path / "ner")
    assert resolve("expert", str(tmp_path)) == "embedded"


def test_a_model_set_leaves_the_roles_that_it_lacks_embedded(tmp_path: Path) -> None:
    write_manifest(tmp_path, "trained-kge", {"kge": {"file": "kge.npz"}}, {"licence": "none", "source": "none"})
    assert resolve("kge", str(tmp_path)) == str(tmp_path)
    assert resolve("ner", str(tmp_path)) == "embedded"
    assert load("ner", str(tmp_path)) is load("ner")


def test_a_plain_folder_serves_the_role_itself(tmp_path: Path) -> None:
    assert resolve("ner", str(tmp_path)) == str(tmp_path)


def test_a_model_is_loaded_once_a_process(embedded: Path) -> None:
    assert load("ner") is load("ner", "embedded")
    assert load("encoder").models is load("re").models  # type: ignore[attr-defined]


def test_a_set_in_a_folder_of_its_own_serves_too(embedded: Path) -> None:
    assert load("ner", str(embedded)).name == load("ner").name


def test_loading_embedded_models_needs_no_torch(embedded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "transformers", None)
    unload()
    assert load("encoder").embed(["tumour"]).shape == (1, 384)


def test_a_checker_comes_from_a_model_set_alone() -> None:
    with pytest.raises(ModelError, match=r"needs a model set.*logic\(mode=paper\)"):
        load("checker", "someone/nli-model")
