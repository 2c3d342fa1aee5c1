"""The machine's draft: proposals from a ledger, who sees them, and what they do."""

from __future__ import annotations

import json

import pytest

from medassay.errors import InputError
from medassay.human.drafts import draft_of, draw_tasks, make_drafts, proposals, propose, remove_drafts
from medassay.human.events import NewEvent
from medassay.human.live import from_store
from medassay.human.protocols import load_protocol
from medassay.human.store import Store
from medassay.human.tables import effects
from medassay.language.ledger import Texts
from medassay.language.ledger_maker import LedgerMaker
from medassay.spans import Check


class WordChecker:
    """A checker that goes by words: supported where all are there, contradicted where "not" is there."""

    name = "words"

    def check(self, pairs):
        return [self._check(text.lower(), statement.lower()) for text, statement in pairs]

    def probabilities(self, pairs):
        return [check.probabilities for check in self.check(pairs)]

    def _check(self, text: str, statement: str) -> Check:
        words = [word.strip(".,") for word in statement.split() if len(word.strip(".,")) > 3]
        shared = sum(word in text for word in words)
        if shared == len(words):
            return Check((0.9, 0.05, 0.05), 0, 1, "other", 0.1)
        if shared:
            return Check((0.1, 0.1, 0.8), 0, 1, "value", 0.9)
        return Check((0.1, 0.8, 0.1), 0, 0, "finding", 0.2)


REFERENCE = "Fever since Monday. Penicillin allergy."
CANDIDATE = "Fever since Sunday. Knee pain."


def ledger_of(candidate: str, reference: str, source: str | None = None):
    return LedgerMaker(WordChecker()).ledgers([Texts(candidate, reference, source)])[0]


def test_verdicts_become_the_protocols_highlights():
    ledger = ledger_of(CANDIDATE, REFERENCE)
    found = [(s["of"], s["type"], s["flags"]) for s in propose(load_protocol("fact-categories"), ledger)]
    assert found == [
        ("candidate", "incorrect", ["critical"]),
        ("candidate", "hallucinated", []),
        ("reference", None, []),
        ("reference", "omitted", []),
    ]
    first = propose(load_protocol("key-phrases"), ledger)[0]
    assert (CANDIDATE[first["start"] : first["end"]], first["verdict"]) == ("Fever since Sunday", "contradicted")
    facts = propose(load_protocol("fact-counting"), ledger_of("Fever. Knee pain.", "Fever.", "Fever and knee pain."))
    assert [(s["type"], s["flags"]) for s in facts if s["of"] == "candidate"] == [
        ("fact", ["in_reference", "correct"]),
        ("fact", ["correct"]),
    ]


@pytest.fixture
def store(make_study):
    rows = [(f"c{i}", s, CANDIDATE, REFERENCE, "source") for i in range(6) for s in ("alpha", "beta")]
    opened = Store(make_study(rows, protocol="fact-categories", blinded=False))
    yield opened
    opened.close()


def finish(store: Store, task, take: bool) -> None:
    """Somebody who takes over all that the draft proposes, or finds nothing."""
    put = iter(range(1000))

    def send(kind: str, active_ms: int = 0, **payload) -> None:
        store.append(task.id, task.annotator, NewEvent(f"{task.id}-{next(put)}", kind, payload, None, active_ms))

    send("set", 30_000 if take else 60_000, slot="case", question="R", value=2)
    for statement in (draft_of(store, task) or []) if take else []:
        if statement["type"]:
            mark = {key: statement[key] for key in ("slot", "start", "end", "type", "flags")}
            send("mark", mark=f"m-{statement['id']}-{task.id}", from_draft=True, **mark)
    for slot in task.shape.texts:
        for question in ("correct", "incorrect", "hallucinated", "omitted"):
            marked = sum(m["slot"] == slot and m["kind"] == question for m in store.task(task.id).state["marks"])
            send("set", slot=slot, question=question, value=marked)
    send("done")


def test_half_of_the_tasks_show_it_and_the_draw_is_recorded(store):
    shown = make_drafts(store, WordChecker(), "coordinator")
    assert shown == 9, "half of three times six"
    for name in store.names:
        drawn = [task.draft for task in store.tasks(name) if not task.training]
        assert sorted(drawn) == [False] * 3 + [True] * 3
        assert all(task.draft is None for task in store.tasks(name) if task.training)
    assert draw_tasks(store) == {task.id: task.draft for task in store.tasks() if not task.training}, (
        "seeded by the key"
    )
    task = next(task for task in store.tasks() if task.draft)
    assert {s["slot"] for s in draft_of(store, task)} == {"1", "2"}
    assert draft_of(store, next(task for task in store.tasks() if task.draft is False)) is None
    event = next(event for event in store.history() if event["kind"] == "draft")
    assert event["payload"] == {"checker": "words", "tasks_with": 9, "tasks_in_draw": 18}


def test_time_and_bias_are_told_from_the_draw(store):
    make_drafts(store, WordChecker(), "coordinator")
    assert effects(from_store(store)) == []
    for task in store.tasks():
        if not task.training:
            finish(store, task, take=bool(task.draft))
    rows = {row.column: row for row in effects(from_store(store), resamples=100)}
    assert (rows["seconds"].with_draft, rows["seconds"].without, rows["seconds"].n) == (30, 60, (9, 9))
    assert rows["seconds"].difference.value == -30
    # Each text has one incorrect, one hallucinated and one omitted statement in the draft, none without.
    assert [rows[name].difference.value for name in ("incorrect", "hallucinated", "omitted")] == [1, 1, 1]
    assert rows["incorrect"].n == (18, 18)
    ratings = from_store(store)
    assert {row.from_draft for row in ratings.rows if row.draft} == {3}
    listed = proposals(store)
    assert {row["proposed_by"] for row in listed} == {"machine"}
    assert {(row["outcome"], row["kind"]) for row in listed} == {
        ("accepted", "incorrect"), ("accepted", "hallucinated"), ("accepted", "omitted"),
    }  # fmt: skip
    assert next(row["text"] for row in listed if row["kind"] == "omitted") == "Penicillin allergy"


def test_proposals_left_out_changed_and_added_are_told_apart(store):
    make_drafts(store, WordChecker(), "coordinator")
    task = next(task for task in store.tasks() if task.draft)
    first = next(s for s in draft_of(store, task) if s["type"] == "incorrect" and s["slot"] == "1")
    mark = {"slot": "1", "start": first["start"], "end": first["end"], "flags": []}
    store.append(task.id, task.annotator, NewEvent("m1", "mark", {**mark, "mark": "mm1", "type": "correct"}))
    own = {"mark": "mm2", "slot": "1", "type": "incorrect", "start": 0, "end": 3, "flags": []}
    store.append(task.id, task.annotator, NewEvent("m2", "mark", own))
    finish(store, task, take=False)
    outcomes = {(row["kind"], row["outcome"], row["proposed_by"]) for row in proposals(store)}
    assert ("correct", "changed", "annotator") in outcomes
    assert ("incorrect", "added", "annotator") in outcomes
    assert ("hallucinated", "left out", "machine") in outcomes


def test_never_in_a_blinded_study(make_study):
    study = make_study(protocol="fact-categories")
    assert study.blinded, "the default"
    store = Store(study)
    with pytest.raises(InputError, match="judge on their own"):
        make_drafts(store, WordChecker(), "coordinator")
    with pytest.raises(InputError, match="no highlights"):
        other = make_study(protocol="expert-scale", blinded=False, database="other.db")
        other.marker_path.unlink()
        make_drafts(Store(other), WordChecker(), "coordinator")
    store.close()


def test_a_study_that_is_made_blind_again_shows_none(store):
    make_drafts(store, WordChecker(), "coordinator")
    task = next(task for task in store.tasks() if task.draft)
    path = store.study.path
    path.write_text(path.read_text(encoding="utf-8").replace("blinded: false", "blinded: true"), encoding="utf-8")
    from medassay.human.study import load_study

    again = Store(load_study(path))
    assert draft_of(again, again.task(task.id)) is None
    again.close()


def test_only_tasks_not_begun_take_part_and_it_can_be_taken_away(store):
    begun = next(task for task in store.tasks() if not task.training)
    store.append(begun.id, begun.annotator, NewEvent("e1", "set", {"slot": "case", "question": "R", "value": 2}))
    make_drafts(store, WordChecker(), "coordinator")
    assert store.task(begun.id).draft is None
    assert remove_drafts(store, "coordinator") == 17
    assert all(task.draft is None and draft_of(store, task) is None for task in store.tasks())


def test_the_page_carries_the_draft(store):
    pytest.importorskip("fastapi")
    from tests.human.client import Person

    from medassay.human.web.app import create_app

    make_drafts(store, WordChecker(), "coordinator")
    app = create_app(store.study, store=store)
    for task in store.tasks("anna"):
        if task.training:
            for slot in task.shape.texts:
                for q in ("correct", "incorrect", "hallucinated", "omitted"):
                    payload = {"slot": slot, "question": q, "value": 0}
                    store.append(task.id, "anna", NewEvent(f"{task.id}{slot}{q}", "set", payload))
            store.append(task.id, "anna", NewEvent(f"{task.id}R", "set", {"slot": "case", "question": "R", "value": 4}))
            store.append(task.id, "anna", NewEvent(f"{task.id}done", "done", {}))
    anna = Person(app, "anna")
    for task in store.tasks("anna"):
        page = anna.http.get(f"/tasks/{task.id}").text
        data = json.loads(page.split('id="data">')[1].split("</script>")[0])
        assert (data["draft"] is not None) == bool(task.draft)
    assert "Machine" not in Person(app, "coordinator").http.get("/coordinator").text, "nothing to compare yet"
