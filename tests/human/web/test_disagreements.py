"""Disagreements and the coordinator's decisions."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from tests.human.client import Person, decision_form, first_key

from medassay.human.web.app import create_app


def test_next_previous_and_undecided(app, coordinator):
    for name in ("anna", "ben"):
        person = Person(app, name)
        for task in person.tasks:
            person.finish(task, G=4 if name == "anna" else 5)
    listed = re.findall(
        r"/coordinator/texts/([0-9a-f]+)\?column=G", coordinator.http.get("/coordinator/texts?column=G").text
    )
    assert len(listed) == 6
    page = coordinator.http.get(f"/coordinator/texts/{listed[1]}?column=G").text
    assert "2 of 6" in page
    assert f'rel="prev" href="/coordinator/texts/{listed[0]}' in page
    assert f'rel="next" href="/coordinator/texts/{listed[2]}' in page
    form = {name: re.search(rf'name="{name}" value="([^"]+)"', page)[1] for name in ("csrf", "event", "base", "column")}
    saved = coordinator.http.post(f"/coordinator/texts/{listed[1]}/decision", data={**form, "value_coherence": "1"})
    assert saved.headers["location"] == f"/coordinator/texts/{listed[1]}?column=G"
    undecided = coordinator.http.get("/coordinator/texts?column=G&undecided=true").text
    assert listed[1] not in undecided and "5 without a decision" in undecided
    last = coordinator.http.get(f"/coordinator/texts/{listed[0]}?column=G").text
    assert f'href="/coordinator/texts/{listed[2]}?column=G" id="next-undecided"' in last


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
