"""The data files of the room: how they are read, and that every expression in them is used and compiles."""

from __future__ import annotations

import ast
import re
from importlib.resources import files
from pathlib import Path

import pytest

import medassay.language
from medassay.language.lexicon import (
    compiled,
    expression,
    filled,
    named_pattern,
    ordered_words,
    plain_words,
    quantity_rows,
    read_table,
    read_tsv,
    rule_weights,
    statement_kinds,
    statement_words,
)

SOURCES = sorted(Path(medassay.language.__path__[0]).rglob("*.py"))
CODE = "".join(path.read_text(encoding="utf-8") for path in SOURCES)
LITERALS = set(re.findall(r'"([^"\n]*)"', CODE))
PART = re.compile(r"@([\w ]+)@")
FILES = sorted(path.name for path in (files("medassay.language") / "lexicons").iterdir() if path.name.endswith(".tsv"))


def test_comments_are_left_out_and_short_rows_filled(tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("# about\nname\tvalue\na\t1\n\nb\n", encoding="utf-8")
    assert list(read_table(table)) == [{"name": "a", "value": "1"}, {"name": "b", "value": ""}]


@pytest.mark.parametrize("name", FILES)
def test_no_row_has_more_cells_than_the_header(name: str) -> None:
    text = (files("medassay.language") / "lexicons" / name).read_text(encoding="utf-8")
    widths = [line.count("\t") for line in text.split("\n") if line.strip() and not line.startswith("#")]
    assert len(widths) > 1 and max(widths) == widths[0]


def test_capitals_count_where_the_row_says_so() -> None:
    assert compiled({"pattern": "ab", "case": ""}).match("AB")
    assert compiled({"pattern": "ab", "case": "yes"}).match("AB") is None


def test_what_has_to_stand_before_a_match() -> None:
    assert expression("a|b", before=r"(?<!\w)").findall("a cb B") == ["a", "B"]
    assert expression("b", before="c|d").findall("cb db b") == ["cb", "db"]
    assert expression("b", capitals=True).findall("b B") == ["b"]


def test_names_in_a_pattern_stand_for_its_parts() -> None:
    assert filled("@a b@x|@c@", {"a b": "1|2", "c": "3"}) == "(?:1|2)x|(?:3)"
    with pytest.raises(KeyError):
        filled("@missing@", {})
    assert named_pattern("written number", word="one|two").findall("one two") != []
    with pytest.raises(KeyError):
        named_pattern("written number")


def test_every_pattern_has_a_name_a_meaning_and_a_use() -> None:
    rows = list(read_tsv("patterns.tsv"))
    assert len({row["name"] for row in rows}) == len(rows)
    assert all(row["meaning"] for row in rows)
    assert set(re.findall(r'named_pattern\(\s*"([^"]+)"', CODE)) == {row["name"] for row in rows}


def test_every_pattern_compiles_with_the_parts_that_it_names() -> None:
    for row in read_tsv("patterns.tsv"):
        parts = dict.fromkeys(PART.findall(row["pattern"]), "x")
        assert named_pattern(row["name"], **parts).pattern == filled(row["pattern"], parts)


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("grades.tsv", "pattern"),
        ("oppositions.tsv", "first"),
        ("oppositions.tsv", "second"),
        ("oppositions.tsv", "about"),
        ("panels.tsv", "pattern"),
        ("quantities.tsv", "pattern"),
        ("results.tsv", "pattern"),
        ("stain_words.tsv", "pattern"),
        ("status.tsv", "pattern"),
        ("unobservable.tsv", "pattern"),
        ("unseen.tsv", "value"),
    ],
)
def test_every_expression_of_a_table_compiles(table: str, column: str) -> None:
    for row in read_tsv(table):
        expression(PART.sub("x", row[column]))


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("statements.tsv", "kind"),
        ("plain_words.tsv", "kind"),
        ("clinical.tsv", "kind"),
        ("quantities.tsv", "kind"),
        ("rule_weights.tsv", "rule"),
        ("rule_weights.tsv", "case"),
    ],
)
def test_no_row_is_unused(table: str, column: str) -> None:
    assert {row[column] for row in read_tsv(table)} <= LITERALS


def test_everyday_names_of_markers_are_names_of_markers() -> None:
    names = {
        name.split(" (")[0].lower()
        for row in read_tsv("markers.tsv")
        for name in (row["id"].partition(":")[2], row["name"], *row["aliases"].split("|"))
    }
    assert plain_words("marker everyday") <= names
    assert plain_words("method, not marker") <= {row["id"].partition(":")[2] for row in read_tsv("markers.tsv")}


def test_expressions_in_code_know_no_words() -> None:
    assert re.findall(r"\bre\.(?:sub|search|match|fullmatch|findall|finditer|split)\(", CODE) == []
    for path in SOURCES:
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "re.compile":
                written = "".join(
                    part.value
                    for part in ast.walk(call.args[0])
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                )
                bare = re.sub(r"\(\?P<\w+>|\\.|\[(?:\\.|[^\]\\])*\]", " ", written)
                assert re.findall("[A-Za-z]{2,}", bare) == [], f"{path.name}: {written}"


def test_quantities_by_kind() -> None:
    assert ("100", "hundred") in quantity_rows("scale")
    with pytest.raises(KeyError):
        quantity_rows("no such kind")


def test_words_by_kind() -> None:
    assert "proximal" in plain_words("position")
    assert plain_words("no such kind") == frozenset()
    assert ordered_words("diagnosis heading")[0] == "final diagnosis"
    assert "denies" in statement_words("negation") and "negation" in statement_kinds()["denies"]


def test_weights_by_rule() -> None:
    assert 0.0 < rule_weights("marker")["opposite results"] <= 1.0
    assert rule_weights("no such rule") == {}
