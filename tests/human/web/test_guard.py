"""What surrounds every request: hosts, sizes, headers, and logs without text."""

from __future__ import annotations

import logging
import re

from fastapi.testclient import TestClient
from tests.human.client import Person

from medassay.human.web.guard import MAX_BODY


def test_every_reply_has_the_strict_headers(app, anna):
    for reply in (
        anna.http.get("/tasks"),
        anna.http.get("/nowhere"),
        Person(app).http.get("/tasks"),
        anna.http.get("/static/context.css"),
    ):
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
    assert anna.http.get("/tasks").headers["cache-control"] == "no-store"


def test_pages_load_nothing_from_elsewhere(app, anna):
    for path in ("/tasks", f"/tasks/{anna.tasks[0]}"):
        page = anna.http.get(path).text
        assert not re.search(r'(src|href)="(https?:)?//', page)
        assert " style=" not in page and " onclick=" not in page


def test_large_bodies_and_strange_hosts_are_turned_away(app, anna):
    url = f"/api/tasks/{anna.tasks[0]}/changes"
    headers = {"x-csrf-token": anna.csrf, "content-type": "application/json"}
    assert anna.http.post(url, content=b"x" * (MAX_BODY + 1), headers=headers).status_code == 413

    def chunks():
        for _ in range(20):
            yield b" " * 8192

    assert anna.http.post(url, content=chunks(), headers=headers).status_code == 413
    assert anna.http.get("/tasks", headers={"host": "evil.example"}).status_code == 421


def test_nothing_of_a_text_reaches_the_log(app, anna, caplog, monkeypatch):
    caplog.set_level(logging.DEBUG)
    secret_words = "Mrs Example, born 1 May"

    def broken(*_: object) -> None:
        raise RuntimeError(secret_words)

    monkeypatch.setattr(app.state.context.store, "append", broken)
    http = TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False, cookies=anna.http.cookies)
    body = {"id": "event-log-1", "change": {"kind": "comment", "slot": "1", "text": secret_words}}
    reply = http.post(f"/api/tasks/{anna.tasks[0]}/changes", json=body, headers={"x-csrf-token": anna.csrf})
    assert reply.status_code == 500 and secret_words not in reply.text
    own = [r for r in caplog.records if r.name.startswith("medassay")]
    assert own and all("Example" not in record.getMessage() for record in own)
    assert anna.tasks[0] not in own[0].getMessage()
