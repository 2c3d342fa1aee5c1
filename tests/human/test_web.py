"""The web pages over HTTP: who gets in, what is saved, what stays hidden."""

from __future__ import annotations

import csv
import io
import json
import logging
import re
from itertools import count

import pytest

pytest.importorskip("fastapi", reason="the human room needs the extra 'serve'")
from fastapi.testclient import TestClient

from medassay.human.access import Access, Limiter, Session, load_key
from medassay.human.people import renew_link
from medassay.human.web.app import create_app
from medassay.human.web.guard import MAX_BODY

HOSTILE = '<script>window.hacked=1</script><img src=x onerror="hacked=1">{{7*7}}</div>'
NUMBERS = count()


class Person:
    """Somebody with a browser."""

    def __init__(self, app, name: str | None = None) -> None:
        self.app = app
        self.http = TestClient(app, base_url="http://127.0.0.1", follow_redirects=False)
        room = app.state.context
        links = room.links()
        if name in links.coordinators:
            self.http.get(f"/enter/{room.access.coordinator_link(name, links.coordinators[name])}")
        elif name is not None:
            self.http.get(f"/enter/{room.access.link(name, links.annotators[name])}")
        self.csrf = ""
        if name in links.coordinators:
            page = self.http.get("/coordinator")
            self.csrf = re.search(r'name="csrf" value="([^"]+)"', page.text)[1]
        elif name is not None:
            self.tasks = [task.id for task in room.store.tasks(name)]
            page = self.http.get(f"/tasks/{self.tasks[0]}")
            self.csrf = re.search(r'name="csrf" content="([^"]+)"', page.text)[1]

    def save(self, task: str, change: dict, event: str | None = None, **more):
        body = {"id": event or f"event-{next(NUMBERS):06d}", "change": change, **more}
        return self.http.post(f"/api/tasks/{task}/changes", json=body, headers={"x-csrf-token": self.csrf})

    def answer(self, task: str, slot: str, **values: float):
        for question, value in values.items():
            where = "case" if question == "R" else slot
            reply = self.save(task, {"kind": "set", "slot": where, "question": question, "value": value})
            assert reply.status_code == 200, reply.text

    def finish(self, task: str, **values: float):
        slots = len(self.app.state.context.store.task(task).order)
        for slot in range(1, slots + 1):
            self.answer(task, str(slot), **{"R": 4, "G": 4, "RG": 2, "C": 3, "coherence": 1, **values})
        return self.save(task, {"kind": "done"})


@pytest.fixture
def app(make_study):
    made = create_app(make_study())
    yield made
    made.state.context.store.close()


@pytest.fixture
def anna(app):
    return Person(app, "anna")


def set_r(value: float) -> dict:
    return {"kind": "set", "slot": "case", "question": "R", "value": value}


# Getting in


def test_a_link_signs_in_with_a_guarded_cookie(app):
    room = app.state.context
    reply = Person(app).http.get(f"/enter/{room.access.link('anna', 0)}")
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


def test_links_differ_and_do_not_reveal_each_other(app):
    access = app.state.context.access
    links = {access.link(name, 0) for name in ("anna", "ben", "chi")} | {access.coordinator_link()}
    assert len(links) == 4 and all(len(link) == 43 for link in links)


def test_the_key_is_private_and_lasting(make_study):
    study = make_study()
    assert load_key(study.key_path) == load_key(study.key_path)
    assert study.key_path.stat().st_mode & 0o077 == 0


def test_a_renewed_link_ends_old_sessions(app, anna):
    assert anna.http.get("/tasks").status_code == 200
    renew_link(app.state.context.store, "anna", "coordinator")
    app.state.context.forget_people()
    assert anna.http.get("/tasks").status_code == 401
    assert Person(app, "anna").http.get("/tasks").status_code == 200


def test_a_forged_or_foreign_session_is_nobody(app, tmp_path):
    stranger = Person(app)
    other = Access(b"k" * 43).seal(Session("anna", 0))
    for cookie in ("", "x", other, app.state.context.access.seal(Session("anna", 5))):
        stranger.http.cookies.set("medassay_session", cookie)
        assert stranger.http.get("/tasks").status_code == 401


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


# What one sees


def test_annotators_see_only_their_own_tasks(app, anna):
    ben = Person(app, "ben")
    for path in (f"/tasks/{ben.tasks[1]}", f"/api/tasks/{ben.tasks[1]}", f"/tasks/{ben.tasks[0]}/feedback"):
        assert anna.http.get(path).status_code == 404
    assert anna.save(ben.tasks[1], set_r(3)).status_code == 404
    assert app.state.context.store.events(ben.tasks[1]) == []


def test_only_the_coordinator_sees_the_coordinators_pages(app, anna):
    boss = Person(app, "coordinator")
    for path in ("/coordinator/texts", "/coordinator/export", "/coordinator/texts/abcdef0123"):
        assert anna.http.get(path).status_code == 403
        assert Person(app).http.get(path).status_code == 401
        assert boss.http.get(path).status_code in (200, 404)
    assert anna.http.get("/coordinator").status_code == 403
    assert boss.http.get("/tasks").status_code == 403


def test_systems_and_case_ids_are_never_shown_to_annotators(make_study):
    rows = [(f"case-{i}", f"system-{k}", f"text {i}{k}", "ref", "src") for i in range(3) for k in range(3)]
    app = create_app(make_study(rows))
    anna = Person(app, "anna")
    anna.finish(anna.tasks[0])
    for path in ["/tasks", *(f"/tasks/{t}" for t in anna.tasks), *(f"/api/tasks/{t}" for t in anna.tasks)]:
        page = anna.http.get(path).text
        assert "system-" not in page and "case-1" not in page


def test_practice_comes_first_with_feedback(app, anna):
    assert anna.http.get(f"/tasks/{anna.tasks[1]}").headers["location"] == f"/tasks/{anna.tasks[0]}"
    done = anna.finish(anna.tasks[0])
    assert done.json()["next"] == f"/tasks/{anna.tasks[0]}/feedback"
    page = anna.http.get(done.json()["next"]).text
    assert "differs" in page and "the dose is 10 mg" in page
    assert anna.http.get(f"/tasks/{anna.tasks[1]}").status_code == 200


def test_instructions_and_examples_stand_on_every_page(app, anna):
    for path in ("/tasks", f"/tasks/{anna.tasks[0]}"):
        assert "coming to recheck her breathing status" in anna.http.get(path).text


def test_hostile_text_is_shown_as_text(make_study):
    app = create_app(make_study([("c1", HOSTILE, HOSTILE, HOSTILE, HOSTILE)], training=False))
    anna, boss = Person(app, "anna"), Person(app, "coordinator")
    anna.save(anna.tasks[0], {"kind": "comment", "slot": "1", "text": "</script>" + HOSTILE})
    anna.finish(anna.tasks[0])
    key = re.search(r"/coordinator/texts/([0-9a-f]+)", boss.http.get("/coordinator/texts").text)[1]
    pages = [anna.http.get(f"/tasks/{anna.tasks[0]}"), boss.http.get(f"/coordinator/texts/{key}")]
    pages += [boss.http.get("/coordinator"), boss.http.get("/coordinator/texts")]
    for page in pages:
        assert page.status_code == 200
        assert "<script>window" not in page.text and "<img" not in page.text and "49" not in page.text.split("&lt;")[1]
        assert page.text.count("</script>") == page.text.count("<script ")


def test_every_reply_has_the_strict_headers(app, anna):
    for reply in (
        anna.http.get("/tasks"),
        anna.http.get("/nowhere"),
        Person(app).http.get("/tasks"),
        anna.http.get("/static/room.css"),
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


# Saving


def test_a_save_is_acknowledged_with_the_state(anna):
    reply = anna.save(anna.tasks[0], set_r(4))
    assert reply.json()["version"] == 1 and reply.json()["state"]["answers"] == {"case": {"R": 4}}


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
    room = app.state.context
    anna.http.get(f"/enter/{room.access.link('anna', 0)}")
    assert anna.save(anna.tasks[0], set_r(4)).status_code == 200
    anna.http.get(f"/enter/{room.access.link('ben', 0)}")  # a shared computer
    assert anna.save(anna.tasks[0], set_r(5)).status_code == 403
    assert len(room.store.events(anna.tasks[0])) == 1


def test_replays_and_conflicts(app, anna):
    task = anna.tasks[0]
    first = anna.save(task, set_r(4), "event-aaaa")
    assert anna.save(task, set_r(4), "event-aaaa").json() == {**first.json(), "again": True}
    assert anna.save(task, set_r(5), "event-aaaa").status_code == 409
    assert len(app.state.context.store.events(task)) == 1


def test_a_wrong_clock_changes_nothing(anna):
    task = anna.tasks[0]
    anna.save(task, set_r(4), at=4e9)
    late = anna.save(task, set_r(5), at=0)
    assert late.json()["state"]["answers"]["case"]["R"] == 5, "the order is the server's, not the clocks'"


def test_two_devices_see_each_other(app, anna):
    other = Person(app, "anna")
    task = anna.tasks[0]
    anna.save(task, set_r(4))
    mark = {"kind": "mark", "mark": "mark-0001", "slot": "1", "type": "fact", "start": 0, "end": 4}
    merged = other.save(task, mark).json()
    assert merged["version"] == 2 and merged["state"]["answers"] == {"case": {"R": 4}}
    assert anna.http.get(f"/api/tasks/{task}").json()["state"] == merged["state"]


def test_a_page_left_behind_is_told_that_the_task_is_finished(app, anna):
    other = Person(app, "anna")
    anna.finish(anna.tasks[0])
    late = other.save(anna.tasks[0], set_r(9))
    assert late.status_code == 409 and "finished" in late.json()["reason"]
    assert late.json()["state"]["done"] is True


def test_what_is_missing_is_named_in_the_studys_words(anna):
    reply = anna.save(anna.tasks[0], {"kind": "done"})
    assert reply.status_code == 422 and reply.json()["texts"] == ["1"]
    assert reply.json()["problems"][0] == {
        "slot": "case",
        "question": "R",
        "text": "“Facts in the reference” has no answer yet.",
    }


def test_undo_over_http(anna):
    task = anna.tasks[0]
    anna.save(task, set_r(4))
    anna.save(task, set_r(7))
    assert anna.save(task, {"kind": "undo"}).json()["state"]["answers"]["case"]["R"] == 4
    assert anna.save(task, {"kind": "redo"}).json()["state"]["answers"]["case"]["R"] == 7


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "nonsense"},
        {"kind": "set", "slot": "0", "question": "R", "value": 1},
        {"kind": "set", "slot": "case", "question": "R", "value": "many"},
        {"kind": "set", "slot": "case", "question": "R", "value": 1, "more": 1},
        {"kind": "comment", "slot": "1", "text": "x" * 5000},
        {"kind": "mark", "mark": "mark-0001", "slot": "1", "type": "fact", "start": -1, "end": 4},
    ],
)
def test_malformed_changes_are_refused_without_echo(anna, change):
    reply = anna.save(anna.tasks[0], change)
    assert reply.status_code == 422
    assert "xxxx" not in reply.text and "many" not in reply.text


def test_saves_are_limited_by_person(app, anna):
    app.state.context.saves = Limiter(rate=0.001, burst=3)
    assert [anna.save(anna.tasks[0], set_r(i)).status_code for i in range(4)] == [200, 200, 200, 429]


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


def test_another_tab_is_not_overwritten(app, anna):
    task = anna.tasks[0]
    first = anna.save(task, set_r(4), base=0).json()
    late = anna.save(task, set_r(7), base=0)
    assert late.status_code == 409 and "another window" in late.json()["reason"]
    assert (late.json()["version"], late.json()["state"]) == (first["version"], first["state"])
    assert anna.save(task, set_r(7), base=first["version"]).json()["version"] == 2


def test_impossible_answers_and_unseen_texts_are_refused_with_the_field(make_study):
    app = create_app(make_study(protocol="fact-categories", training=False))
    anna = Person(app, "anna")
    task = anna.tasks[0]
    assert anna.http.get(f"/api/tasks/{task}").json()["statuses"] == {"1": "untouched", "2": "untouched"}
    anna.answer(task, "1", R=2, correct=2)
    reply = anna.save(task, {"kind": "set", "slot": "1", "question": "omitted", "value": 2})
    assert reply.status_code == 422 and reply.json()["field"] == {"slot": "1", "question": "omitted"}
    assert (
        reply.json()["reason"]
        == "Text A: “Correct” and “Omitted” together cannot be more than “Facts in the reference”."
    )
    anna.answer(task, "1", incorrect=0, hallucinated=0, omitted=0)
    done = anna.save(task, {"kind": "done"})
    assert done.status_code == 422 and done.json()["texts"] == ["2"]
    assert done.json()["statuses"] == {"1": "answered", "2": "untouched"}
    flag = {"kind": "flag", "slot": "2", "flag": "cannot_judge", "on": True, "reason": "cut off"}
    assert anna.save(task, flag).json()["statuses"]["2"] == "answered"
    assert anna.save(task, {"kind": "done"}).status_code == 200
    page = anna.http.get(f"/tasks/{task}").text
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    assert {"correct": 1, "omitted": 1, "R": -1} in [limit["terms"] for limit in data["limits"]]
    boss = Person(app, "coordinator")
    rows = list(csv.DictReader(io.StringIO(boss.http.get("/coordinator/export?what=annotators").text)))
    assert sorted((row["cannot_judge"], row["correct"]) for row in rows) == [("", "2"), ("cut off", "")]


# The coordinator


@pytest.fixture
def judged(app):
    """Three people, all tasks finished; the second splits facts twice as finely."""
    for factor, name in ((1, "anna"), (2, "ben"), (1, "chi")):
        person = Person(app, name)
        for number, task in enumerate(person.tasks):
            case = app.state.context.store.known(task).unit.case_id
            g = {"c1": 2, "c2": 4, "c3": 3}.get(case, 3) * factor
            rg = {"c1": 1, "c2": 4, "c3": 1}.get(case, 2) * factor
            assert person.finish(task, R=5 * factor, G=g, RG=rg, C=g).status_code == 200, number
    return app


def test_the_coordinator_sees_progress_and_alpha(judged):
    page = Person(judged, "coordinator").http.get("/coordinator").text
    assert page.count("3 of 3</td>") == 3
    precision = re.search(r"<th scope=\"row\">precision.*?<td class=\"main\">([^<]+)</td>", page, re.S)[1]
    counts = re.search(r"<code>G</code>.*?<td class=\"main\">([^<]+)</td>", page, re.S)[1]
    assert float(precision) == 1.0 and float(counts) < 0.5


def test_disagreements_decision_and_export(judged):
    boss = Person(judged, "coordinator")
    key = re.search(r"/coordinator/texts/([0-9a-f]+)", boss.http.get("/coordinator/texts?column=G").text)[1]
    page = boss.http.get(f"/coordinator/texts/{key}").text
    form = {name: re.search(rf'name="{name}" value="([^"]+)"', page)[1] for name in ("csrf", "event", "base")}
    url = f"/coordinator/texts/{key}/decision"
    assert boss.http.post(url, data={**form, "csrf": "no", "value_G": "5"}).status_code == 403
    assert boss.http.post(url, data={**form, "value_G": "many"}).status_code == 422
    whole = {"value_R": "6", "value_G": "6", "value_RG": "6", "value_C": "6"}
    for _ in range(2):  # a second click on the button
        assert boss.http.post(url, data={**form, **whole}).status_code == 303
    exported = boss.http.get("/coordinator/export?what=texts&format=csv").text
    rows = list(csv.DictReader(io.StringIO(exported)))
    decided = [row for row in rows if row["G"] == "6"]
    assert len(rows) == 6 and len(decided) == 1
    assert (decided[0]["R"], decided[0]["precision"], decided[0]["decided"]) == ("6", "1", "true")
    same_case = [row for row in rows if row["id"] == decided[0]["id"]]
    assert [row["R"] for row in same_case] == ["6", "6"], "a count per case is decided per case"
    events = boss.http.get("/coordinator/export?what=events").text.splitlines()
    assert sum(json.loads(line)["kind"] == "decide" for line in events) == 2, "one for the text, one for the case"


def decision_form(person, key: str) -> dict[str, str]:
    page = person.http.get(f"/coordinator/texts/{key}").text
    return {name: re.search(rf'name="{name}" value="([^"]+)"', page)[1] for name in ("csrf", "event", "base")}


def first_key(person, query: str = "column=G") -> str:
    return re.search(r"/coordinator/texts/([0-9a-f]+)", person.http.get(f"/coordinator/texts?{query}").text)[1]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"R": "1", "G": "1", "RG": "50", "C": "99"}, "Facts in both” cannot be more than “Facts in this text"),
        ({"G": "1"}, "Blank fields stand for the annotators’ average"),
        ({"R": "1"}, "cannot be more than “Facts in the reference"),
        ({"coherence": "0.7"}, "not one of the choices"),
        ({"G": "2.5"}, "whole number"),
        ({"G": "nan"}, "whole number"),
    ],
)
def test_a_decision_obeys_the_rules_of_an_answer(judged, values, reason):
    boss = Person(judged, "coordinator")
    key = first_key(boss)
    form = decision_form(boss, key)
    reply = boss.http.post(
        f"/coordinator/texts/{key}/decision", data={**form, **{f"value_{n}": v for n, v in values.items()}}
    )
    assert reply.status_code == 422 and reason in reply.text
    assert judged.state.context.decisions.all() == {}
    for name, value in values.items():
        shown = re.search(rf'name="value_{name}"[^>]*value="([^"]*)"', reply.text)
        assert shown is None or shown[1] == value, "what was typed is still there"


def test_two_coordinators_see_each_others_decision_before_overwriting_it(make_study):
    app = create_app(make_study(coordinators=["kim", "lee"]))
    for name in ("anna", "ben", "chi"):
        person = Person(app, name)
        for task in person.tasks:
            person.finish(task)
    kim, lee = Person(app, "kim"), Person(app, "lee")
    key = first_key(kim)
    theirs, mine = decision_form(kim, key), decision_form(lee, key)
    url = f"/coordinator/texts/{key}/decision"
    assert kim.http.post(url, data={**theirs, "value_coherence": "0.5"}).status_code == 303
    late = lee.http.post(url, data={**mine, "value_coherence": "0"})
    assert late.status_code == 409 and "kim decided" in late.text and ">0.5</td>" in late.text
    again = {name: re.search(rf'name="{name}" value="([^"]+)"', late.text)[1] for name in ("csrf", "event", "base")}
    assert lee.http.post(url, data={**again, "value_coherence": "0"}).status_code == 303
    trail = lee.http.get("/coordinator/trail").text
    assert trail.count(">decide</td>") == 2 and ">kim</td>" in trail and ">lee</td>" in trail
    assert Person(app).http.get(f"/enter/{app.state.context.access.coordinator_link()}").status_code == 401, (
        "where coordinators have names, there is none without"
    )


def test_unknown_columns_and_texts_are_not_found(app):
    boss = Person(app, "coordinator")
    assert boss.http.get("/coordinator/texts?column=nonsense").status_code == 404
    assert boss.http.get("/coordinator/texts/" + "ab" * 9).status_code == 404
