"""A person with a browser, over HTTP: signs in, reads pages, saves changes."""

from __future__ import annotations

import re
from itertools import count

from fastapi.testclient import TestClient

NUMBERS = count()


class Person:
    """Somebody with a browser."""

    def __init__(self, app, name: str | None = None) -> None:
        self.app = app
        self.http = TestClient(app, base_url="http://127.0.0.1", follow_redirects=False)
        context = app.state.context
        links = context.links()
        if name in links.coordinators:
            self.http.get(f"/enter/{context.access.coordinator_link(name, links.coordinators[name])}")
        elif name is not None:
            self.http.get(f"/enter/{context.access.link(name, links.annotators[name])}")
        self.csrf = ""
        if name in links.coordinators:
            page = self.http.get("/coordinator")
            self.csrf = re.search(r'name="csrf" value="([^"]+)"', page.text)[1]
        elif name is not None:
            self.tasks = [task.id for task in context.store.tasks(name)]
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


def set_r(value: float) -> dict:
    return {"kind": "set", "slot": "case", "question": "R", "value": value}


def decision_form(person, key: str) -> dict[str, str]:
    page = person.http.get(f"/coordinator/texts/{key}").text
    return {name: re.search(rf'name="{name}" value="([^"]+)"', page)[1] for name in ("csrf", "event", "base")}


def first_key(person, query: str = "column=G") -> str:
    return re.search(r"/coordinator/texts/([0-9a-f]+)", person.http.get(f"/coordinator/texts?{query}").text)[1]
