"""To and fro: Label Studio, INCEpTION, and the lead-3 baseline."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from medassay.errors import InputError
from medassay.human import label_studio
from medassay.human.plan import tasks_for
from medassay.human.protocols import PROTOCOLS


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_configuration_and_tasks_fit_together(make_study, tmp_path, protocol):
    study = make_study(protocol=protocol)
    config, tasks = label_studio.write(study, tmp_path / "ls")
    view = ET.parse(config).getroot()
    names = [element.get("name") for element in view.iter() if element.get("name")]
    assert len(names) == len(set(names)), "names are unique"
    texts = {element.get("name") for element in view.iter("Text")}
    assert all(element.get("toName") in texts for element in view.iter() if element.get("toName"))
    data = json.loads(tasks.read_text(encoding="utf-8"))
    used = {element.get("value").removeprefix("$") for element in view.iter("Text")}
    assert all(used <= set(task["data"]) for task in data)
    assert "alpha" not in tasks.read_text(encoding="utf-8"), "systems stay hidden"


def region(name: str, start: int, end: int, label: str, mark: str) -> dict:
    value = {"start": start, "end": end, "labels": [label]}
    return {"id": mark, "from_name": name, "to_name": "x", "type": "labels", "value": value}


def test_an_export_reads_back_as_ratings(make_study, tmp_path):
    study = make_study()
    task = label_studio.tasks(study)[0]
    shown = task["data"]["candidate_1"]
    result = [
        region("marks_reference_case", 0, 5, "reference_fact", "r1"),
        {"id": "n1", "from_name": "q_case_R", "type": "number", "value": {"number": 3}},
        region("marks_candidate_1", 0, 5, "fact", "m1"),
        {"id": "m1", "from_name": "flags_candidate_1", "type": "choices", "value": {"choices": ["correct"]}},
        region("marks_candidate_1", 6, 9, "fact", "m2"),
        {"id": "c1", "from_name": "q_1_coherence", "type": "choices", "value": {"choices": ["0.5"]}},
        {"id": "t1", "from_name": "comment_1", "type": "textarea", "value": {"text": ["short"]}},
    ]
    done = {"completed_by": {"id": 7, "email": "a@example.org"}, "result": result, "lead_time": 31.5}
    gone = {"completed_by": 8, "result": [], "was_cancelled": True}
    path = tmp_path / "export.json"
    path.write_text(json.dumps([{"id": 1, "data": task["data"], "annotations": [done, gone]}]), encoding="utf-8")
    rows = label_studio.read(study, path).rows
    assert {row.annotator for row in rows} == {"a@example.org"} and len(rows) == 2
    unit = next(u for u in study.units() if u.case_id == task["data"]["case"])
    system = next(item.system for item in unit.items if item.candidate == shown)
    row = next(row for row in rows if row.system == system)
    got = {name: row.values[name] for name in ("R", "G", "RG", "C", "coherence")}
    assert got == {"R": 3, "G": 2, "RG": 0, "C": 1, "coherence": 0.5}
    assert (row.comment, row.seconds) == ("short", 31.5)


def test_a_foreign_export_is_refused_with_the_remedy(make_study, tmp_path):
    path = tmp_path / "export.json"
    for text, message in [("{}", "list of tasks"), ("[{}]", "made by medassay"), ("no", "not a JSON export")]:
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            label_studio.read(make_study(), path)


def test_an_export_of_version_0_1_is_read_in_its_own_order(make_study, tmp_path):
    study = make_study()
    task = label_studio.tasks(study)[0]
    del task["data"]["order"]
    order = next(
        t.order for t in tasks_for("label studio", study.units(), study.seed) if t.case_id == task["data"]["case"]
    )
    choice = {"id": "c1", "from_name": "q_1_coherence", "type": "choices", "value": {"choices": ["0.5"]}}
    path = tmp_path / "export.json"
    path.write_text(json.dumps([{"data": task["data"], "annotations": [{"completed_by": 1, "result": [choice]}]}]))
    unit = next(u for u in study.units() if u.case_id == task["data"]["case"])
    judged = next(row for row in label_studio.read(study, path).rows if row.values["coherence"] == 0.5)
    assert judged.system == unit.items[order[0]].system
