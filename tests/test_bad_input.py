"""Every way in which a case file can be wrong: the message, the exit code, and the good rows' results.

Exit codes: 0 all well; 1 some rows had problems, the others' results are kept; 2 nothing was made.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path

import polars
import pytest

from medassay.records import MAX_CELL

GOOD = [b"a,No tumour.,No tumour seen.", b"b,Adenoma.,Tubular adenoma."]
HEADER = b"id,candidate,reference"


def bad(row: bytes) -> bytes:
    """A file of two good rows with a bad one between them, in row 3."""
    return b"\n".join([HEADER, GOOD[0], row, GOOD[1]]) + b"\n"


def ids(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as stream:
        return [row["id"] for row in csv.DictReader(stream)]


ROW_PROBLEMS = [
    pytest.param(b"c,only two", "row 3: 2 cells where the header has 3 columns", id="ragged, short"),
    pytest.param(b"c,x,y,z", "row 3: 4 cells where the header has 3 columns", id="ragged, long"),
    pytest.param("c,Tumör,y".encode("latin-1"), "row 3: column 'candidate': not UTF-8", id="latin-1"),
    pytest.param("c,x,früh".encode("latin-1"), "row 3: column 'reference': not UTF-8", id="latin-1 reference"),
    pytest.param(b"a,x,y", "row 3: id 'a' already stands in row 2", id="duplicate id"),
    pytest.param(b"c," + b"x" * 5_000_000 + b",y", "row 3: column 'candidate': 5,000,000 characters", id="5 MB cell"),
    pytest.param(b"c," + b"x" * (2 * MAX_CELL + 1) + b",y", "row 3: cannot be parsed", id="cell beyond the parser"),
]


@pytest.mark.parametrize(("row", "message"), ROW_PROBLEMS)
def test_a_bad_row_is_named_and_the_others_are_kept(
    tmp_path: Path, medassay: Callable, row: bytes, message: str
) -> None:
    cases, out = tmp_path / "cases.csv", tmp_path / "scores.csv"
    cases.write_bytes(bad(row))
    ran = medassay("score", cases, "--metrics", "rouge1", "--out", out)
    assert ran.code == 1
    assert f"{cases}, {message}" in ran.err
    assert ids(out) == ["a", "b"]
    (kept,) = json.loads((tmp_path / "scores.csv.meta.json").read_text())["problems"]
    assert kept.startswith(message)


@pytest.mark.parametrize(("row", "message"), ROW_PROBLEMS)
def test_strict_stops_at_it(tmp_path: Path, medassay: Callable, row: bytes, message: str) -> None:
    cases, out = tmp_path / "cases.csv", tmp_path / "scores.csv"
    cases.write_bytes(bad(row))
    ran = medassay("score", cases, "--metrics", "rouge1", "--out", out, "--strict")
    assert ran.code == 2
    assert f"{cases}, {message}" in ran.err
    assert not out.exists()


@pytest.mark.parametrize("cell", [b"", b'" \t "', b'"\n"', b"\0", b'" \x07 "'])
def test_an_empty_candidate_is_unscored_and_stays_in_the_file(tmp_path: Path, medassay: Callable, cell: bytes) -> None:
    cases, out = tmp_path / "cases.csv", tmp_path / "scores.csv"
    cases.write_bytes(bad(b"c," + cell + b",y"))
    ran = medassay("score", cases, "--metrics", "rouge1", "--out", out)
    assert ran.code == 1
    assert "row 3: column 'candidate' is empty; the case is unscored" in ran.err
    with out.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["id"], bool(row["rouge1"]), row["rouge1.unscored"]) for row in rows] == [
        ("a", True, ""),
        ("c", False, "empty candidate"),
        ("b", True, ""),
    ]
    assert medassay("score", cases, "--metrics", "rouge1", "--strict").code == 2


def test_an_empty_reference_is_unscored(tmp_path: Path, medassay: Callable) -> None:
    cases, out = tmp_path / "cases.csv", tmp_path / "scores.jsonl"
    cases.write_bytes(bad(b"c,x, "))
    assert medassay("score", cases, "--metrics", "rouge1", "--out", out).code == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["rouge1.unscored"] for row in rows] == [None, "no reference", None]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no rows; it needs a header and at least one case"),
        (b"id,candidate\n", "no rows; it needs a header and at least one case"),
        (b"\n\n", "no rows"),
        (b"id,canddate\n1,x\n", "no column 'candidate'; did you mean 'canddate'?; name yours with --map"),
        (b"id,text\n1\n1,x\n", "Columns found: id, text"),
        (b"id;candidate;reference\n1;x;y\n", "semicolons"),
        (b"id,candidate,candidate\n1,x,y\n", "row 1: column 'candidate' stands twice"),
        ("id,candidate\n1,x\n".encode("utf-16"), "row 1: the header is not UTF-8 (UTF-16"),
        (b"id,candidate\n1\n2\n", "no usable row. First problem: row 2: 1 cells"),
    ],
)
def test_a_file_that_is_wrong_as_a_whole(tmp_path: Path, medassay: Callable, content: bytes, message: str) -> None:
    cases, out = tmp_path / "cases.csv", tmp_path / "scores.csv"
    cases.write_bytes(content)
    ran = medassay("score", cases, "--metrics", "rouge1", "--out", out)
    assert ran.code == 2
    assert str(cases) in ran.err
    assert message in ran.err
    assert sorted(p.name for p in tmp_path.iterdir() if "resume" not in p.name) == ["cases.csv"]


def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path: Path, medassay: Callable) -> None:
    cases = tmp_path / "cases.csv"
    cases.write_bytes(b"\xef\xbb\xbf" + b"candidate,reference\nx,y\n")
    assert medassay("score", cases, "--metrics", "rouge1").code == 0


def test_nul_and_control_characters_neither_stop_the_run_nor_reach_the_terminal(
    tmp_path: Path, medassay: Callable
) -> None:
    cases, out = tmp_path / "cases.csv", tmp_path / "scores.csv"
    cases.write_bytes(
        b"id,candidate,reference,system\n"
        b"a\x1b[31m,No\0 tumour\x1b[2J.,No tumour.,\x1b]0;x\x07\n"
        b"a\x1b[31m,x,y,\x1b]0;x\x07\n"
    )
    ran = medassay("score", cases, "--metrics", "rouge1", "--out", out)
    assert ran.code == 1
    assert "\x1b" not in ran.out + ran.err
    assert "row 3: id 'a" in ran.err
    assert "\x1b" not in out.read_text(encoding="utf-8")
    with out.open(encoding="utf-8", newline="") as stream:
        assert float(next(csv.DictReader(stream))["rouge1"]) > 0.5


@pytest.mark.parametrize("damage", ["cut", "foreign", "empty"])
def test_a_parquet_file_that_cannot_be_read(tmp_path: Path, medassay: Callable, damage: str) -> None:
    cases = tmp_path / "cases.parquet"
    polars.DataFrame({"candidate": ["x"] * 1000}).write_parquet(cases)
    whole = cases.read_bytes()
    cases.write_bytes({"cut": whole[: len(whole) // 2], "foreign": b"candidate\nx\n" * 9, "empty": b""}[damage])
    ran = medassay("score", cases, "--metrics", "rouge1")
    assert ran.code == 2
    assert f"{cases}: not a readable Parquet file" in ran.err
    assert "was the download cut short?" in ran.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"candidate": "x"', "row 2: not JSON"),
        ("[1, 2]", "row 2: expected an object, found list"),
        ('{"candidate": {"a": 1}}', "row 2: column 'candidate': expected text, found dict"),
        ('{"candidate": ["x"]}', "row 2: column 'candidate': expected text, found list"),
        ('{"reference": "x"}', "row 2: no column 'candidate'"),
        ('{"candidate": "x", "reference": [1, {}]}', "row 2: column 'reference': expected text, found dict"),
        ("[" * 100_000, "row 2: not JSON"),
    ],
)
def test_json_lines(tmp_path: Path, medassay: Callable, line: str, message: str) -> None:
    cases, out = tmp_path / "cases.jsonl", tmp_path / "scores.csv"
    good = '{{"id": "{}", "candidate": "No tumour.", "reference": "No tumour seen."}}'
    cases.write_text("\n".join([good.format("a"), line, good.format("b")]))
    ran = medassay("score", cases, "--metrics", "rouge1", "--out", out)
    assert ran.code == 1
    assert message in ran.err
    assert ids(out) == ["a", "b"]


def test_lone_surrogates_are_replaced_everywhere(tmp_path: Path, medassay: Callable) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text(
        '{"id": "\\ud800", "system": "\\udfff", "candidate": "x \\udc80", "reference": "x \\ud83d", '
        '"k\\ud800": "v\\ud800", "n": ["\\ud800"]}\n'
    )
    for suffix in ("csv", "jsonl", "parquet"):
        assert medassay("score", cases, "--metrics", "rouge1,chrf", "--out", tmp_path / f"s.{suffix}").code == 0
    assert "�,�,v�" in (tmp_path / "s.csv").read_text(encoding="utf-8")
    assert medassay("score", cases, "--metrics", "rouge1", "--report", tmp_path / "r.html").code == 0


def test_markup_in_reports_is_text(tmp_path: Path, medassay: Callable) -> None:
    attack = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    cases, page = tmp_path / "cases.csv", tmp_path / "report.html"
    with cases.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["id", "system", "candidate", "reference", attack], [attack] * 5])
    ran = medassay("score", cases, "--metrics", "rouge1", "--report", page, "--out", tmp_path / "s.csv")
    assert ran.code == 0
    html = page.read_text(encoding="utf-8")
    assert "<script>alert" not in html
    assert "<img src=x" not in html


def test_markup_of_the_terminal_is_text(tmp_path: Path, medassay: Callable) -> None:
    cases = tmp_path / "cases.csv"
    cases.write_text("candidate,reference,system\nx,y,[bold red]one[/]\nx,y,[/nonsense]\n")
    ran = medassay("score", cases, "--metrics", "rouge1")
    assert ran.code == 0
    assert "[/nonsense]" in ran.out


def test_formulas_are_disarmed_in_csv_alone(tmp_path: Path, medassay: Callable) -> None:
    cases = tmp_path / "cases.csv"
    cases.write_text("candidate,reference,note\nx,y,=cmd|' /C calc'!A0\n")
    for suffix, written in ((".csv", "'=cmd|' /C calc'!A0"), (".tsv", "'=cmd|' /C calc'!A0"), (".jsonl", '"=cmd|')):
        out = tmp_path / f"s{suffix}"
        assert medassay("score", cases, "--metrics", "rouge1", "--out", out).code == 0
        assert written in out.read_text()


def test_unknown_names(tmp_path: Path, medassay: Callable) -> None:
    cases = tmp_path / "cases.csv"
    cases.write_text("candidate,reference\nx,y\n")
    for arguments, message in (
        (["--metrics", "rogue1"], "no metric 'rogue1'; did you mean 'rouge1'?"),
        (["--metrics", "rouge1(stm=yes)"], "metric 'rouge1' has no setting 'stm'; did you mean 'stem'?"),
        (["--metrics", "py:nowhere:f"], "'py:nowhere:f' cannot be imported"),
        (["--metrics", " , "], "no metric named"),
        (["--references", "worst"], "'worst' is not one of best, mean"),
        (["--map", "candidat=x"], "'candidat' is not a field of ours; did you mean 'candidate'?"),
        (["--map", "candidate"], "'candidate' is not ours=theirs"),
        (["--map", "candidate=tekst"], "no column 'tekst'"),
        (["--format", "xml"], "unknown format 'xml'"),
        (["--by", "wrad"], "no case has a value in column 'wrad'"),
        (["--nonsense"], "--nonsense"),
    ):
        ran = medassay("score", cases, *(["--metrics", "rouge1"] if "--metrics" not in arguments else []), *arguments)
        assert (ran.code, message in ran.err) == (2, True), (arguments, ran)
        assert "Traceback" not in ran.err


def test_paths_that_cannot_be_read_or_written(tmp_path: Path, medassay: Callable) -> None:
    cases = tmp_path / "cases.csv"
    cases.write_text("candidate,reference\nx,y\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    for arguments, message in (
        ([tmp_path / "absent.csv"], "absent.csv: no such file"),
        ([empty], "no case file in this folder"),
        ([tmp_path, "--out", tmp_path / "s.csv"], "would be read as a case file"),
        ([cases, "--out", tmp_path / "absent" / "s.csv"], "does not exist; create it first"),
        ([cases, "--report", tmp_path / "absent" / "r.html"], "does not exist; create it first"),
        ([cases, "--out", tmp_path], "is a folder; name a file in it"),
        ([cases, "--out", tmp_path / "s.xlsx"], "cannot write '.xlsx'"),
        ([cases, "--out", cases / "s.csv"], "does not exist; create it first"),
        ([cases, "--out", cases], "is the input itself"),
        ([cases, "--out", tmp_path / "s.csv", "--report", tmp_path / "s.csv"], "cannot be one file"),
    ):
        ran = medassay("score", *arguments, "--metrics", "rouge1")
        assert (ran.code, message in ran.err) == (2, True), (arguments, ran)
    assert cases.read_text() == "candidate,reference\nx,y\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path: Path, medassay: Callable) -> None:
    cases, locked = tmp_path / "cases.csv", tmp_path / "locked"
    cases.write_text("candidate,reference\nx,y\n")
    locked.mkdir(mode=0o500)
    for arguments in (["--out", locked / "s.csv"], ["--report", locked / "r.html", "--no-store"]):
        ran = medassay("score", cases, "--metrics", "rouge1", *arguments)
        assert ran.code == 2
        assert f"the folder {locked} cannot be written to; choose another" in ran.err


def test_many_problems_are_counted_not_poured_out(tmp_path: Path, medassay: Callable) -> None:
    cases, out = tmp_path / "cases.csv", tmp_path / "s.csv"
    cases.write_text("candidate,reference\nx,y\n" + "short\n" * 30)
    ran = medassay("score", cases, "--metrics", "rouge1", "--out", out)
    assert ran.code == 1
    assert "… and 22 more rows with problems" in ran.err
    assert len(json.loads((tmp_path / "s.csv.meta.json").read_text())["problems"]) == 30
