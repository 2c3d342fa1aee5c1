"""Signing in and out."""

from __future__ import annotations

from fastapi.testclient import TestClient
from tests.human.client import Person, set_r

from medassay.human.access import Access, Session, load_key
from medassay.human.people import renew_link
from medassay.human.web.app import create_app


def test_each_coordinator_may_have_a_secret_of_their_own(make_study):
    secrets = {"kim": "kim has a long secret", "lee": "lee has another secret"}
    app = create_app(make_study(coordinators=["kim", "lee"]), secret=secrets)
    person = Person(app)
    assert "<option>kim</option>" in person.http.get("/coordinator").text
    wrong = {"name": "kim", "secret": secrets["lee"]}
    assert person.http.post("/coordinator/enter", data=wrong).status_code == 401
    assert person.http.post("/coordinator/enter", data={"name": "kim", "secret": secrets["kim"]}).status_code == 303
    assert '<span class="who">kim</span>' in person.http.get("/coordinator").text
    other = Access(load_key(app.state.context.study.key_path), {**secrets, "kim": "a changed long secret"})
    assert other.open(person.http.cookies["medassay_session"], app.state.context.links()) is None


def test_a_link_signs_in_with_a_guarded_cookie(app):
    context = app.state.context
    reply = Person(app).http.get(f"/enter/{context.access.link('anna', 0)}")
    assert (reply.status_code, reply.headers["location"]) == (303, "/tasks")
    cookie = reply.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=lax" in cookie and "secure" not in cookie


def test_behind_https_the_cookie_is_secure(make_study):
    app = create_app(make_study(), public_url="https://study.example.org")
    http = TestClient(app, base_url="https://study.example.org", follow_redirects=False)
    reply = http.get(f"/enter/{app.state.context.access.link('anna', 0)}")
    assert "; secure" in reply.headers["set-cookie"].lower()
    assert "max-age" in reply.headers["strict-transport-security"]
    task = app.state.context.store.tasks("anna")[0].id
    token = app.state.context.access.csrf(Session("anna", 0))
    headers = {"x-csrf-token": token, "origin": "https://study.example.org", "host": "127.0.0.1:8765"}
    body = {"id": "event-proxy", "change": set_r(3)}
    saved = http.post(f"/api/tasks/{task}/changes", json=body, headers=headers)
    assert saved.status_code == 200, "a proxy may ask by another name than people do"


def test_a_wrong_link_is_refused_and_guessing_is_slowed_down(app):
    stranger = Person(app)
    replies = [stranger.http.get(f"/enter/{'x' * 42}{i % 10}").status_code for i in range(12)]
    assert replies[:10] == [401] * 10 and replies[10:] == [429] * 2
    right = app.state.context.access.link("anna", 0)
    assert stranger.http.get(f"/enter/{right}").status_code == 303, "a good link is never blocked"


def test_a_renewed_link_ends_old_sessions(app, anna):
    assert anna.http.get("/tasks").status_code == 200
    renew_link(app.state.context.store, "anna", "coordinator")
    app.state.context.forget_people()
    assert anna.http.get("/tasks").status_code == 401
    assert Person(app, "anna").http.get("/tasks").status_code == 200


def test_sign_out(app, anna):
    assert anna.http.post("/leave", data={"csrf": "wrong"}).status_code == 403
    copied = anna.http.cookies["medassay_session"]
    reply = anna.http.post("/leave", data={"csrf": anna.csrf})
    assert reply.status_code == 303
    assert anna.http.get("/tasks").status_code == 401
    thief = Person(app)
    thief.http.cookies.set("medassay_session", copied)
    assert thief.http.get("/tasks").status_code == 401, "the session has ended on the server"
    app.state.context.forget_people()
    assert thief.http.get("/tasks").status_code == 401
    assert Person(app, "anna").http.get("/tasks").status_code == 200, "the link is as good as before"


def test_a_typed_secret_for_the_coordinator(make_study):
    app = create_app(make_study(), secret="correct horse battery")
    http = TestClient(app, base_url="http://127.0.0.1", follow_redirects=False)
    assert app.state.context.access.coordinator_link() is None
    assert 'type="password"' in http.get("/coordinator").text
    assert http.post("/coordinator/enter", data={"secret": "wrong"}).status_code == 401
    assert http.post("/coordinator/enter", data={"secret": "correct horse battery"}).status_code == 303
    assert "Progress" in http.get("/coordinator").text
