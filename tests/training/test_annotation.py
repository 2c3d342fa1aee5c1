"""Annotated segments: our JSONL, its errors, and folds by document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.errors import InputError
from medassay.training.annotation import Entity, folds_by_group, make_segment
from medassay.training.data import read_annotation

TEXT = "CD30 is positive. No necrosis."
ENTITIES = (Entity(0, 4, "marker"), Entity(8, 16, "modifier"), Entity(21, 29, "finding", "absent"))


def test_our_jsonl_gives_entities_in_order_and_relations_renumbered(tmp_path: Path) -> None:
    row = {
        "id": "d1",
        "doc": "a",
        "text": TEXT,
        "entities": [
            {"start": 8, "end": 16, "type": "modifier"},
            {"start": 0, "end": 4, "type": "marker", "assertion": "present"},
            {"start": 21, "end": 29, "type": "finding", "assertion": "absent"},
        ],
        "relations": [[1, 0]],
    }
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row) + "\n\n", encoding="utf-8")
    (segment,) = read_annotation(path)
    assert segment.entities == ENTITIES
    assert segment.relations == {(0, 1)}
    assert (segment.id, segment.doc) == ("d1", "a")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"entities": [{"start": 0, "end": 99, "type": "site"}]}, "outside the text"),
        ({"entities": [{"start": 0, "type": "site"}]}, "needs start, end and type"),
        ({"entities": [{"start": 0, "end": 4, "type": "site", "assertion": "maybe"}]}, "assertion 'maybe'"),
        ({"entities": [{"start": 0, "end": 4, "type": "site"}, {"start": 2, "end": 6, "type": "site"}]}, "overlap"),
        ({"relations": [[0, 3]]}, "not there"),
        ({"text": None}, "no string under 'text'"),
    ],
)
def test_bad_jsonl_names_file_and_line(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "bad.jsonl"
    good = {"id": "1", "text": TEXT, "entities": [], "relations": []}
    path.write_text(json.dumps(good) + "\n" + json.dumps({**good, **change}) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.jsonl: line 2") as caught:
        read_annotation(path)
    assert message in str(caught.value)


def test_broken_json_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"text": "a"\n', encoding="utf-8")
    with pytest.raises(InputError, match="line 1: not JSON"):
        read_annotation(path)


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=60), st.integers(2, 5))
def test_folds_keep_groups_together(groups: list[str], folds: int) -> None:
    numbers = folds_by_group(groups, folds)
    assert all(0 <= n < folds for n in numbers)
    assert len({(g, n) for g, n in zip(groups, numbers)}) == len(set(groups))


def test_make_segment_refuses_an_empty_entity() -> None:
    with pytest.raises(InputError, match="outside the text"):
        make_segment("here", "1", "abc", [Entity(1, 1, "site")])
