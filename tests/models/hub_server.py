"""A model hub on this machine: the few answers that fetching asks for."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

COMMIT = "c" * 40


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


@contextmanager
def serving(
    models: Mapping[str, Mapping[str, bytes]], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[type[Hub]]:
    """A hub with these models (files by name), and the library pointed at it with a cache of its own."""

    class Ours(Hub):
        asked: ClassVar[list[str]] = []

    Ours.models = {name: dict(files) for name, files in models.items()}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ours)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    yield Ours
    server.shutdown()
    server.server_close()
