"""To and fro: Label Studio, INCEpTION, and the lead-3 baseline."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
import zipfile

import pytest

from medassay.cases import read_cases
from medassay.errors import InputError
from medassay.human import argilla, label_studio
from medassay.human.baseline import lead, lead_rows, read_sources
from medassay.human.plan import tasks_for
from medassay.human.protocols import PROTOCOLS

# Label Studio


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


# Argilla


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_argilla_dataset_is_whole_and_blinded(make_study, tmp_path, protocol):
    study = make_study(protocol=protocol)
    paths = argilla.write(study, tmp_path / "ds")
    assert [str(path.relative_to(tmp_path / "ds")) for path in paths] == list(argilla.WRITTEN)
    settings, dataset, records = (json.loads(path.read_text(encoding="utf-8")) for path in paths)
    fields = [field["name"] for field in settings["fields"]]
    assert dataset["name"] == "made-up" and len(records) == 6
    assert all(list(record["fields"]) == fields for record in records)
    names = [question["name"] for question in settings["questions"]]
    assert len(names) == len(set(names)) and not set(names) & set(fields)
    assert {q.name for q in study.protocol.questions} <= set(names)
    for question in settings["questions"]:
        options = [option["value"] for option in question["settings"].get("options", ())]
        assert len(options) == len(set(options))
    text = paths[2].read_text(encoding="utf-8")
    assert "alpha" not in text and '"c1"' not in text and paths[2].stat().st_mode & 0o077 == 0
    assert [r["id"] for r in records] == [r["id"] for r in argilla.records(study)], "reproducible with the key"


def test_argillas_responses_read_back_as_ratings(make_study, tmp_path):
    study = make_study()
    argilla.write(study, tmp_path / "ds")
    path = tmp_path / "ds" / "records.json"
    records = json.loads(path.read_text(encoding="utf-8"))
    spans = [{"start": 0, "end": 4, "label": "fact:correct"}, {"start": 5, "end": 8, "label": "fact"}]
    reference = [{"start": 0, "end": 5, "label": "reference_fact"}]
    records[0]["responses"] = {
        "marks_candidate": [{"value": spans, "user_id": "u1"}],
        "marks_reference": [{"value": reference, "user_id": "u1"}],
        "R": [{"value": "3", "user_id": "u1"}],
        "coherence": [{"value": "0.5", "user_id": "u1"}, {"value": "1", "user_id": "u2"}],
        "comment": [{"value": "short", "user_id": "u1"}],
    }
    path.write_text(json.dumps(records), encoding="utf-8")
    rows = {row.annotator: row for row in argilla.read(study, tmp_path / "ds").rows}
    got = {name: rows["u1"].values[name] for name in ("R", "G", "RG", "C", "coherence")}
    assert got == {"R": 3, "G": 2, "RG": 0, "C": 1, "coherence": 0.5}
    assert rows["u1"].comment == "short" and rows["u2"].values["coherence"] == 1
    shown = records[0]["fields"]["candidate"]
    item = next(i for u in study.units() for i in u.items if i.candidate == shown)
    assert rows["u1"].system == item.system
    for content, message in [("{}", "list of records"), ('[{"id": "x"}]', "not of this study"), ("no", "records.json")]:
        path.write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            argilla.read(study, path)
    records[0]["responses"] = {"R": [{"value": "many", "user_id": "u1"}]}
    path.write_text(json.dumps(records), encoding="utf-8")
    with pytest.raises(InputError, match="Argilla's form"):
        argilla.read(study, path)


# INCEpTION

RECORD = {
    "id": "report 1",
    "text": "😀 No lymphovascular invasion. CD30 positive.",
    "entities": [
        {"start": 5, "end": 28, "type": "finding", "assertion": "absent", "concept": None},
        {"start": 30, "end": 34, "type": "marker", "assertion": "present", "concept": {"id": "X:1"}},
        {"start": 35, "end": 43, "type": "modifier", "assertion": "present", "concept": None},
    ],
    "relations": [{"head": 1, "tail": 2, "type": "marker-modifier"}],
}


def test_entities_survive_the_way_to_inception_and_back(tmp_path):
    pytest.importorskip("cassis")
    from medassay.human import inception

    assert inception.write([RECORD], tmp_path / "out") == 1
    (back,) = inception.read(tmp_path / "out")
    assert back["id"] == "report 1" and back["text"] == RECORD["text"]
    assert [(e["start"], e["end"], e["type"], e["assertion"]) for e in back["entities"]] == [
        (5, 28, "finding", "absent"), (30, 34, "marker", "present"), (35, 43, "modifier", "present"),
    ]  # fmt: skip
    assert [e["text"] for e in back["entities"]][1] == "CD30"
    assert back["relations"] == [{"head": 1, "tail": 2, "type": "marker-modifier", "score": None}]


def test_a_zip_export_and_json_are_read_too(tmp_path):
    cassis = pytest.importorskip("cassis")
    from medassay.human import inception

    inception.write([RECORD], tmp_path / "out")
    xmi = next((tmp_path / "out").glob("*.xmi"))
    with zipfile.ZipFile(tmp_path / "inner.zip", "w") as inner:
        inner.write(xmi, "report.xmi")
        inner.write(tmp_path / "out" / "TypeSystem.xml", "TypeSystem.xml")
    with zipfile.ZipFile(tmp_path / "project.zip", "w") as outer:
        outer.write(tmp_path / "inner.zip", "annotation/report.txt/anna.zip")
    assert len(inception.read(tmp_path / "project.zip")[0]["entities"]) == 3
    types = cassis.load_typesystem((tmp_path / "out" / "TypeSystem.xml").open("rb"))
    cas = cassis.load_cas_from_xmi(xmi.open("rb"), typesystem=types)
    (tmp_path / "report.json").write_text(cas.to_json(), encoding="utf-8")
    assert inception.read(tmp_path / "report.json")[0]["entities"][1]["text"] == "CD30"


def test_a_broken_cas_is_named(tmp_path):
    pytest.importorskip("cassis")
    from medassay.human import inception

    (tmp_path / "x.xmi").write_text("<oops", encoding="utf-8")
    with pytest.raises(InputError, match="TypeSystem"):
        inception.read(tmp_path / "x.xmi")
    (tmp_path / "y.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="not a readable UIMA CAS"):
        inception.read(tmp_path / "y.json")
    with pytest.raises(InputError, match="no such file"):
        inception.read(tmp_path / "none.xmi")


# Lead-3


def test_lead_takes_the_first_sentences_as_they_stand():
    text = "BP 120/80. He takes 1.5 mg daily.\nHe is well. Return in May."
    assert lead(text) == "BP 120/80. He takes 1.5 mg daily.\nHe is well."
    assert lead(text, 1) == "BP 120/80."
    assert lead("Short.") == "Short." and lead("") == ""


def test_one_baseline_text_a_case_with_or_without_candidates(tmp_path):
    path = tmp_path / "cases.csv"
    path.write_text(
        "id,system,candidate,reference,source\n1,a,x,r,One. Two. Three. Four.\n1,b,y,r,One. Two. Three. Four.\n"
    )
    rows = list(lead_rows(read_sources(str(path), {}), "cases.csv"))
    assert [(r["id"], r["system"], r["candidate"]) for r in rows] == [("1", "lead3", "One. Two. Three.")]
    path.write_text("id,report,reference\n1,One. Two. Three. Four.,r\n")
    rows = list(lead_rows(read_sources(str(path), {"source": "report"}), "cases.csv", 2, "lead2"))
    assert rows[0]["candidate"] == "One. Two." and rows[0]["source"] == "One. Two. Three. Four."
    path.write_text("id,candidate,source\n1,x,\n")
    with pytest.raises(InputError, match="'source' is empty"):
        list(lead_rows(read_cases(path), "cases.csv"))
