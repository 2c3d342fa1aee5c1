"""Texts and tasks are frozen when a study begins."""

from __future__ import annotations

import pytest

from medassay.errors import InputError
from medassay.human.store import Store
from medassay.human.study import load_study


def test_tasks_practice_first_then_all_cases(store):
    for name in ("anna", "ben", "chi"):
        mine = store.tasks(name)
        assert [task.training for task in mine] == [True, False, False, False]
        assert {task.unit.case_id for task in mine[1:]} == {"c1", "c2", "c3"}


def test_a_study_that_has_begun_cannot_change_under_its_answers(store, study):
    changed = study.path.read_text(encoding="utf-8").replace("seed: 1", "seed: 2", 1)
    study.path.write_text(changed, encoding="utf-8")
    with pytest.raises(InputError, match="differ from what this study began with"):
        Store(load_study(study.path))


def test_an_annotator_may_join_later(store, study):
    before = [(t.id, t.order) for t in store.tasks("anna")]
    changed = study.path.read_text(encoding="utf-8").replace("[anna, ben, chi]", "[anna, ben, chi, dee]", 1)
    study.path.write_text(changed, encoding="utf-8")
    later = Store(load_study(study.path))
    assert len(later.tasks("dee")) == 4
    assert [(t.id, t.order) for t in later.tasks("anna")] == before
    later.close()
