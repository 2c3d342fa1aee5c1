"""`medassay annotate` and `medassay baseline` on the command line, and the tutorial from end to end."""

from __future__ import annotations

import csv
import re
import shutil
import socket
from pathlib import Path

import pytest
from tests.commands.studies import TUTORIAL, new_study

from medassay.errors import InputError, UnknownName
from medassay.human.store import NewEvent, Store
from medassay.human.study import load_study


def annotate_as_in(table: Path, study: Path) -> None:
    """Three made-up people give the tutorial's answers."""
    store = Store(load_study(study))
    ratings = {(r["id"], r["system"], r["annotator"]): r for r in csv.DictReader(table.open(encoding="utf-8"))}
    for task in store.tasks():
        for slot, item in enumerate(task.candidates, 1):
            row = ratings.get((task.unit.case_id, item.system, task.annotator))
            given = row or {"R": 4, "G": 4, "RG": 4, "C": 3, "coherence": 1}
            for question in ("R", "G", "RG", "C", "coherence"):
                value = float(given[question])
                where = "case" if question == "R" else str(slot)
                payload = {"slot": where, "question": question, "value": int(value) if value % 1 == 0 else value}
                store.append(task.id, task.annotator, NewEvent(f"{task.id}-{slot}-{question}", "set", payload))
        store.append(task.id, task.annotator, NewEvent(f"{task.id}-done", "done", {}))
    store.close()


def is_shown(block: str, output: str) -> bool:
    """Whether every line of a block of the tutorial begins a line of the output, whatever the spaces."""
    lines = [" ".join(line.split()) for line in output.splitlines()]
    wanted = [" ".join(line.removesuffix("…").split()) for line in block.splitlines()]
    return all(any(line.startswith(start) for line in lines) for start in wanted)


def tutorial_block(start: str) -> str:
    page = (TUTORIAL.parent / "tutorial.md").read_text(encoding="utf-8")
    (block,) = re.findall(rf"^```\n({start}.*?)^```", page, re.S | re.M)
    return str(block)


def test_the_tutorial_from_a_csv_to_a_published_style_table(command, tmp_path):
    shutil.copy(TUTORIAL / "notes.csv", tmp_path / "notes.csv")
    assert "6 baseline texts" in command("baseline", "lead3", "notes.csv", "--keep", "--out", "texts.csv")
    made = command("annotate", "new", "study.yaml", "--cases", "texts.csv", "--annotators", "anna,ben,chi")
    assert "6 cases, 18 texts" in made and "medassay annotate serve study.yaml" in made
    with pytest.raises(InputError, match="no task is finished"):
        command("annotate", "agreement", "study.yaml")
    annotate_as_in(TUTORIAL / "ratings.csv", tmp_path / "study.yaml")

    shown = command("annotate", "agreement", "study.yaml", "--out", "agreement.csv", "--report", "people.html")
    alpha = {row["column"]: float(row["alpha"]) for row in csv.DictReader((tmp_path / "agreement.csv").open())}
    assert alpha["G"] < 0.5 < 0.8 < alpha["f_score"]
    assert is_shown(tutorial_block("Agreement"), shown)
    assert re.search(r"lead3\s+precision\s+0\.\d\d\s+0\.\d\d\s+0\.\d\d\s+0\.\d\d", shown)
    assert "Means by system" in (tmp_path / "people.html").read_text(encoding="utf-8")

    command("annotate", "export", "study.yaml", "--out", "human.csv")
    with (tmp_path / "human.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 18 and all(row["annotators"] == "3" and row["f_score"] for row in rows)
    command("annotate", "export", "study.yaml", "--out", "each.jsonl", "--what", "annotators")
    assert len((tmp_path / "each.jsonl").read_text(encoding="utf-8").splitlines()) == 54
    command("annotate", "export", "study.yaml", "--out", "events.jsonl", "--what", "events")
    assert "0 problems" in command("annotate", "check", "study.yaml")


def test_export_goes_straight_into_scoring(command, medassay, tmp_path):
    shutil.copy(TUTORIAL / "notes.csv", tmp_path / "notes.csv")
    command("baseline", "lead3", "notes.csv", "--keep", "--out", "texts.csv")
    command("annotate", "new", "study.yaml", "--cases", "texts.csv", "--annotators", "anna,ben,chi", "--no-training")
    annotate_as_in(TUTORIAL / "ratings.csv", tmp_path / "study.yaml")
    command("annotate", "export", "study.yaml", "--out", "human.csv")
    assert medassay("score", "human.csv", "--metrics", "rouge1", "--out", "scores.csv", "--no-store").code == 0
    with (tmp_path / "scores.csv").open(encoding="utf-8") as stream:
        row = next(csv.DictReader(stream))
    assert row["f_score"] and row["rouge1"]
    ran = medassay(
        "validate", "human.csv", "--human", "recall", "--metrics", "rouge1,rougeL,bleu", "--out", "study.csv"
    )
    assert ran.code == 0 and is_shown(tutorial_block("recall"), ran.out)
    assert "rougeL" in (tmp_path / "study.csv").read_text(encoding="utf-8")


def test_a_table_of_raw_counts_needs_no_study(command):
    shown = command("annotate", "agreement", str(TUTORIAL / "ratings.csv"), "--protocol", "fact-counting")
    assert "Agreement on raw answers" in shown and "anna–ben" in shown
    with pytest.raises(InputError, match="needs --protocol"):
        command("annotate", "agreement", str(TUTORIAL / "ratings.csv"))


def test_a_study_file_is_not_overwritten_and_a_bad_one_not_left(command, tmp_path):
    shutil.copy(TUTORIAL / "notes.csv", tmp_path / "notes.csv")
    words = ["annotate", "new", "study.yaml", "--cases", "notes.csv", "--annotators", "anna,ben"]
    with pytest.raises(UnknownName, match="did you mean 'key-phrases'"):
        command(*words, "--protocol", "key-phrase")
    assert not (tmp_path / "study.yaml").exists()
    command(*words, "--per-case", "1", "--protocol", "key-phrases")
    with pytest.raises(InputError, match="is there already"):
        command(*words)


def test_serving_to_others_insists_on_a_secret(command, tmp_path, monkeypatch):
    shutil.copy(TUTORIAL / "notes.csv", tmp_path / "notes.csv")
    command("annotate", "new", "study.yaml", "--cases", "notes.csv", "--annotators", "anna,ben")
    with pytest.raises(InputError, match="--secret-file"):
        command("annotate", "serve", "study.yaml", "--host", "0.0.0.0")
    (tmp_path / "secret").write_text("short", encoding="utf-8")
    monkeypatch.setattr("medassay.console.check_port", lambda host, port: None)  # the address is not this machine's
    with pytest.raises(InputError, match="at least 16"):
        command("annotate", "serve", "study.yaml", "--host", "192.0.2.7", "--secret-file", "secret")
    served = []
    monkeypatch.setattr("medassay.human.web.app.serve", lambda app, host, port, proxy: served.append((host, port)))
    monkeypatch.setattr("medassay.console.check_port", lambda host, port: None)
    monkeypatch.setenv("MEDASSAY_SECRET", "correct horse battery")
    with pytest.raises(InputError, match="--public-url"):
        command("annotate", "serve", "study.yaml", "--host", "0.0.0.0")
    shown = command("annotate", "serve", "study.yaml", "--host", "192.0.2.7")
    links = tmp_path / "study.links"
    assert served == [("192.0.2.7", 8765)] and "sign in with the secret" in links.read_text(encoding="utf-8")
    assert "travel unencrypted" in shown
    quiet = command("annotate", "serve", "study.yaml", "--public-url", "https://study.example.org")
    assert "unencrypted" not in quiet
    assert "https://study.example.org/enter/" in links.read_text(encoding="utf-8")
    assert "/enter/" not in shown + quiet, "links are not for service logs"
    assert links.stat().st_mode & 0o077 == 0


def test_exports_are_for_their_owner_only(command, tmp_path):
    new_study(command, tmp_path, "--no-training")
    (tmp_path / "events.jsonl").write_text("old", encoding="utf-8")
    (tmp_path / "events.jsonl").chmod(0o644)
    command("annotate", "export", "study.yaml", "--out", "events.jsonl", "--what", "events")
    command("annotate", "export", "study.yaml", "--out", "marks.csv", "--what", "highlights")
    command("annotate", "argilla-write", "study.yaml", "ds")
    for name in ("events.jsonl", "marks.csv", "ds/records.json", "study.key", "study.begun", "study.db"):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0, name


def test_a_port_that_is_taken_is_named(command, tmp_path):
    shutil.copy(TUTORIAL / "notes.csv", tmp_path / "notes.csv")
    command("annotate", "new", "study.yaml", "--cases", "notes.csv", "--annotators", "anna")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="choose another --port"):
            command("annotate", "serve", "study.yaml", "--port", str(taken.getsockname()[1]))
