"""The page at /docs."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("fastapi")
from fastapi.testclient import TestClient

from medassay import Scorer
from medassay.metrics.rouge import Rouge1
from medassay.serving.app import create_app


def test_the_page_needs_no_other_site(client: TestClient) -> None:
    reply = client.get("/docs")
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert not re.search(r"<script|<link|<img|<iframe|https?://(?!HOST:PORT)|@import|url\(", reply.text)
    for told in ("/score", "/metrics", "/health", "candidates", "references", "sources", "rouge1", "429", "chrf"):
        assert told in reply.text, told
    assert client.get("/redoc").status_code == 404


def test_the_page_is_escaped() -> None:
    class Hostile(Rouge1):
        name = "hostile"
        summary = "<script>alert(1)</script>"

    with TestClient(create_app(Scorer(Hostile()))) as http:
        assert "<script" not in http.get("/docs").text
        assert "&lt;script&gt;" in http.get("/docs").text
