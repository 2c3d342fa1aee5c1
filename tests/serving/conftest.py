"""A score server with small limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from medassay import Scorer

if TYPE_CHECKING:
    from fastapi.testclient import TestClient


@pytest.fixture
def client() -> Iterator[TestClient]:
    """A client of a server for rouge1 and chrf; a request may hold five texts and 20,000 bytes."""
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from medassay.serving.app import create_app
    from medassay.serving.limits import Limits

    app = create_app(Scorer("rouge1,chrf"), Limits(request=5, body=20_000))
    with TestClient(app, raise_server_exceptions=False) as http:
        yield http
