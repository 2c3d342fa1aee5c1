"""Argilla: write a study as a dataset folder for `rg.Dataset.from_disk`, and read its records back.

One record is one text, in a random order keyed with the study's secret, without its system's name or its case's
id; the study file and its key tell, on the way back, which text was whose. Highlights with ticks become labels
of spans (`fact:correct`), counts become text questions, choices labels.
"""

from __future__ import annotations

import hmac
import json
import random
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from medassay.errors import InputError
from medassay.files import json_text, write_text
from medassay.human.access import load_key, ordering_key
from medassay.human.events import Event
from medassay.human.plan import Unit
from medassay.human.protocols.base import CASE, MarkKind, Question, WordCounts
from medassay.human.ratings import Rating, Ratings, count_words, text_rating
from medassay.human.state import State, TaskShape, answers, fold
from medassay.human.study import Study

WRITTEN = (".argilla/settings.json", ".argilla/dataset.json", "records.json")
"""Files that `write` puts into its folder."""
_SIDES = ("reference", "candidate")


def settings(study: Study) -> dict[str, Any]:
    """The fields, questions and guidelines of the dataset."""
    shown = [name for name in ("source", *_SIDES) if name != "source" or "source" in study.protocol.needs]
    questions = [question for side in _SIDES for question in _spans(study, side)]
    questions += [_question(study, question) for question in study.protocol.questions]
    questions.append(_described("comment", "Comment", "", False, {"type": "text", "use_markdown": False}))
    return {
        "guidelines": "\n\n".join([study.wording.title, *study.wording.instructions]),
        "fields": [
            {"name": name, "title": name.capitalize(), "required": name != "source",
             "settings": {"type": "text", "use_markdown": False}}
            for name in shown
        ],
        "questions": questions,
        "metadata": [],
        "vectors": [],
        "allow_extra_metadata": False,
    }  # fmt: skip


def _described(name: str, title: str, text: str, required: bool, shape: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "title": title, "description": text or None, "required": required, "settings": dict(shape)}


def _labels(kind: MarkKind) -> list[tuple[str, ...]]:
    """A kind of highlight with every choice of its ticks."""
    return [(kind.name, *flags) for n in range(len(kind.flags) + 1) for flags in combinations(kind.flags, n)]


def _spans(study: Study, side: str) -> Iterator[dict[str, Any]]:
    kinds = [kind for kind in study.protocol.marks if kind.side == side]
    options = [
        {"value": ":".join(label), "text": _label_text(study, label)} for kind in kinds for label in _labels(kind)
    ]
    if options:
        shape = {"type": "span", "field": side, "options": options, "allow_overlapping": True}
        yield _described(f"marks_{side}", f"Highlights in the {side}", "", False, shape)


def _label_text(study: Study, label: tuple[str, ...]) -> str:
    ticks = [study.wording.flags[flag] for flag in label[1:]]
    return ", ".join([study.wording.marks[label[0]], *ticks])


def _question(study: Study, question: Question) -> dict[str, Any]:
    words = study.wording
    title, text = words.labels[question.name], words.helps[question.name]
    if question.is_count:
        hint = f"{text} A whole number; blank: the highlights are counted.".strip()
        return _described(question.name, title, hint, False, {"type": "text", "use_markdown": False})
    options = [{"value": f"{value:g}", "text": words.choices[question.name][value]} for value in question.choices]
    return _described(question.name, title, text, True, {"type": "label_selection", "options": options})


def _record_id(key: bytes, unit: Unit, index: int) -> str:
    return hmac.digest(key, f"argilla\0{unit.case_id}\0{index}".encode("utf-8", "surrogatepass"), "sha256").hex()[:24]


def records(study: Study) -> list[dict[str, Any]]:
    """One record per text, blinded and shuffled."""
    key = ordering_key(load_key(study.key_path))
    listed = []
    for unit in study.units():
        for index, item in enumerate(unit.items):
            fields = {"source": unit.source, "reference": unit.reference, "candidate": item.candidate}
            if "source" not in study.protocol.needs:
                del fields["source"]
            empty: dict[str, Any] = {"metadata": {}, "suggestions": {}, "responses": {}, "vectors": {}}
            listed.append({"id": _record_id(key, unit, index), "status": "pending", "fields": fields, **empty})
    random.Random(hmac.digest(key, b"argilla", "sha256").hex()).shuffle(listed)
    return listed


def write(study: Study, folder: Path) -> list[Path]:
    """Write a folder for `rg.Dataset.from_disk`; returns the files written."""
    (folder / ".argilla").mkdir(parents=True, exist_ok=True)
    name = "".join(c if c.isalnum() or c in "-_" else "-" for c in study.name)
    dataset = {"name": name, "guidelines": None, "allow_extra_metadata": False}
    paths = [folder / written for written in WRITTEN]
    for path, content in zip(paths, (settings(study), dataset, records(study)), strict=True):
        write_text(path, json_text(content, indent=1))
        path.chmod(0o600)
    return paths


def read(study: Study, path: Path) -> Ratings:
    """Ratings from the records of a dataset made by `write` (`records.json`, or what `to_disk` writes)."""
    path = path / "records.json" if path.is_dir() else path
    try:
        exported = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not the records.json of Argilla's to_disk ({error})") from error
    if not isinstance(exported, list):
        raise InputError(f"{path}: expected a list of records; use dataset.to_disk(folder)")
    key = ordering_key(load_key(study.key_path))
    texts = {_record_id(key, unit, i): (unit, i) for unit in study.units() for i in range(len(unit.items))}
    rows: list[Rating] = []
    lengths: dict[tuple[str, str], WordCounts] = {}
    for number, record in enumerate(exported, 1):
        where = f"{path}, record {number}"
        if not isinstance(record, dict) or str(record.get("id")) not in texts:
            raise InputError(f"{where}: is not of this study; was the dataset made by medassay, and with this key?")
        unit, index = texts[str(record["id"])]
        item = unit.items[index]
        lengths[unit.case_id, item.system] = WordCounts(count_words(item.candidate), count_words(unit.reference))
        rows += _ratings(study, unit, index, record.get("responses") or {}, where)
    return Ratings(study.protocol, rows, lengths=lengths)


def _ratings(study: Study, unit: Unit, index: int, responses: Mapping[str, Any], where: str) -> list[Rating]:
    shape = TaskShape(len(unit.reference), (len(unit.items[index].candidate),))
    rows = []
    try:
        people = dict.fromkeys(str(answer["user_id"]) for given in responses.values() for answer in given)
        for person in people:
            own = {
                name: answer["value"]
                for name, given in responses.items()
                for answer in given
                if str(answer["user_id"]) == person
            }
            state = fold(study.protocol, shape, _events(study, own, shape))
            finished: State = {**state, "done": True}
            raw = answers(study.protocol, finished, "1")
            details = {"annotator": person, "comment": state["comments"].get("1", "")}
            rows.append(text_rating(study.protocol, unit, unit.items[index], raw, **details))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{where}: a response is not in Argilla's form ({error!r})") from error
    return rows


def _events(study: Study, own: Mapping[str, Any], shape: TaskShape) -> list[Event]:
    """One person's responses as our events: highlights first, then numbers, choices and the comment."""
    listed = []
    for side in _SIDES:
        for number, span in enumerate(own.get(f"marks_{side}") or ()):
            kind, *flags = str(span["label"]).split(":")
            known = study.protocol.mark(kind)
            slot = CASE if known is not None and known.per == "case" else "1"
            end = min(int(span["end"]), shape.reference if side == "reference" else shape.candidates[0])
            mark = {"mark": f"{side}{number}", "slot": slot, "type": kind, "start": int(span["start"]), "end": end}
            listed.append(Event(f"{side}{number}", "mark", {**mark, "flags": flags}))
    for question in study.protocol.questions:
        text = str(own.get(question.name) or "").strip()
        if text:
            slot = CASE if question.per == "case" else "1"
            payload = {"slot": slot, "question": question.name, "value": float(text)}
            listed.append(Event(f"q-{question.name}", "set", payload))
    if own.get("comment"):
        listed.append(Event("comment", "comment", {"slot": "1", "text": str(own["comment"])}))
    return listed
