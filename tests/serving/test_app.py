"""The score server's answers: right, bounded, and calm under hostile requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi")
from fastapi.testclient import TestClient
from tests.serving.sample import Gated

import medassay
from medassay import Scorer
from medassay.serving.app import create_app
from medassay.serving.hosts import allowed_names
from medassay.serving.limits import Limits


def test_scores_are_those_of_python(client: TestClient) -> None:
    ask = {"candidates": ["No tumor seen.", "", "x"], "references": ["No tumour is seen.", "y", ["a", "x"]]}
    reply = client.post("/score", json=ask)
    assert reply.status_code == 200
    wanted = medassay.score(ask["candidates"], ask["references"], metrics="rouge1,chrf")  # type: ignore[arg-type]
    told = reply.json()
    assert told["signatures"] == wanted.signatures
    for name in ("rouge1", "chrf"):
        assert [one["value"] for one in told["scores"][name]] == [score.value for score in wanted[name]]
        assert [one["unscored"] for one in told["scores"][name]] == [score.unscored for score in wanted[name]]
    assert told["scores"]["rouge1"][0]["parts"] == dict(wanted["rouge1"][0].parts)


def test_it_says_what_it_is(client: TestClient) -> None:
    assert client.get("/health").json()["status"] == "ok"
    assert [one["name"] for one in client.get("/metrics").json()] == ["rouge1", "chrf"]
    paths = client.get("/openapi.json").json()["paths"]
    assert set(paths) == {"/score", "/metrics", "/health"}
    assert {"200", "413", "422", "429", "503"} <= set(paths["/score"]["post"]["responses"])


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 422),
        (b'{"candidates": "one text"}', 422),
        (b'{"candidates": []}', 422),
        (b'{"candidates": [1]}', 422),
        (b'{"candidates": ["a"], "references": ["a", "b"]}', 422),
        (b'{"candidates": ["a"], "unknown": 1}', 422),
        (json.dumps({"candidates": ["a"] * 6}).encode(), 413),
        (json.dumps({"candidates": ["a" * 30_000]}).encode(), 413),
        (b"[" * 5000, 400),
        (b'{"candidates": ["\\ud800 \\u0000 \\u202e"], "references": ["\\udfff"]}', 200),
        (b'{"candidates": ["\xff"]}', 400),
    ],
)
def test_hostile_bodies(client: TestClient, body: bytes, status: int) -> None:
    reply = client.post("/score", content=body, headers={"content-type": "application/json"})
    assert reply.status_code == status, reply.text
    if status != 200:
        assert reply.json()["message"]
        assert "aaaa" not in reply.text
    assert client.get("/health").status_code == 200


def test_a_body_of_another_kind_is_refused(client: TestClient) -> None:
    reply = client.post("/score", content=b'{"candidates": ["a"]}', headers={"content-type": "text/plain"})
    assert reply.status_code == 415


def test_a_body_that_does_not_say_its_size_is_cut_off(client: TestClient) -> None:
    def endless() -> Iterator[bytes]:
        yield b'{"candidates": ["'
        for _ in range(100):
            yield b"a" * 1000

    reply = client.post("/score", content=endless(), headers={"content-type": "application/json"})
    assert reply.status_code == 413


def test_a_key_must_be_shown_where_one_is_set() -> None:
    with TestClient(create_app(Scorer("rouge1"), key="secret-key")) as http:
        ask = {"candidates": ["a"], "references": ["a"]}
        assert http.post("/score", json=ask).status_code == 401
        assert http.post("/score", json=ask, headers={"authorization": "Bearer wrong"}).status_code == 401
        assert http.post("/score", json=ask, headers={"authorization": "Bearer secret-key"}).status_code == 200


def test_overload_over_http_says_when_to_ask_again() -> None:
    metric = Gated()
    app = create_app(Scorer(metric), Limits(capacity=4, batch=2))
    with TestClient(app) as http:
        replies: list[int] = []
        threads = [
            threading.Thread(
                target=lambda: replies.append(http.post("/score", json={"candidates": ["a", "b"]}).status_code)
            )
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        while http.get("/health").json()["cases"] < 4:
            pass  # until both requests have been accepted
        refused = http.post("/score", json={"candidates": ["c"]})
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) >= 1
        metric.gate.set()
        for thread in threads:
            thread.join()
        assert replies == [200, 200]
        assert http.post("/score", json={"candidates": ["c"]}).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8770", 200),
        ("LOCALHOST.", 200),
        ("127.0.0.1", 200),
        ("[::1]:8770", 200),
        ("192.168.7.7:8770", 200),
        ("scores.example", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost:80@evil.example", 421),
        ("[::1", 421),
        ("", 421),
    ],
)
def test_it_answers_to_its_own_names_alone(host: str, status: int) -> None:
    app = create_app(Scorer("rouge1"), hosts=allowed_names("0.0.0.0", ["Scores.Example"]))
    with TestClient(app, raise_server_exceptions=False) as http:
        body = {"candidates": ["a"], "references": ["a"]}
        replies = [http.get(path, headers={"host": host}) for path in ("/health", "/docs", "/metrics")]
        replies.append(http.post("/score", json=body, headers={"host": host}))
        assert [reply.status_code for reply in replies] == [status] * 4
