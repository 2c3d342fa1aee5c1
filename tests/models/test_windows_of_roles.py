"""How the embedded roles cut texts and put answers together, with graphs replaced by tables.

The graphs here answer by the token alone, so every expected span, assertion and link is known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medassay.models.decoding import bio_labels
from medassay.models.graphs import ModelSet
from medassay.models.roles import READ_WINDOW, EmbeddedNer, EmbeddedRelations
from medassay.spans import Span

LABELS = bio_labels()
MEANINGS = {"cd20": "B-marker", "left": "B-site", "breast": "I-site", "weak": "B-modifier"}


class Tables(ModelSet):
    """A model set whose trunk gives ids and whose heads look them up."""

    def __init__(self, folder: Path) -> None:
        manifest = {
            "schema": 1,
            "set": "tables",
            "files": [],
            "roles": {
                "ner": {"graph": "ner", "labels": LABELS, "temperature": 1.0},
                "re": {
                    "graph": "re",
                    "tags": LABELS,
                    "pairs": [("marker", "modifier")],
                    "assertions": ["present", "absent", "possible"],
                    "threshold": 0.5,
                },
            },
        }
        (folder / "manifest.json").write_text(json.dumps(manifest))
        super().__init__(folder)
        self.vocabulary: dict[str, int] = self.tokenizer.backend.get_vocab()
        self.widths: list[int] = []

    def file(self, name: str) -> Path:
        return self.folder / name

    def run(self, graph: str, feeds: Mapping[str, Any]) -> list[Any]:
        if graph == "trunk.onnx":
            self.widths += feeds["mask"].sum(1).tolist()
            return [feeds["ids"][..., None].astype(np.float32)]
        if graph == "ner":
            table = np.zeros((len(self.vocabulary), len(LABELS)), np.float32)
            table[:, 0] = 9.0
            for word, label in MEANINGS.items():
                table[self.vocabulary[word], LABELS.index(label)] = 20.0
            return [table[feeds["hidden"][..., 0].astype(np.int64)]]
        ids = feeds["hidden"][feeds["row"], feeds["first"], 0].astype(np.int64)
        last = feeds["hidden"][feeds["row"], feeds["last"], 0].astype(np.int64)
        assert (feeds["tags"][feeds["row"], feeds["first"]] % 2 == 1).all()  # each begins with a B tag
        absent = (last == self.vocabulary["breast"]) | (ids == self.vocabulary["weak"])
        return [np.full(len(feeds["head"]), 3.0), np.stack([~absent, absent, ids < 0], 1) * 8.0]


@pytest.fixture
def tables(tokenizer_folder: Path) -> Tables:
    return Tables(tokenizer_folder)


def test_no_window_is_longer_than_the_models_were_trained_on(tables: Tables) -> None:
    EmbeddedNer(tables).spans(["the tumour. " * 500, "no " * 1000, "x" * 3000])
    assert max(tables.widths) <= READ_WINDOW + 2


@pytest.mark.parametrize(
    "text",
    [
        "the tumour of the left breast is cd20 positive " * 60,
        "the tumour of the left breast is cd20 positive. " * 60,
        "the tumour of the left breast\nis cd20\npositive\n" * 60,
        "no " * 3000 + "left breast cd20",
    ],
)
def test_every_entity_is_found_once_wherever_it_stands(tables: Tables, text: str) -> None:
    spans = EmbeddedNer(tables).spans([text])[0]
    found = [text[s.start : s.end] for s in spans]
    assert found.count("cd20") == text.count("cd20")
    assert found.count("left breast") == text.count("left breast")


def test_an_entity_that_a_window_would_cut_is_whole(tables: Tables) -> None:
    for lead in range(80, 140):
        text = "no " * lead + "left breast " + "no " * 200
        assert [text[s.start : s.end] for s in EmbeddedNer(tables).spans([text])[0]] == ["left breast"]


def test_assertions_reach_their_span_in_every_window(tables: Tables) -> None:
    text = "the tumour of the left breast is cd20 positive. " * 60
    spans = EmbeddedNer(tables).spans([text])[0]
    reading = EmbeddedRelations(tables).read([text], [spans])[0]
    expected = {"left breast": "absent", "cd20": "present"}
    assert [name for name, _ in reading.assertions] == [expected[text[s.start : s.end]] for s in spans]
    assert all(chance > 0.9 for _, chance in reading.assertions)


def test_a_span_that_begins_in_a_gap_belongs_to_the_next_token(tables: Tables) -> None:
    text = "the tumour of the left breast is cd20 positive. " * 60
    whole = [Span(m.start(), m.end(), "site", 1.0) for m in re.finditer(r"\s+left breast|(?<=\.)\s+the", text)]
    reading = EmbeddedRelations(tables).read([text], [whole])[0]
    expected = ["absent" if text[s.start : s.end].endswith("breast") else "present" for s in whole]
    assert [name for name, _ in reading.assertions] == expected
    assert all(chance > 0.9 for _, chance in reading.assertions)


def test_spans_in_any_order_keep_their_own_answers(tables: Tables) -> None:
    text = "the tumour of the left breast is cd20 positive. " * 60
    spans = EmbeddedNer(tables).spans([text])[0]
    forward, backward = (EmbeddedRelations(tables).read([text], [some])[0] for some in (spans, spans[::-1]))
    assert backward.assertions == forward.assertions[::-1]


def test_links_join_compatible_spans_of_one_window_only(tables: Tables) -> None:
    text = "cd20 is weak. " + "no tumour. " * 200 + "weak"
    spans = EmbeddedNer(tables).spans([text])[0]
    reading = EmbeddedRelations(tables).read([text], [spans])[0]
    assert [(k.head, k.tail, k.type) for k in reading.links] == [(0, 1, "marker_modifier")]
    assert reading.links[0].score == pytest.approx(1 / (1 + np.exp(-3.0)))


def test_spans_without_a_partner_cost_no_link(tables: Tables) -> None:
    text = "left breast"
    reading = EmbeddedRelations(tables).read([text, ""], [[Span(0, 11, "site", 1.0)], []])
    assert reading[0].links == reading[1].links == ()
    assert reading[1].assertions == ()
