"""The annotator's pages."""

from __future__ import annotations

import csv
import io
import json
import re

from tests.human.client import Person, set_r

from medassay.human.access import RateLimiter
from medassay.human.web.app import create_app


def test_a_skipped_task_comes_last(app):
    anna = Person(app, "anna")
    anna.finish(anna.tasks[0])
    anna.save(anna.tasks[1], {"kind": "flag", "slot": "case", "flag": "skip", "on": True, "reason": "later"})
    assert anna.finish(anna.tasks[2]).json()["next"] == f"/tasks/{anna.tasks[3]}"
    assert anna.finish(anna.tasks[3]).json()["next"] == f"/tasks/{anna.tasks[1]}"


HOSTILE = '<script>window.hacked=1</script><img src=x onerror="hacked=1">{{7*7}}</div>'


def test_annotators_see_only_their_own_tasks(app, anna):
    ben = Person(app, "ben")
    for path in (f"/tasks/{ben.tasks[1]}", f"/api/tasks/{ben.tasks[1]}", f"/tasks/{ben.tasks[0]}/feedback"):
        assert anna.http.get(path).status_code == 404
    assert anna.save(ben.tasks[1], set_r(3)).status_code == 404
    assert app.state.context.store.events(ben.tasks[1]) == []


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


def test_a_save_is_acknowledged_with_the_state(anna):
    reply = anna.save(anna.tasks[0], set_r(4))
    assert reply.json()["version"] == 1 and reply.json()["state"]["answers"] == {"case": {"R": 4}}


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


def test_saves_are_limited_by_person(app, anna):
    app.state.context.saves = RateLimiter(rate=0.001, burst=3)
    assert [anna.save(anna.tasks[0], set_r(i)).status_code for i in range(4)] == [200, 200, 200, 429]


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
