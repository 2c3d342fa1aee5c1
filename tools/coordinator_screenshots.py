"""The pictures of the coordinator's pages in docs/human/images, taken anew from the tutorial's texts and answers.

PYTHONPATH=src:. python tools/coordinator_screenshots.py
"""

from __future__ import annotations

import csv
import tempfile
from itertools import count
from typing import Any

from tests.human.browser import Page, Served, start_browser

from annotation_screenshots import LAPTOP, ROOT, serve, shoot, tutorial
from medassay.human.events import NewEvent

NUMBERS = count()


def answer(served: Served) -> None:
    """Three people give the tutorial's answers; one of them in no time, another with a comment."""
    store = served.context.store
    with (ROOT / "docs/human/tutorial/ratings.csv").open(encoding="utf-8", newline="") as stream:
        given = {(row["annotator"], row["id"], row["system"]): row for row in csv.DictReader(stream)}

    def send(task: Any, kind: str, spent: int = 0, **payload: Any) -> None:
        store.append(task.id, task.annotator, NewEvent(f"event-{next(NUMBERS)}", kind, payload, None, spent))

    for task in store.tasks():
        for slot, item in enumerate(task.candidates, 1):
            row = given[task.annotator, task.unit.case_id, item.system]
            for question in ("R", "G", "RG", "C", "coherence"):
                where = "case" if question == "R" else str(slot)
                value = float(row[question])
                spent = 300 if task.annotator == "chi" and task.position == 0 else 9000
                send(task, "set", spent, slot=where, question=question, value=value if value % 1 else int(value))
        if task.annotator == "ben" and task.position == 1:
            send(task, "comment", slot="1", text="The second sentence contradicts the first.")
        if not (task.annotator == "chi" and task.position > 3):
            send(task, "done")


def main() -> None:
    """The overview, the list of disagreements, one text with a decision that is refused, comments."""
    driver = start_browser(tempfile.mkdtemp())
    served = serve(tutorial(), "fact-counting", annotators=["anna", "ben", "chi"], training=False)
    answer(served)
    page = Page(driver, served.link("coordinator"), LAPTOP[0], 1400)
    shoot(page, "coordinator")
    page.size(*LAPTOP)
    driver.get(f"{served.url}/coordinator/texts?column=G")
    shoot(page, "disagreements")
    driver.find_element("css selector", "tbody th a").click()
    for name, value in {"G": "1", "RG": "2"}.items():
        page.one(f"#d-{name}").clear()
        page.one(f"#d-{name}").send_keys(value)
    page.size(LAPTOP[0], 1300)
    page.one("form.card button.strong").click()
    page.until(lambda: driver.find_elements("css selector", ".notice"), "the refusal")
    shoot(page, "side-by-side")
    page.size(*LAPTOP)
    driver.get(f"{served.url}/coordinator/tasks?annotator=chi")
    shoot(page, "coordinator-tasks")
    served.stop()
    driver.quit()


if __name__ == "__main__":
    main()
