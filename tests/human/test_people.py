"""One annotator takes over from another."""

from __future__ import annotations

import pytest
from tests.human.sample import put

from medassay.errors import InputError
from medassay.human.events import NewEvent
from medassay.human.people import current_links, replace_annotator
from medassay.human.store import Store


def test_an_annotator_takes_over_what_another_has_not_finished(store, study):
    mine = store.tasks("ben")
    finish(store, mine[1].id, "ben")
    store.append(mine[2].id, "ben", put("begun", 3))
    assert replace_annotator(store, "ben", "dee", "coordinator") == 2
    assert [task.id for task in store.tasks("ben")] == [mine[1].id]
    assert {task.unit.case_id for task in store.tasks("dee") if not task.training} == {
        mine[2].unit.case_id,
        mine[3].unit.case_id,
    }
    assert all(task.seq == 0 for task in store.tasks("dee"))
    assert set(current_links(store).annotators) == {"anna", "chi", "dee"}
    assert [event.id for event in store.events(mine[2].id)] == ["begun"], "nothing that was recorded is lost"
    again = Store(study)
    assert again.audit() == [] and again.names == ["anna", "ben", "chi", "dee"]
    again.close()
    with pytest.raises(InputError, match="already"):
        replace_annotator(store, "anna", "chi", "coordinator")
    with pytest.raises(InputError, match="not in this study"):
        replace_annotator(store, "ben", "eve", "coordinator")


def finish(store, task: str, who: str) -> None:
    store.append(task, who, put(f"{task}-R", 4))
    for slot in store.task_texts(task).shape.texts:
        for question, value in (("G", 4), ("RG", 2), ("C", 3), ("coherence", 1)):
            store.append(task, who, put(f"{task}-{slot}-{question}", value, question, slot))
    store.append(task, who, NewEvent(f"{task}-done", "done", {}))
