"""Fetching, against a hub of our own on this machine."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from medassay.errors import ModelError
from medassay.models.fetching import fetch, wanted_files
from medassay.models.hub_files import cached
from medassay.models.inventory import model_items
from medassay.models.loading import PAPER

COMMIT = "c" * 40
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


class Hub(BaseHTTPRequestHandler):
    """The few answers of a model hub that fetching asks for."""

    asked: ClassVar[list[str]]
    models: ClassVar[dict[str, dict[str, bytes]]]

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, body: bool) -> None:
        path = self.path.partition("?")[0]
        self.asked.append(path)
        for name, files in self.models.items():
            if path.startswith(f"/api/models/{name}/tree/"):
                tree = [{"type": "file", "path": f, "size": len(c), "oid": git_hash(c)} for f, c in files.items()]
                return self.send(json.dumps(tree).encode(), body)
            if path == f"/api/models/{name}" or path.startswith(f"/api/models/{name}/revision/"):
                siblings = [{"rfilename": file} for file in files]
                info = {"id": name, "modelId": name, "sha": COMMIT, "siblings": siblings, "private": False}
                return self.send(json.dumps(info).encode(), body)
            start = f"/{name}/resolve/{COMMIT}/"
            if path.startswith(start) and path[len(start) :] in files:
                return self.send(files[path[len(start) :]], body)
        self.send_response(404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", "0")
        self.end_headers()
        return None

    def send(self, content: bytes, body: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{git_hash(content)}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def git_hash(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0%s" % (len(content), content)).hexdigest()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    class Ours(Hub):
        asked: ClassVar[list[str]] = []
        models: ClassVar[dict[str, dict[str, bytes]]] = {
            "some/model": dict(FILES),
            **{name: dict(FILES) for name in PAPER.values()},
        }

    server = ThreadingHTTPServer(("127.0.0.1", 0), Ours)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    yield Ours
    server.shutdown()
    server.server_close()


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
    assert ran.out.splitlines()[1] == f"{PAPER['ner']}: {tmp_path / 'paper' / 'ner'}"
    assert sorted(path.name for path in (tmp_path / "paper").iterdir()) == sorted(PAPER)


def test_pickled_weights_alone_are_not_fetched(hub: type[Hub]) -> None:
    del hub.models["some/model"]["model.safetensors"]
    with pytest.raises(ModelError, match=r"some/model: its weights are pickled \(pytorch_model.bin\)"):
        fetch("some/model")
    assert not any("resolve" in path for path in hub.asked)


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
