"""Reading cases: formats, columns, references, and what one bad row does to the others."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import polars
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from medassay.cases import Case, make_cases, read_cases
from medassay.errors import InputError

ROWS = [
    {"id": "a", "candidate": "No tumour.", "reference": "No tumour seen.", "system": "one", "grade": "2"},
    {
        "id": "b",
        "candidate": "Tubular adenoma, “low grade”.",
        "reference": "Adenoma.\nLow grade.",
        "system": "one",
        "grade": "3",
    },
]


def cases_of(path: Path, columns: Mapping[str, str] | None = None, **options: object) -> list[Case]:
    rows = list(read_cases(path, columns, **options))  # type: ignore[arg-type]
    assert [row.problem for row in rows if row.problem] == []
    return [row.case for row in rows if row.case is not None]


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif path.suffix == ".parquet":
        polars.DataFrame(rows).write_parquet(path)
    else:
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_every_format_gives_the_same_cases(tmp_path: Path, suffix: str) -> None:
    cases = cases_of(write(tmp_path / f"cases{suffix}", ROWS))
    assert [(c.id, c.candidate, c.references, c.system, dict(c.extra)) for c in cases] == [
        ("a", "No tumour.", ("No tumour seen.",), "one", {"grade": "2"}),
        ("b", "Tubular adenoma, “low grade”.", ("Adenoma.\nLow grade.",), "one", {"grade": "3"}),
    ]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_map_gives_other_names(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"cases{suffix}", [{"generated": "x", "gt": "y", "note": "z"}])
    (case,) = cases_of(path, {"candidate": "generated", "reference": "gt"})
    assert (case.id, case.candidate, case.references, dict(case.extra)) == ("1", "x", ("y",), {"note": "z"})


def test_a_column_that_the_map_displaces_is_carried(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.csv", [{"candidate": "old", "generated": "new"}])
    (case,) = cases_of(path, {"candidate": "generated"})
    assert case.candidate == "new"
    assert dict(case.extra) == {"candidate": "old"}


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("candidate\nNo tumour.\n", '{"candidate": "No tumour."}\n'):
        stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode())))
        monkeypatch.setattr("sys.stdin", stdin)
        (row,) = read_cases("-")
        assert row.case is not None
        assert row.case.candidate == "No tumour."


def test_several_references(tmp_path: Path) -> None:
    path = write(
        tmp_path / "c.csv",
        [{"candidate": "x", "reference_10": "d", "reference_2": "b", "reference": "a", "reference_3": ""}],
    )
    assert cases_of(path)[0].references == ("a", "b", "d")
    listed = tmp_path / "c.jsonl"
    listed.write_text('{"candidate": "x", "reference": ["a", null, "b", " "]}\n')
    assert cases_of(listed)[0].references == ("a", "b")


def test_ids_default_to_the_row_and_the_same_id_may_stand_for_two_systems(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("id,system,candidate\n,one,x\nq,one,x\nq,two,x\n")
    assert [c.key for c in cases_of(path)] == [("1", "one"), ("q", "one"), ("q", "two")]


def test_duplicate_ids_name_both_rows_and_keep_the_first(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("id,system,candidate\nq,one,x\nr,one,y\nq,one,z\n")
    rows = list(read_cases(path))
    assert [row.case.candidate for row in rows if row.case] == ["x", "y"]
    assert rows[2].problem == "id 'q', system 'one' already stands in row 2; ids must be unique per system"


def test_row_numbers_are_those_of_a_spreadsheet(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text('\ncandidate,note\n"two\nlines",x\n\nragged\ny,z\n')
    rows = list(read_cases(path))
    assert [row.number for row in rows] == [3, 5, 6]
    assert rows[1].problem == "1 cells where the header has 2 columns; is a comma or quote unescaped?"


def test_parquet_values_of_every_kind(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    frame = {
        "candidate": ["x", None],
        "reference": [["a", "b"], []],
        "score": [float("nan"), 2.5],
        "when": [date(2026, 1, 2), None],
        "nested": [{"k": [1]}, {"k": [2]}],
        "flag": [True, None],
    }
    polars.DataFrame(frame).write_parquet(path)
    first, second = cases_of(path)
    assert first.references == ("a", "b")
    assert dict(first.extra) == {"score": None, "when": "2026-01-02", "nested": '{"k": [1]}', "flag": True}
    assert (second.candidate, second.references, second.extra["score"]) == ("", (), 2.5)


@pytest.mark.parametrize(
    ("cell", "text"), [("7", "7"), ("7.5", "7.5"), ("true", "True"), ("null", ""), ("NaN", ""), ('"\\u0007a"', " a")]
)
def test_mixed_types_in_json(tmp_path: Path, cell: str, text: str) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(f'{{"candidate": {cell}}}\n')
    assert cases_of(path)[0].candidate == text


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                name: st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
                for name in ("candidate", "source", "x")
            }
        ),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_text_survives_csv_and_jsonl(tmp_path: Path, rows: list[dict[str, str]]) -> None:
    for suffix in (".csv", ".jsonl"):
        cases = cases_of(write(tmp_path / f"c{suffix}", rows))
        assert [(c.candidate, c.source or "", c.extra["x"]) for c in cases] == [
            (row["candidate"], row["source"], row["x"]) for row in rows
        ]


def test_digest_depends_on_the_named_fields_alone() -> None:
    one = Case("1", "x", ("r",), extra={"k": 1})
    two = Case("2", "x", ("r",), system="s", extra={"k": 2})
    assert one.digest(["candidate", "reference"]) == two.digest(["reference", "candidate"])
    assert one.digest(["k"]) != two.digest(["k"])
    assert Case("1", "x", ("a", "b")).digest(["reference"]) != Case("1", "x", ("ab",)).digest(["reference"])


def test_has() -> None:
    case = Case("1", " ", ("", "r"), extra={"k": 0, "e": ""})
    assert [case.has(n) for n in ("candidate", "reference", "source", "k", "e", "absent")] == [
        False, True, False, True, False, False,
    ]  # fmt: skip


def test_make_cases() -> None:
    cases = make_cases(["a", "b", "c"], ["r", ["s", "", "t"], None], ids=["1", "2", "3"])  # type: ignore[list-item]
    assert [case.references for case in cases] == [("r",), ("s", "t"), ()]


@pytest.mark.parametrize(
    ("candidates", "references", "message"),
    [
        (["a"], ["r", "s"], "1 candidates but 2 references"),
        ("a", None, "candidates: one text was given"),
        (["a"], "r", "references: one text was given"),
        (["a", None], None, r"candidates\[1\]: expected text, found NoneType"),
        (["a"], [3], r"references\[0\]: expected a text or a list of texts, found int"),
    ],
)
def test_make_cases_refuses(candidates: object, references: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_cases(candidates, references)  # type: ignore[arg-type]


@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(
            st.sampled_from(
                [b"candidate", b",", b"\n", b'"', b"\r", b"x", b"\xff", b"\0", b"{", b"}", b":", b"[", b"\t"]
            )
        ).map(b"".join),
    ),
    st.sampled_from([".csv", ".tsv", ".jsonl", ".parquet"]),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_rows_or_an_input_error(tmp_path: Path, content: bytes, suffix: str) -> None:
    path = tmp_path / f"c{suffix}"
    path.write_bytes(content)
    try:
        rows = list(read_cases(path))
    except InputError as error:
        assert str(path) in str(error)
        return
    for row in rows:
        assert (row.case is None) is (row.problem is not None)
        if row.case is not None:
            str(row.case).encode("utf-8")


def test_a_folder_is_read_as_its_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text(
        '{"id": "y", "candidate": "three"}\n{"id": "x", "candidate": "again"}\nnot json\n'
    )
    (tmp_path / "a.csv").write_text("id,candidate\nx,one\n,two\n")
    (tmp_path / "notes.md").write_text("no case file")
    (tmp_path / ".hidden.csv").write_text("broken")
    rows = list(read_cases(tmp_path))
    assert [(row.case.id, row.case.candidate) for row in rows if row.case] == [
        ("x", "one"),
        ("a.csv:2", "two"),
        ("y", "three"),
    ]
    problems = [f"{row.location}: {row.problem}" for row in rows if row.problem]
    assert problems[0] == "b.jsonl, row 2: id 'x' already stands in a.csv, row 2; ids must be unique per system"
    assert problems[1].startswith("b.jsonl, row 3: not JSON")
    with pytest.raises(InputError, match=r"b\.jsonl, row 2"):
        list(read_cases(tmp_path, strict=True))
    assert len([row for row in read_cases(tmp_path, format="csv") if row.case]) == 2


def test_the_key_of_very_long_references_is_their_digest_too() -> None:
    for text in ("Adenocarcinoma.", "Adenocarcinoma. " * 2_000):
        case = Case("1", "a", (text, "b"))
        assert case.reference_key == case.digest(["reference"]) != Case("1", "a", (text,)).reference_key
