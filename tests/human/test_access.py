"""Links, keys and sessions."""

from __future__ import annotations

from tests.human.client import Person

from medassay.human.access import Access, Session, load_key


def test_links_differ_and_do_not_reveal_each_other(app):
    access = app.state.context.access
    links = {access.link(name, 0) for name in ("anna", "ben", "chi")} | {access.coordinator_link()}
    assert len(links) == 4 and all(len(link) == 43 for link in links)


def test_the_key_is_private_and_lasting(make_study):
    study = make_study()
    assert load_key(study.key_path) == load_key(study.key_path)
    assert study.key_path.stat().st_mode & 0o077 == 0


def test_a_forged_or_foreign_session_is_nobody(app, tmp_path):
    stranger = Person(app)
    other = Access(b"k" * 43).seal(Session("anna", 0))
    for cookie in ("", "x", other, app.state.context.access.seal(Session("anna", 5))):
        stranger.http.cookies.set("medassay_session", cookie)
        assert stranger.http.get("/tasks").status_code == 401
