"""Errors as pages or as JSON, and addresses of the server."""

from __future__ import annotations

import pytest
from tests.human.client import Person

from medassay.human.web.app import bracketed, create_app


@pytest.mark.parametrize(("path", "status"), [("/nothing", 404), ("/tasks", 401), ("/coordinator/tasks", 401)])
def test_a_person_gets_a_page_that_says_what_is_wrong(app, path, status):
    reply = Person(app).http.get(path)
    assert reply.status_code == status and "<main" in reply.text


def test_the_pages_script_gets_a_reason(anna):
    reply = anna.http.get(f"/api/tasks/{'0' * 16}")
    assert (reply.status_code, reply.json()) == (404, {"reason": "There is no such task."})
    assert anna.http.put("/api/tasks/0").json() == {"reason": "That cannot be done here."}


def test_the_hosts_of_the_public_url_are_known(make_study):
    assert (bracketed("::1"), bracketed("study.example.org")) == ("[::1]", "study.example.org")
    app = create_app(make_study(), public_url="https://study.example.org/")
    person = Person(app)
    assert person.http.get("/health", headers={"host": "study.example.org"}).text == "ok"
    assert person.http.get("/health", headers={"host": "other.example.org"}).status_code == 421
