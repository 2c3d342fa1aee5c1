"""Studies to Label Studio and INCEpTION, and back."""

from __future__ import annotations

import csv
import json
import shutil

import pytest
from tests.commands.studies import TUTORIAL


def test_to_label_studio_and_back(command, tmp_path):
    shutil.copy(TUTORIAL / "notes.csv", tmp_path / "notes.csv")
    command(
        "annotate", "new", "study.yaml", "--cases", "notes.csv", "--annotators", "anna", "--protocol", "expert-scale"
    )
    command("annotate", "label-studio-write", "study.yaml", "ls")
    tasks = json.loads((tmp_path / "ls" / "tasks.json").read_text(encoding="utf-8"))
    choice = {"from_name": "q_1_expert_score", "id": "x", "type": "choices", "value": {"choices": ["4"]}}
    tasks[0]["annotations"] = [{"completed_by": 1, "result": [choice]}]
    (tmp_path / "done.json").write_text(json.dumps(tasks), encoding="utf-8")
    command("annotate", "label-studio-read", "study.yaml", "done.json", "--out", "ratings.csv")
    scores = [row["expert_score"] for row in csv.DictReader((tmp_path / "ratings.csv").open())]
    assert sorted(scores) == ["", "4"]


def test_to_inception_and_back(command, tmp_path):
    pytest.importorskip("cassis")
    record = {
        "id": "1",
        "text": "No tumour.",
        "entities": [{"start": 3, "end": 9, "type": "diagnosis"}],
        "relations": [],
    }
    (tmp_path / "x.jsonl").write_text(json.dumps(record), encoding="utf-8")
    command("annotate", "inception-write", "x.jsonl", "folder")
    command("annotate", "inception-read", "folder", "--out", "back.jsonl")
    back = json.loads((tmp_path / "back.jsonl").read_text(encoding="utf-8"))
    assert back["entities"][0]["text"] == "tumour"
