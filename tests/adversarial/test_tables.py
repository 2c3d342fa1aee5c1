"""Odd headers, keys, numbers and options: kept, or refused with a reason before anything is scored."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import polars
import pytest
from tests.adversarial.commands import read_csv, write_csv, write_inputs

from medassay.api import score
from medassay.cases import Case
from medassay.engine.score_table import read_scores
from medassay.metrics.base import Metric
from medassay.scores import Score

SUFFIXES = ("csv", "tsv", "jsonl", "parquet")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_inputs(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_any(path: Path) -> list[dict[str, object]]:
    if path.suffix == ".parquet":
        return polars.read_parquet(path).to_dicts()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    return polars.read_csv(path, separator="\t" if path.suffix == ".tsv" else ",").to_dicts()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_carried_columns_that_a_metric_writes_are_kept(folder: Path, medassay: Callable, suffix: str) -> None:
    names = ["rouge1", "rouge1.recall", "rouge1.unscored", "rouge1.failed", "reference_key", "file.rouge1", "plain"]
    write_csv(folder / "c.csv", [["candidate", "reference", *names], ["x", "x", *(f"v{k}" for k in range(len(names)))]])
    out = folder / f"s.{suffix}"
    assert medassay("score", "c.csv", "--metrics", "rouge1", "--resamples", 0, "--out", out).code == 0
    [row] = read_any(out)
    kept = {"file.file.rouge1": "v0", "file.rouge1.recall": "v1", "file.rouge1.unscored": "v2"}
    kept |= {"file.rouge1.failed": "v3", "file.reference_key": "v4", "file.rouge1": "v5", "plain": "v6"}
    assert {name: row[name] for name in kept} == kept
    assert row["rouge1"] == 1.0 and row["rouge1.recall"] == 1.0
    assert read_scores(out).metrics == ("rouge1",)


def test_a_scores_file_can_be_scored_again_and_again(folder: Path, medassay: Callable) -> None:
    write_csv(folder / "s0.csv", [["id", "candidate", "reference"], [1, "a b", "a c"]])
    for k in range(3):
        [row] = read_csv(folder / f"s{k}.csv")
        write_csv(
            folder / "in.csv", [[*row, *(("candidate", "reference") if k else ())], [*row.values(), "a b", "a c"]]
        )
        source = "s0.csv" if k == 0 else "in.csv"
        assert medassay("score", source, "--metrics", "rouge1", "--out", f"s{k + 1}.csv").code == 0
    [row] = read_csv(folder / "s3.csv")
    assert row["rouge1"] == row["file.rouge1"] == row["file.file.rouge1"] == "0.5"


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(("candidate", "reference"), [("Candidate ", "Reference"), ("CANDIDATE", "\ufeffreference")])
def test_a_header_in_another_case_is_understood(
    folder: Path, medassay: Callable, suffix: str, candidate: str, reference: str
) -> None:
    path = folder / f"c.{suffix}"
    rows = [{"ID": k, candidate: "a b", reference: "a b", " System ": "s", "Note": "n"} for k in range(3)]
    if suffix == "csv":
        write_csv(path, [list(rows[0]), *(list(row.values()) for row in rows)])
    elif suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        polars.DataFrame(rows).write_parquet(path)
    ran = medassay("score", path, "--metrics", "rouge1", "--resamples", 0, "--out", "s.csv")
    assert ran.code == 0, ran.err
    assert [(row["id"], row["system"], row["rouge1"], row["Note"]) for row in read_csv(folder / "s.csv")] == [
        (str(k), "s", "1.0", "n") for k in range(3)
    ]
    for command in (["stress", path, "--limit", 1, "--resamples", 0], ["extract", path, "--out", "e.jsonl"]):
        assert medassay(*command, *(["--metrics", "rouge1"] if command[0] == "stress" else [])).code == 0


def test_two_columns_that_could_both_be_the_reference_stop_the_run(folder: Path, medassay: Callable) -> None:
    write_csv(folder / "c.csv", [["candidate", "Reference", "REFERENCE"], ["x", "y", "z"]])
    ran = medassay("score", "c.csv", "--metrics", "rouge1")
    assert ran.code == 2 and "columns 'Reference' and 'REFERENCE' could both be 'reference'" in ran.err
    ran = medassay("score", "c.csv", "--metrics", "rouge1", "--map", "reference=Reference")
    assert ran.code == 0, ran.err


class Odd(Metric):
    """Gives parts and evidence that are no numbers."""

    name = "odd"
    parts = ("good", "none", "endless")
    needs = frozenset()
    summary = "odd"
    defined = "here"
    bounds = (None, None)

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        parts = {"good": 0.5, "none": math.nan, "endless": -math.inf}
        return [Score(1.0, parts=parts, evidence={"x": [math.nan, {"y": math.inf}]}) for _ in cases]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_parts_that_are_no_numbers_are_empty_cells(tmp_path: Path, suffix: str) -> None:
    result = score(["a", "b"], metrics=[Odd()])
    result.save(tmp_path / f"s.{suffix}")
    result.report(tmp_path / "r.html", resamples=0)  # raises where the data of the page would be no JSON
    if suffix == "jsonl":
        for line in (tmp_path / "s.jsonl").read_text().splitlines():
            json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    [row, _] = read_any(tmp_path / f"s.{suffix}")
    assert (row["odd"], row["odd.good"], row["odd.none"], row["odd.endless"]) == (1.0, 0.5, None, None)


def test_evidence_is_json_whatever_it_holds(folder: Path) -> None:
    from medassay.engine.sinks import EvidenceFile

    case = Case("1", "x")
    with EvidenceFile(folder / "e.jsonl") as sink:
        sink.add(case, {"odd": Odd().measure([case])[0]})
        sink.finish()
    text = (folder / "e.jsonl").read_text()
    record = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert record["odd"]["evidence"] == {"x": [None, {"y": None}]}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_whole_numbers_of_any_size_are_kept_exactly(folder: Path, medassay: Callable, suffix: str) -> None:
    large = [2**63 - 1, 2**63, -(2**63) - 1, 10**400]
    lines = [json.dumps({"candidate": "x", "reference": "x", "n": n, "mixed": n, "small": 1}) for n in large]
    lines.append('{"candidate": "x", "reference": "x", "n": null, "mixed": 0.5, "small": 2}')
    (folder / "c.jsonl").write_text("\n".join(lines))
    out = folder / f"s.{suffix}"
    ran = medassay("score", "c.jsonl", "--metrics", "rouge1", "--resamples", 0, "--out", out)
    assert ran.code == 0, ran.err
    rows = read_any(out) if suffix in ("jsonl", "parquet") else read_csv_with_tabs(out)
    assert [str(row["n"]) for row in rows[:4]] == [str(n) for n in large]
    assert [str(row["mixed"]) for row in rows] == [*map(str, large), "0.5"]
    if suffix == "parquet":
        assert [row["small"] for row in rows] == [1, 1, 1, 1, 2]


def read_csv_with_tabs(path: Path) -> list[dict[str, str]]:
    lines = [line.split("\t" if path.suffix == ".tsv" else ",") for line in path.read_text().splitlines()]
    return [dict(zip(lines[0], cells)) for cells in lines[1:]]


def test_a_key_that_stands_twice_is_named(folder: Path, medassay: Callable) -> None:
    good = '{"candidate": "x", "reference": "x"}'
    (folder / "c.jsonl").write_text(f'{good}\n{{"candidate": "x", "candidate" : "y"}}\n{good}\n')
    ran = medassay("score", "c.jsonl", "--metrics", "rouge1", "--out", "s.csv")
    assert ran.code == 1 and "row 2: column 'candidate': stands twice in the object; remove one" in ran.err
    assert len(read_csv(folder / "s.csv")) == 2


@pytest.mark.parametrize("marks", [1, 2, 3])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
def test_byte_order_marks_are_no_text(folder: Path, medassay: Callable, suffix: str, marks: int) -> None:
    separator = {"csv": ",", "tsv": "\t"}.get(suffix, "")
    lines = [["id", "candidate", "reference"], ["seven", "x", "x"]]
    text = '{"id": "seven", "candidate": "x", "reference": "x"}\n'
    text = text if suffix == "jsonl" else "".join(separator.join(line) + "\n" for line in lines)
    (folder / f"c.{suffix}").write_bytes(b"\xef\xbb\xbf" * marks + text.encode())
    ran = medassay("score", f"c.{suffix}", "--metrics", "rouge1", "--resamples", 0, "--out", "s.csv")
    assert ran.code == 0, ran.err
    assert [row["id"] for row in read_csv(folder / "s.csv")] == ["seven"]


def test_files_that_were_joined_with_their_headers(folder: Path, medassay: Callable) -> None:
    part = b"\xef\xbb\xbfid,candidate,reference\n%d,x,x\n"
    (folder / "c.csv").write_bytes(part % 1 + part % 2)
    ran = medassay("score", "c.csv", "--metrics", "rouge1", "--resamples", 0, "--out", "s.csv")
    assert ran.code == 1 and "row 3: repeats the header; were several files joined?" in ran.err
    assert [row["id"] for row in read_csv(folder / "s.csv")] == ["1", "2"]


BROKEN = """
def never(candidate, reference):
    raise SystemExit("scored, though a column is missing")
"""


@pytest.mark.parametrize("option", ["--by", "--cluster"])
@pytest.mark.parametrize("how", ["csv", "jsonl", "parquet", "folder", "stdin", "pipe"])
def test_columns_of_the_summary_are_looked_for_before_anything_is_scored(folder: Path, option: str, how: str) -> None:
    (folder / "unscored.py").write_text(BROKEN + "\n")
    rows = read_csv(folder / "cases.csv")
    name = "cases.csv"
    if how == "jsonl":
        (folder / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        name = "c.jsonl"
    elif how == "parquet":
        polars.DataFrame(rows).write_parquet(folder / "c.parquet")
        name = "c.parquet"
    elif how == "folder":
        (folder / "many").mkdir()
        (folder / "cases.csv").rename(folder / "many" / "cases.csv")
        name = "many"
    elif how == "pipe":
        os.mkfifo(folder / "pipe.csv")
        content = (folder / "cases.csv").read_bytes()
        threading.Thread(target=lambda: (folder / "pipe.csv").write_bytes(content), daemon=True).start()
        name = "pipe.csv"
    elif how == "stdin":
        name = "-"
    with (folder / "cases.csv").open() if how == "stdin" else Path(os.devnull).open() as stdin:
        ran = subprocess.run(
            [sys.executable, "-m", "medassay", "score", name, "--metrics", "py:unscored:never", option, "wrad"],
            capture_output=True,
            text=True,
            cwd=folder,
            stdin=stdin,
            timeout=60,
        )
    assert ran.returncode == 2, ran.stderr
    assert "no case has a value in column 'wrad'; did you mean 'ward'?" in ran.stderr
    assert "scored, though" not in ran.stderr


def test_a_column_that_only_a_later_row_has_is_enough(folder: Path, medassay: Callable) -> None:
    lines = [{"candidate": "x", "reference": "x"}] * 50 + [{"candidate": "x", "reference": "x", "ward": "a"}]
    (folder / "c.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert medassay("score", "c.jsonl", "--metrics", "rouge1", "--resamples", 0, "--by", "ward").code == 0


def test_human_columns_are_looked_for_before_cases_are_scored(folder: Path, medassay: Callable) -> None:
    (folder / "unscored.py").write_text(BROKEN)
    ran = medassay("validate", "cases.csv", "--human", "poeple", "--metrics", "py:unscored:never")
    assert ran.code == 2 and "no column 'poeple'; did you mean 'people'?" in ran.err
    ran = medassay("score", "cases.csv", "--metrics", "py:unscored:never", "--resamples", -1)
    assert ran.code == 2 and "resamples must be 0 or more" in ran.err


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_hundred_thousand_columns(folder: Path, medassay: Callable, suffix: str) -> None:
    columns = [f"column {k}" for k in range(100_000)]
    path = folder / f"wide.{suffix}"
    if suffix == "csv":
        write_csv(path, [["id", "candidate", "reference", *columns], *([k, "x", "x", *columns] for k in range(3))])
    else:
        row = {"candidate": "x", "reference": "x", **dict.fromkeys(columns, 1)}
        path.write_text("".join(json.dumps({"id": k, **row}) + "\n" for k in range(3)))
    started = time.monotonic()
    ran = medassay("score", path, "--metrics", "rouge1", "--resamples", 0, "--out", f"s.{suffix}", "--workers", 0)
    assert ran.code == 0, ran.err
    ran = medassay("score", path, "--metrics", "rouge1", "--by", "colum 7", "--workers", 0)
    assert ran.code == 2 and "no case has a value in column 'colum 7'" in ran.err
    assert time.monotonic() - started < 30
    first = (folder / f"s.{suffix}").read_text().splitlines()[0]
    assert first.count("column ") == 100_000
