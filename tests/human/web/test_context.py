"""Who is asking, and from where."""

from __future__ import annotations

from tests.human.client import Person, set_r


def test_changes_need_the_token_and_the_right_origin(app, anna):
    url = f"/api/tasks/{anna.tasks[0]}/changes"
    body = {"id": "event-xyz-1", "change": set_r(4)}
    assert anna.http.post(url, json=body).status_code == 422
    assert anna.http.post(url, json=body, headers={"x-csrf-token": "x"}).status_code == 403
    theirs = Person(app, "ben").csrf
    assert anna.http.post(url, json=body, headers={"x-csrf-token": theirs}).status_code == 403
    foreign = {"x-csrf-token": anna.csrf, "origin": "https://evil.example"}
    assert anna.http.post(url, json=body, headers=foreign).status_code == 403
    assert Person(app).http.post(url, json=body, headers={"x-csrf-token": anna.csrf}).status_code == 401
    assert app.state.context.store.events(anna.tasks[0]) == []


def test_an_open_page_stays_good_when_the_link_is_opened_again_but_not_for_somebody_else(app, anna):
    context = app.state.context
    anna.http.get(f"/enter/{context.access.link('anna', 0)}")
    assert anna.save(anna.tasks[0], set_r(4)).status_code == 200
    anna.http.get(f"/enter/{context.access.link('ben', 0)}")  # a shared computer
    assert anna.save(anna.tasks[0], set_r(5)).status_code == 403
    assert len(context.store.events(anna.tasks[0])) == 1
