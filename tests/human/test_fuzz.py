"""The HTTP API under fire: random requests after its own OpenAPI description never break it."""

from __future__ import annotations

import re
from unittest import SkipTest

import pytest

pytest.importorskip("schemathesis", reason="needs the extra 'fuzz'")

import schemathesis
from fastapi.responses import JSONResponse
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from medassay.human.access import RateLimiter
from medassay.human.web.app import create_app

pytestmark = pytest.mark.fuzz
URL = "http://127.0.0.1"


@pytest.fixture
def served(make_study):
    app = create_app(make_study(training=False), hosts=["testserver"])
    app.add_route("/openapi.json", lambda _: JSONResponse(app.openapi()))
    context = app.state.context
    context.wrong_links = context.wrong_secrets = context.saves = RateLimiter(rate=1e9, burst=10**9)
    yield app
    assert context.store.audit() == [], "whatever came in, the events still add up"
    context.store.close()


def signed_in(app, who: str) -> tuple[str, str]:
    """(cookie, CSRF token) of a person."""
    context = app.state.context
    http = TestClient(app, base_url=URL, follow_redirects=False)
    token = context.access.coordinator_link() if who == "coordinator" else context.access.link(who, 0)
    http.get(f"/enter/{token}")
    cookie = http.cookies["medassay_session"]
    session = context.access.open(cookie, context.links())
    return cookie, context.access.csrf(session)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("who", ["nobody", "anna", "coordinator"])
def test_random_requests_never_break_the_server(served, who, mode):
    """Well-formed and malformed requests, from everybody: answered as described, and never with a 500."""
    schema = schemathesis.openapi.from_asgi("/openapi.json", served)
    cookie, csrf = signed_in(served, who) if who != "nobody" else ("none", "none")
    own = [task.id for task in served.state.context.store.tasks("anna")]
    statuses: set[int] = set()

    def attack(case: schemathesis.Case, place: int) -> None:
        if "task" in (case.path_parameters or {}) and place:
            case.path_parameters["task"] = own[place - 1]  # else the task would hardly ever be one's own
        headers = {"X-CSRF-Token": csrf} if place else {}
        response = case.call(cookies={"medassay_session": cookie}, headers=headers)
        statuses.add(response.status_code)
        assert response.status_code < 500, f"{case.method} {case.path}: {response.status_code}"
        if case.path.startswith("/api/"):
            case.validate_response(response, checks=[response_schema_conformance, status_code_conformance])
            assert who == "anna" or response.status_code in (400, 401, 403, 404, 405, 422)

    for found in schema.get_all_operations():
        try:
            strategy = found.ok().as_strategy(generation_mode=mode)
            run = given(strategy, st.integers(0, len(own)))(attack)
            settings(max_examples=80, deadline=None, database=None, suppress_health_check=list(HealthCheck))(run)()
        except (Unsatisfiable, SkipTest):
            continue  # nothing can be wrong about a request without parameters
    assert len(statuses) > 1


def test_texts_of_others_never_leak(served):
    """Random task ids, as an annotator: never another's task."""
    cookie, _ = signed_in(served, "anna")
    http = TestClient(served, base_url=URL, cookies={"medassay_session": cookie})
    for task in served.state.context.store.tasks("ben"):
        assert http.get(f"/api/tasks/{task.id}").status_code == 404
        assert re.search(r"no such task", http.get(f"/tasks/{task.id}").text)
