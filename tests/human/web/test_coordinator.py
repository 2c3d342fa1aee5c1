"""The coordinator's pages: people, tasks, comments, the trail, disagreements in pages."""

from __future__ import annotations

import re

from tests.human.client import Person


def test_a_task_is_returned_with_a_note(app, coordinator):
    anna = Person(app, "anna")
    anna.finish(anna.tasks[0])
    url = f"/coordinator/tasks/{anna.tasks[1]}/return"
    assert coordinator.http.post(url, data={"csrf": coordinator.csrf, "note": "x"}).status_code == 409, (
        "it is not finished"
    )
    anna.finish(anna.tasks[1])
    assert "Return" in coordinator.http.get("/coordinator/tasks?annotator=anna").text
    assert anna.http.post(url, data={"csrf": anna.csrf, "note": "x"}).status_code == 403
    assert coordinator.http.post(url, data={"csrf": "no", "note": "x"}).status_code == 403
    reply = coordinator.http.post(url, data={"csrf": coordinator.csrf, "note": "<b>count</b> again"})
    assert reply.status_code == 303
    now = anna.http.get(f"/api/tasks/{anna.tasks[1]}").json()["state"]
    assert (now["done"], now["returned"]) == (False, "<b>count</b> again")
    assert "&lt;b&gt;count&lt;/b&gt; again" in anna.http.get(f"/tasks/{anna.tasks[1]}").text
    assert anna.save(anna.tasks[1], {"kind": "done"}).json()["state"]["returned"] == ""
    assert app.state.context.store.audit() == []
    assert ">return</td>" in coordinator.http.get("/coordinator/trail").text
    assert (
        coordinator.http.post(f"/coordinator/tasks/{'ab' * 16}/return", data={"csrf": coordinator.csrf}).status_code
        == 404
    )


def test_links_are_renewed_and_annotators_replaced_on_the_page(app, coordinator):
    ben = Person(app, "ben")
    page = coordinator.http.post("/coordinator/renew", data={"csrf": coordinator.csrf, "name": "ben"})
    link = re.search(r"http://127\.0\.0\.1(/enter/[\w-]+)", page.text)[1]
    assert ben.http.get("/tasks").status_code == 401
    assert ben.http.get(link).status_code == 303 and ben.http.get("/tasks").status_code == 200
    reply = coordinator.http.post("/coordinator/replace", data={"csrf": coordinator.csrf, "name": "ben", "by": "dee"})
    assert ben.http.get("/tasks").status_code == 401 and ben.http.get(link).status_code == 401
    assert ben.http.get(re.search(r"http://127\.0\.0\.1(/enter/[\w-]+)", reply.text)[1]).status_code == 303
    assert "dee" in coordinator.http.get("/coordinator").text
    assert (
        coordinator.http.post(
            "/coordinator/replace", data={"csrf": coordinator.csrf, "name": "x", "by": "y"}
        ).status_code
        == 409
    )
    assert coordinator.http.post("/coordinator/renew", data={"csrf": coordinator.csrf, "name": "x"}).status_code == 404
    kinds = re.findall(r">(renew|replace)</td>", coordinator.http.get("/coordinator/trail").text)
    assert kinds == ["replace", "renew"]


def test_a_coordinators_link_is_renewable_too(app, coordinator):
    old = app.state.context.access.coordinator_link()
    page = coordinator.http.post("/coordinator/renew", data={"csrf": coordinator.csrf, "name": "coordinator"})
    link = re.search(r"http://127\.0\.0\.1(/enter/[\w-]+)", page.text)[1]
    assert (
        "Sign in" in coordinator.http.get("/coordinator").text
        or "Open the coordinator" in coordinator.http.get("/coordinator").text
    )
    assert coordinator.http.get(f"/enter/{old}").status_code == 401
    assert coordinator.http.get(link).status_code == 303
    assert "Progress" in coordinator.http.get("/coordinator").text


def test_only_the_coordinator_sees_the_coordinators_pages(app, anna):
    boss = Person(app, "coordinator")
    for path in ("/coordinator/texts", "/coordinator/export", "/coordinator/texts/abcdef0123"):
        assert anna.http.get(path).status_code == 403
        assert Person(app).http.get(path).status_code == 401
        assert boss.http.get(path).status_code in (200, 404)
    assert anna.http.get("/coordinator").status_code == 403
    assert boss.http.get("/tasks").status_code == 403


def test_the_coordinator_sees_progress_and_alpha(judged):
    page = Person(judged, "coordinator").http.get("/coordinator").text
    assert page.count("3 of 3</td>") == 3
    precision = re.search(r"<th scope=\"row\">precision.*?<td class=\"main\">([^<]+)</td>", page, re.S)[1]
    counts = re.search(r"<code>G</code>.*?<td class=\"main\">([^<]+)</td>", page, re.S)[1]
    assert float(precision) == 1.0 and float(counts) < 0.5
