"""The scores file: columns, formats, and cells that a spreadsheet must not run."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars
import pytest

from medassay import __version__
from medassay.api import score
from medassay.cases import Case
from medassay.engine.scores_file import FlatRecords, ScoresFile
from medassay.errors import InputError, MedassayError
from medassay.files import OutputFile, guard
from medassay.metrics.base import Metric
from medassay.result import Result
from medassay.scores import Score


class Length(Metric):
    """Characters, with one part; refuses long texts."""

    name = "length"
    summary = "characters"
    defined = "here"
    needs = frozenset({"candidate"})
    parts = ("half",)
    bounds = (0.0, None)

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return [
            Score.none("too long")
            if len(c.candidate) > 5
            else Score(len(c.candidate), parts={"half": len(c.candidate) / 2})
            for c in cases
        ]


CASES = [
    Case("a", "xy", ("r",), system="one", extra={"n": 1, "t": "=1+1"}, row=2),
    Case("b", "much too long", ("r",), system="two", extra={"n": 2, "t": "-0.5"}, row=3),
    Case("c", "", (), system="one", extra={"n": None, "t": "line\nbreak, comma"}, row=4),
]


def result(cases: Sequence[Case] = CASES) -> Result:
    return score(cases, metrics=[Length()])


def read(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if path.suffix == ".parquet":
        return polars.read_parquet(path).to_dicts()
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_text_formats(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"scores{suffix}"
    result().save(path)
    rows = read(path)
    key = CASES[0].digest(["reference"]).hex()[:12]
    columns = ["id", "system", "n", "t", "reference_key", "length", "length.half", "length.unscored", "length.failed"]
    assert [list(row) for row in rows] == [columns] * 3
    assert [list(row.values()) for row in rows] == [
        ["a", "one", "1", "'=1+1", key, "2", "1.0", "", ""],
        ["b", "two", "2", "-0.5", key, "", "", "too long", ""],
        ["c", "one", "", "line\nbreak, comma", "", "", "", "empty candidate", ""],
    ]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_typed_formats_keep_types_and_text_as_it_is(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"scores{suffix}"
    result().save(path)
    rows = read(path)
    assert [(row["n"], row["t"], row["length"], row["length.unscored"]) for row in rows] == [
        (1, "=1+1", 2.0, None),
        (2, "-0.5", None, "too long"),
        (None, "line\nbreak, comma", None, "empty candidate"),
    ]


def test_a_parquet_column_of_mixed_types_is_text(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    result([Case("a", "x", extra={"m": 1, "f": 1}), Case("b", "x", extra={"m": "one", "f": 2.5})]).save(path)
    assert [(row["m"], row["f"]) for row in read(path)] == [("1", 1.0), ("one", 2.5)]


def test_meta_names_what_made_the_numbers(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    result().save(path)
    meta = json.loads((tmp_path / "scores.csv.meta.json").read_text(encoding="utf-8"))
    assert meta["signatures"] == {"length": f"length|v:{__version__}"}
    assert meta["higher_is_better"] == {"length": True}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["scores.csv", "scores.csv.meta.json"]


@pytest.mark.parametrize(
    "cell", ["=cmd|' /C calc'!A0", "+1 mg", "-x", "@SUM(A1)", "\t=1", "\r=1", "=1", "-1+1", '=HYPERLINK("http://x")']
)
def test_guard_disarms(cell: str) -> None:
    assert guard(cell) == "'" + cell


@pytest.mark.parametrize("cell", ["", "x=1", "-0.5", "+3", "1e-9", "-.5", "-3 %".replace(" ", ""), "’=1"])
def test_guard_leaves_alone(cell: str) -> None:
    assert guard(cell) == cell


def test_formulas_in_ids_systems_headers_and_reasons(tmp_path: Path) -> None:
    class Failing(Length):
        def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
            return [Score.none("=reason") for _ in cases]

    path = tmp_path / "s.csv"
    score([Case("=id", "x", system="@system", extra={"+column": "="})], metrics=[Failing()]).save(path)
    assert path.read_text() == (
        "id,system,'+column,length,length.half,length.unscored,length.failed\n'=id,'@system,'=,,,'=reason,\n"
    )


def test_a_carried_column_never_hides_one_of_ours() -> None:
    record = FlatRecords([Length()])(
        Case("a", "xy", extra={"id": "theirs", "length": 9, "k": 1}), {"length": Score(2.0)}
    )
    assert record["id"] == "a"
    assert record["length"] == 2.0
    assert (record["file.id"], record["file.length"], record["k"]) == ("theirs", 9, 1)


def test_columns_that_come_late_stand_before_the_scores(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    result([Case("a", "x", extra={"k": "=1"}), Case("b", "xy", ("r",), system="s", extra={"late": "v"})]).save(path)
    first, second = read(path)
    ours = ["length", "length.half", "length.unscored", "length.failed"]
    assert list(first) == ["id", "k", "system", "late", "reference_key", *ours]
    assert (first["k"], first["late"], first["length"]) == ("'=1", "", "1")
    assert (second["k"], second["late"], second["system"], second["length"]) == ("", "v", "s", "2")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.csv", "s.csv.meta.json"]


def test_the_file_appears_only_when_whole(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("the old one")
    with pytest.raises(ZeroDivisionError), ScoresFile(path, [Length()]) as writer:
        writer.add(CASES[0], {"length": Score(1.0)})
        raise ZeroDivisionError
    assert path.read_text() == "the old one"
    assert [p.name for p in tmp_path.iterdir()] == ["s.csv"]


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write '\.xlsx'; use one of \.csv"):
        result().save(tmp_path / "s.xlsx")
    with pytest.raises(MedassayError, match="cannot be written"):
        result().save(tmp_path / "absent" / "s.csv")


def test_rows_of_one_shape_and_of_others_stand_under_their_columns(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    cases = [
        Case("a", "xx", ("r",), extra={"id": "1", "file.id": "2"}),
        Case("b", "xxx", ("r",), extra={"id": "3", "file.id": "4"}),
        Case("c", "x", extra={"k": "5"}),
        Case("d", "x", ("r",), extra={"k": "6"}, system="s"),
        Case("e", "x", ("r",), extra={"k": "7"}, system="s"),
    ]
    made = result(cases)
    made.save(path)
    with path.open(newline="") as stream:
        read = list(csv.DictReader(stream))
    wanted = [{k: "" if v is None else str(v) for k, v in row.items()} for row in made.rows()]
    assert [{name: row[name] for name in one} for row, one in zip(read, wanted)] == wanted


class Full(OutputFile):
    """A file on a disk that has no room left."""

    suffix = ""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        if not self.suffix:
            self.temporary.unlink()
        self.temporary.with_name(self.temporary.name + self.suffix).symlink_to("/dev/full")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(("name", "suffix"), [("s.csv", ""), ("s.parquet", ""), ("s.parquet", ".parquet")])
def test_a_full_disk_is_told_and_nothing_is_left(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, suffix: str
) -> None:
    monkeypatch.setattr("medassay.engine.scores_file.OutputFile", type("Full", (Full,), {"suffix": suffix}))
    many = [Case(f"c{i}", "x" * (i % 7)) for i in range(2000)]
    with pytest.raises((MedassayError, OSError), match="No space left on device"):
        result(many).save(tmp_path / name)
    assert not list(tmp_path.iterdir())
    assert not capfd.readouterr().err  # no word of a panic
