"""Label Studio: write a labelling configuration and tasks for a study, and read the JSON export back.

Texts stand in a random order keyed with the study's secret, without their systems' names; the study file and
its key are what tells, on the way back, which text was whose. Counts follow the same arithmetic as on our own pages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from medassay.errors import InputError
from medassay.files import json_text, write_text
from medassay.human.access import load_key, ordering_key
from medassay.human.events import Event
from medassay.human.plan import Unit, tasks_for
from medassay.human.protocols.base import CASE, Question
from medassay.human.ratings import Rating, Ratings, text_rating
from medassay.human.state import State, TaskShape, answers, fold
from medassay.human.study import Study

WRITTEN = ("config.xml", "tasks.json")
"""Files that `write` puts into its folder."""
_COLOURS = ("#c79100", "#2e7d4f", "#b3383c", "#5b50b5", "#1f77ab")


KEYED = "keyed"
"""In a task's data: its order needs the study's key. Tasks written by version 0.1 do not have it."""


def _orders(study: Study, units: Sequence[Unit], key: bytes | None) -> dict[str, tuple[int, ...]]:
    return {task.case_id: task.order for task in tasks_for("label studio", units, study.seed, key)}


def _key(study: Study) -> bytes:
    return ordering_key(load_key(study.key_path))


def configuration(study: Study, candidates: int) -> str:
    """The labelling interface (XML) for tasks with up to that many texts."""
    words = study.wording
    lines = ["<View>", f"  <Header value={quoteattr(words.title)}/>"]
    lines += [f'  <Header size="6" value={quoteattr(p)}/>' for p in words.instructions]
    if "source" in study.protocol.needs:
        lines += ['  <Header value="Source"/>', '  <Text name="source" value="$source"/>']
    lines += ['  <Header value="Reference"/>']
    lines += _labels(study, "reference", CASE, "reference")
    for slot in range(1, candidates + 1):
        lines += _labels(study, "reference", str(slot), "reference")
    lines += ['  <Text name="reference" value="$reference"/>']
    lines += [line for q in study.protocol.questions if q.per == "case" for line in _ask(study, q, CASE, "reference")]
    for slot in range(1, candidates + 1):
        name = f"candidate_{slot}"
        lines += [f'  <Header value="Text {chr(64 + slot)}"/>']
        lines += _labels(study, "candidate", str(slot), name)
        lines += [f'  <Text name="{name}" value="${name}"/>']
        for question in study.protocol.questions:
            if question.per == "candidate":
                lines += _ask(study, question, str(slot), name)
        lines += [f'  <TextArea name="comment_{slot}" toName="{name}" placeholder="Comment" maxSubmissions="1"/>']
    return "\n".join([*lines, "</View>"]) + "\n"


def _labels(study: Study, side: str, slot: str, to_name: str) -> list[str]:
    kinds = [k for k in study.protocol.marks if k.side == side and (k.per == "case") == (slot == CASE)]
    if not kinds:
        return []
    suffix = f" ({chr(64 + int(slot))})" if side == "reference" and slot != CASE else ""
    name = f"marks_{side}_{slot}"
    lines = [f'  <Labels name="{name}" toName="{to_name}">']
    for kind in kinds:
        colour = _COLOURS[kind.look - 1]
        shown = quoteattr(study.wording.marks[kind.name] + suffix)
        lines.append(f'    <Label value={shown} alias="{kind.name}" background="{colour}"/>')
    lines.append("  </Labels>")
    flags = list(dict.fromkeys(flag for kind in kinds for flag in kind.flags))
    if flags:
        head = f'name="flags_{side}_{slot}" toName="{to_name}" choice="multiple" perRegion="true"'
        lines.append(f'  <Choices {head} whenTagName="{name}">')
        lines += [f'    <Choice value={quoteattr(study.wording.flags[flag])} alias="{flag}"/>' for flag in flags]
        lines.append("  </Choices>")
    return lines


def _ask(study: Study, question: Question, slot: str, to_name: str) -> list[str]:
    name = f"q_{slot}_{question.name}"
    lines = [f'  <Header size="5" value={quoteattr(study.wording.labels[question.name])}/>']
    if question.is_count:
        return [*lines, f'  <Number name="{name}" toName="{to_name}" min="0" max="999"/>']
    lines.append(f'  <Choices name="{name}" toName="{to_name}" choice="single" required="true">')
    for value, label in study.wording.choices[question.name].items():
        shown = f"{value:g} – {label}" if len(question.choices) > 3 else label
        lines.append(f'    <Choice value={quoteattr(shown)} alias="{value:g}"/>')
    return [*lines, "  </Choices>"]


def tasks(study: Study) -> list[dict[str, Any]]:
    """One Label Studio task per case."""
    units = study.units()
    orders = _orders(study, units, _key(study))
    most = max(len(unit.items) for unit in units)
    listed = []
    for unit in units:
        data: dict[str, Any] = {
            "case": unit.case_id,
            "source": unit.source,
            "reference": unit.reference,
            "order": KEYED,
        }
        shown = [unit.items[i].candidate for i in orders[unit.case_id]]
        data |= {f"candidate_{i + 1}": shown[i] if i < len(shown) else "(no further text)" for i in range(most)}
        listed.append({"data": data})
    return listed


def write(study: Study, folder: Path) -> tuple[Path, Path]:
    """`config.xml` and `tasks.json` for a Label Studio project."""
    folder.mkdir(parents=True, exist_ok=True)
    most = max(len(unit.items) for unit in study.units())
    config, listed = (folder / name for name in WRITTEN)
    write_text(config, configuration(study, most))
    write_text(listed, json_text(tasks(study), indent=1))
    listed.chmod(0o600)
    return config, listed


def read(study: Study, path: Path) -> Ratings:
    """Ratings from Label Studio's JSON export of a project made by `write`; cancelled annotations are left out."""
    try:
        exported = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: not a JSON export of Label Studio ({error}); choose 'JSON' when exporting"
        ) from error
    if not isinstance(exported, list):
        raise InputError(f"{path}: expected a list of tasks; choose the format 'JSON' when exporting")
    units = {unit.case_id: unit for unit in study.units()}
    keyed = _orders(study, list(units.values()), _key(study))
    plain = _orders(study, list(units.values()), None)
    rows: list[Rating] = []
    for number, task in enumerate(exported, 1):
        where = f"{path}, task {number}"
        try:
            case_id = str(task["data"]["case"])
            given = [a for a in task.get("annotations", ()) if not a.get("was_cancelled")]
        except (KeyError, TypeError) as error:
            raise InputError(f"{where}: no 'data' with a 'case'; was the project made by medassay?") from error
        if case_id not in units:
            raise InputError(f"{where}: case '{case_id}' is not in {study.cases}")
        for annotation in given:
            order = keyed if task["data"].get("order") == KEYED else plain
            rows += _ratings(study, units[case_id], order[case_id], annotation, where)
    return Ratings(study.protocol, rows)


def _ratings(
    study: Study, unit: Unit, order: tuple[int, ...], annotation: Mapping[str, Any], where: str
) -> list[Rating]:
    who = annotation.get("completed_by", "unknown")
    name = str(who.get("email") or who.get("id")) if isinstance(who, dict) else f"annotator {who}"
    shape = TaskShape(len(unit.reference), tuple(len(unit.items[i].candidate) for i in order))
    try:
        state = fold(study.protocol, shape, _events(annotation.get("result", ()), shape))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"{where}: an annotation is not in Label Studio's form ({error!r})") from error
    rows = []
    # A submitted annotation is a finished one: optional questions without an answer are 0.
    finished: State = {**state, "done": True}
    for slot, index in enumerate(order, 1):
        raw = answers(study.protocol, finished, str(slot))
        comment, seconds = state["comments"].get(str(slot), ""), annotation.get("lead_time")
        details = {"annotator": name, "comment": comment, "seconds": seconds, "slot": slot}
        rows.append(text_rating(study.protocol, unit, unit.items[index], raw, **details))
    return rows


def _events(results: Sequence[Mapping[str, Any]], shape: TaskShape) -> list[Event]:
    """Label Studio's results as our events: highlights with their ticks first, then numbers and choices."""
    ticks: dict[str, list[str]] = {}
    for result in results:
        if str(result["from_name"]).startswith("flags_"):
            ticks.setdefault(str(result["id"]), []).extend(result["value"]["choices"])
    marks, rest = [], []
    for number, result in enumerate(results):
        source, value = str(result["from_name"]), result["value"]
        if source.startswith("marks_"):
            slot = source.split("_")[2]
            length = shape.reference if source.split("_")[1] == "reference" else shape.candidates[int(slot) - 1]
            start, end = max(0, int(value["start"])), min(int(value["end"]), length)
            for kind in value["labels"]:
                mark = {"mark": f"{result['id']}-{kind}", "slot": slot, "type": kind, "start": start, "end": end}
                marks.append(Event(f"m{number}-{kind}", "mark", {**mark, "flags": ticks.get(str(result["id"]), [])}))
        elif source.startswith("q_"):
            _, slot, question = source.split("_", 2)
            got = value["number"] if "number" in value else float(value["choices"][0])
            rest.append(Event(f"q{number}", "set", {"slot": slot, "question": question, "value": got}))
        elif source.startswith("comment_") and value.get("text"):
            text = value["text"] if isinstance(value["text"], str) else "\n".join(value["text"])
            rest.append(Event(f"c{number}", "comment", {"slot": source.removeprefix("comment_"), "text": text}))
    return [*marks, *rest]
