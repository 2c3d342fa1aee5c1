"""Argilla datasets: written blinded, and responses read back."""

from __future__ import annotations

import json

import pytest

from medassay.errors import InputError
from medassay.human import argilla
from medassay.human.protocols import PROTOCOLS


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
