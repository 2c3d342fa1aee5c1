"""The coordinator's pages in a browser: a decision from end to end, both sizes, accessibility."""

from __future__ import annotations

from itertools import count

import pytest

pytest.importorskip("selenium", reason="needs the extra 'browser'")
from tests.human.browser import Page, Served
from tests.human.test_task_page import LAPTOP, TABLET, serious

from medassay.human.events import NewEvent

pytestmark = pytest.mark.browser
NUMBERS = count()


def judge(served: Served, who: str, g: int) -> None:
    """One annotator's tasks, all finished."""
    store = served.context.store
    for task in store.tasks(who):
        answers = [("case", "R", 6)] + [
            (slot, name, value)
            for slot in task.shape.texts
            for name, value in (("G", g), ("RG", 3), ("C", 4), ("coherence", 1))
        ]
        for slot, question, value in answers:
            payload = {"slot": slot, "question": question, "value": value}
            store.append(task.id, who, NewEvent(f"event-{next(NUMBERS)}", "set", payload))
        store.append(task.id, who, NewEvent(f"event-{next(NUMBERS)}", "comment", {"slot": "1", "text": "<i>odd</i>"}))
        store.append(task.id, who, NewEvent(f"event-{next(NUMBERS)}", "done", {}))


@pytest.fixture
def judged(serve) -> Served:
    served = serve(None, annotators=["anna", "ben"], protocol="fact-counting")
    judge(served, "anna", 4)
    judge(served, "ben", 6)
    return served


def test_a_decision_is_refused_mended_and_the_next_text_offered(drivers, judged):
    page = Page(drivers[0], judged.link("coordinator"), *LAPTOP)
    drivers[0].get(f"{judged.url}/coordinator/texts?column=G")
    page.click("tbody th a")
    page.type("#d-G", "1")
    page.click("form.card button.strong")
    page.until(lambda: "cannot be more than" in page.text(".notice"), "the reason")
    assert page.value("#d-G") == "1", "what was typed is still there"
    page.type("#d-G", "5")
    page.click("form.card button.strong")
    page.until(lambda: "Last decided by coordinator" in page.text("form.card"), "decided")
    here = page.js("return location.pathname")
    page.click("#next-undecided")
    page.until(lambda: page.js("return location.pathname") != here, "another text")
    assert "Last decided" not in page.text("form.card")


def test_a_task_is_returned_and_its_annotator_told(drivers, judged):
    page = Page(drivers[0], judged.link("coordinator"), *LAPTOP)
    drivers[0].get(f"{judged.url}/coordinator/tasks?annotator=anna")
    page.type("tbody input[name=note]", "Count again, please")
    page.click("tbody form button")
    page.until(lambda: "returned" in page.text("tbody"), "returned")
    task = next(task for task in judged.context.store.tasks("anna") if task.state["returned"])
    annotator = Page(drivers[1], judged.link("anna"), *LAPTOP)
    drivers[1].get(f"{judged.url}/tasks/{task.id}")
    annotator.ready()
    assert "Count again, please" in annotator.text("body")


@pytest.mark.parametrize("size", [LAPTOP, TABLET])
def test_axe_finds_nothing_serious_and_nothing_is_clipped(drivers, judged, size):
    page = Page(drivers[0], judged.link("coordinator"), *size)
    problems = {}
    for path in ("", "/texts?column=G", "/tasks", "/comments", "/trail"):
        drivers[0].get(f"{judged.url}/coordinator{path}")
        problems[path] = serious(page)
        assert page.js("return document.documentElement.scrollWidth <= innerWidth"), f"{path} is wider than the window"
    drivers[0].get(f"{judged.url}/coordinator/texts?column=G")
    page.click("tbody th a")
    page.one("form.card")
    problems["text"] = serious(page)
    assert page.js("return document.documentElement.scrollWidth <= innerWidth")
    assert not any(problems.values()), problems
    assert not page.js("return document.querySelectorAll('td i').length"), "a comment is text"
