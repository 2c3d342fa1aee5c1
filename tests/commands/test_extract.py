"""`medassay extract`: whole files, rows with problems, resuming."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from medassay.commands.extract import Extraction
from medassay.language import graph
from medassay.language.graph import Entity, Report

ADENOMA = "Colon, biopsy; Tubular adenoma, low grade."


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Reads the word `adenoma` as a diagnosis, and notes which texts were read."""
    read: list[str] = []

    def reports(texts: Sequence[str], models: str = "embedded") -> list[Report]:
        read.extend(texts)
        made = []
        for text in texts:
            at = text.find("adenoma")
            found = (Entity(at, at + 7, "adenoma", "diagnosis", "present", 0.9, None),) if at >= 0 else ()
            made.append(Report(text, found, ()))
        return made

    monkeypatch.setattr(graph, "read_reports", reports)
    return read


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.usefixtures("reader")
def test_a_record_a_row_in_the_stated_form(tmp_path: Path) -> None:
    cases = write(tmp_path / "c.jsonl", [{"id": "a", "candidate": ADENOMA, "system": "S"}, {"candidate": "Colon."}])
    assert Extraction(str(cases), out=tmp_path / "e.jsonl").run() == []
    first, second = lines(tmp_path / "e.jsonl")
    assert list(first) == ["id", "system", "text", "entities", "relations"]
    assert (first["id"], first["system"], first["text"]) == ("a", "S", ADENOMA)
    assert list(first["entities"][0]) == ["start", "end", "text", "type", "assertion", "score", "concept"]
    assert ADENOMA[first["entities"][0]["start"] : first["entities"][0]["end"]] == "adenoma"
    assert list(second) == ["id", "text", "entities", "relations"]


@pytest.mark.parametrize(
    ("column", "columns"),
    [("reference", {}), ("report", {}), ("reference", {"reference": "report"}), ("candidate", {"candidate": "report"})],
)
@pytest.mark.usefixtures("reader")
def test_any_column_can_be_read(tmp_path: Path, column: str, columns: dict[str, str]) -> None:
    texts = {"candidate": "Lung.", "reference": ADENOMA, "report": ADENOMA}
    cases = write(tmp_path / "c.jsonl", [{"id": "a", **texts}])
    Extraction(str(cases), column, columns, out=tmp_path / "e.jsonl").run()
    assert lines(tmp_path / "e.jsonl")[0]["text"] == ADENOMA


ROWS = [
    {"id": "1", "candidate": ADENOMA},
    {"id": "2", "candidate": " "},
    {"id": "3", "candidate": "Adenokarzinom der Lunge mit Nekrose, kein Nachweis von Metastasen."},
    {"id": "4", "candidate": "Gross: [describe]\nDiagnosis: [insert diagnosis]"},
    {"id": "1", "candidate": ADENOMA},
    {"id": "6", "candidate": ADENOMA},
]


@pytest.mark.usefixtures("reader")
def test_rows_with_problems_are_named_and_the_others_kept(tmp_path: Path, medassay: Callable[..., Any]) -> None:
    cases = write(tmp_path / "c.jsonl", ROWS)
    ran = medassay("extract", cases, "--out", tmp_path / "e.jsonl", "--html", tmp_path / "e.html")
    assert ran.code == 1
    assert [record["id"] for record in lines(tmp_path / "e.jsonl")] == ["1", "6"]
    assert "row 2: column 'candidate' is empty" in ran.err
    assert "row 3: column 'candidate' is not English" in ran.err
    assert "row 4: column 'candidate' is only a template" in ran.err
    assert "row 5: id '1' already stands in row 1" in ran.err
    assert (tmp_path / "e.html").read_text(encoding="utf-8").count("<article") == 2


@pytest.mark.usefixtures("reader")
def test_without_a_file_the_lines_go_to_standard_output(tmp_path: Path, medassay: Callable[..., Any]) -> None:
    ran = medassay("extract", write(tmp_path / "c.jsonl", ROWS[:1]))
    assert ran.code == 0
    assert json.loads(ran.out)["id"] == "1"
    assert ran.err == ""


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--column", "rapport"], "no column 'rapport'"),
        (["--out", "nowhere/e.jsonl"], "does not exist; create it first"),
        (["--out", "c.jsonl"], "is the input itself"),
        (["--out", "e", "--html", "e"], "cannot be one file"),
        (["--strict"], "row 2: column 'candidate' is empty"),
    ],
)
def test_what_stops_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, medassay: Callable[..., Any], arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "c.jsonl", ROWS)
    ran = medassay("extract", "c.jsonl", *arguments)
    assert ran.code == 2
    assert said in ran.err
    assert lines(tmp_path / "c.jsonl") == ROWS


@pytest.mark.usefixtures("reader")
def test_nothing_is_left_where_no_row_can_be_read(tmp_path: Path, medassay: Callable[..., Any]) -> None:
    cases = write(tmp_path / "c.jsonl", ROWS[1:2])
    ran = medassay("extract", cases, "--out", tmp_path / "e.jsonl")
    assert ran.code == 2
    assert "no usable row" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["c.jsonl"]


def test_an_interrupted_run_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: list[str]
) -> None:
    rows = [{"id": str(i), "candidate": f"Tubular adenoma {i}"} for i in range(200)]
    cases = write(tmp_path / "c.jsonl", rows)
    whole = tmp_path / "whole.jsonl"
    Extraction(str(cases), out=whole).run()
    reading = graph.read_reports

    def stops(texts: Sequence[str], models: str = "embedded") -> list[Report]:
        if "Tubular adenoma 130" in texts:
            raise KeyboardInterrupt
        return reading(texts, models)

    monkeypatch.setattr(graph, "read_reports", stops)
    out = tmp_path / "e.jsonl"
    with pytest.raises(KeyboardInterrupt):
        Extraction(str(cases), out=out).run()
    assert not out.exists()
    monkeypatch.setattr(graph, "read_reports", reading)
    reader.clear()
    Extraction(str(cases), out=out).run()
    assert out.read_bytes() == whole.read_bytes()
    assert len(reader) == 200 - 128  # two batches of 64 were done
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.jsonl", "e.jsonl", "whole.jsonl"]


def test_records_of_other_texts_are_read_again(tmp_path: Path, reader: list[str]) -> None:
    cases = write(tmp_path / "c.jsonl", [{"id": "1", "candidate": ADENOMA}])
    job = Extraction(str(cases), out=tmp_path / "e.jsonl")
    old = {"id": "1", "text": "another text", "entities": [], "relations": []}
    write(job.unfinished_files(tmp_path / "e.jsonl")[0], [old])
    job.run()
    assert reader == [ADENOMA]
    assert lines(tmp_path / "e.jsonl")[0]["text"] == ADENOMA


@pytest.mark.usefixtures("reader")
def test_a_link_is_followed_and_a_device_written_to(tmp_path: Path) -> None:
    cases = write(tmp_path / "c.jsonl", [{"id": "1", "candidate": ADENOMA}])
    (tmp_path / "link.jsonl").symlink_to("real.jsonl")
    Extraction(str(cases), out=tmp_path / "link.jsonl").run()
    assert (tmp_path / "link.jsonl").is_symlink() and lines(tmp_path / "real.jsonl")[0]["id"] == "1"
    Extraction(str(cases), out=Path("/dev/null")).run()
    assert not Path("/dev/null").is_file()
