"""The data files of the room: how they are read, and that every expression in them is used and compiles."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

import medassay.language
from medassay.language.lexicon import (
    compiled,
    named_pattern,
    plain_words,
    read_table,
    read_tsv,
    rule_weights,
    statement_kinds,
    statement_words,
)

SOURCES = sorted(Path(medassay.language.__path__[0]).rglob("*.py"))
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


def test_every_pattern_has_a_name_a_meaning_and_a_use() -> None:
    rows = list(read_tsv("patterns.tsv"))
    assert len({row["name"] for row in rows}) == len(rows)
    assert all(row["meaning"] for row in rows)
    code = "".join(path.read_text(encoding="utf-8") for path in SOURCES)
    used = set(re.findall(r'named_pattern\("([^"]+)"\)', code))
    assert used == {row["name"] for row in rows}
    assert all(named_pattern(name) for name in used)


def test_words_by_kind() -> None:
    assert "proximal" in plain_words("position")
    assert plain_words("no such kind") == frozenset()
    assert "denies" in statement_words("negation") and "negation" in statement_kinds()["denies"]


def test_weights_by_rule() -> None:
    assert 0.0 < rule_weights("marker")["opposite results"] <= 1.0
    assert rule_weights("no such rule") == {}
