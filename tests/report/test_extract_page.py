"""The page of extracted reports."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.report import extract_page
from medassay.report.extract_page import ExtractPage


def entity(text: str, words: str, type: str, assertion: str = "present", **more: Any) -> dict[str, Any]:
    start = text.index(words)
    found = {"start": start, "end": start + len(words), "text": words, "type": type, "assertion": assertion}
    return {**found, "score": 0.9, "concept": None, **more}


TEXT = "Colon: adenoma, low grade. No necrosis. HER2 negative."
RECORD: dict[str, Any] = {
    "id": "7",
    "system": "A",
    "text": TEXT,
    "entities": [
        entity(TEXT, "adenoma", "diagnosis", concept={"id": "MONDO:1", "name": "adenoma (disease)", "link": "exact"}),
        entity(TEXT, "low grade", "grade"),
        entity(TEXT, "necrosis", "finding", "absent"),
        entity(TEXT, "HER2", "marker", "absent"),
        entity(TEXT, "negative", "modifier"),
    ],
    "relations": [
        {"head": 0, "tail": 1, "type": "diagnosis_grade", "score": 0.9},
        {"head": 3, "tail": 4, "type": "marker_modifier", "score": 0.9},
    ],
}


class Reader(HTMLParser):
    """Collects elements, and the report text without labels and tips."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.elements.append((tag, known))
        if tag not in ("meta", "br"):
            self.open.append(known.get("class") or tag)

    def handle_endtag(self, tag: str) -> None:
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if "text" in self.open and not {"small", "tip"} & set(self.open):
            self.text += data


def drawn(record: dict[str, Any]) -> str:
    page = ExtractPage()
    page.add(record)
    return page.html()


def test_the_text_stands_unchanged_between_the_marks() -> None:
    assert Reader(drawn(RECORD)).text == TEXT


def test_each_entity_has_its_type_and_assertion_in_words() -> None:
    html = drawn(RECORD)
    assert "<span>necrosis</span><small>finding · absent</small>" in html
    assert "<span>adenoma</span><small>diagnosis</small>" in html
    assert "<b>adenoma (disease)</b>MONDO:1" in html


def test_relations_lead_to_their_entities() -> None:
    reader = Reader(drawn(RECORD))
    anchors = {attrs["id"] for tag, attrs in reader.elements if tag == "mark" and "id" in attrs}
    links = [attrs["href"] for tag, attrs in reader.elements if tag == "a"]
    assert links == ["#r0e0", "#r0e1", "#r0e3", "#r0e4"]
    assert {str(link)[1:] for link in links} <= anchors


def test_anchors_of_several_reports_differ() -> None:
    page = ExtractPage()
    page.add(RECORD)
    page.add(RECORD)
    ids = [attrs["id"] for _, attrs in Reader(page.html()).elements if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_the_policy_admits_only_the_page_s_own_style() -> None:
    html = drawn(RECORD)
    style = re.search(r"<style>(.*?)</style>", html, re.S)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in html
    assert "style=" not in html


HOSTILE = "</article><script>alert(1)</script><img src=x onerror='x'>\"&$title"


def test_hostile_text_stays_text() -> None:
    concept = {"id": HOSTILE, "name": HOSTILE, "link": HOSTILE}
    found = [entity(HOSTILE, HOSTILE, "finding", concept=concept), entity(HOSTILE, HOSTILE, HOSTILE, HOSTILE)]
    record = {"id": HOSTILE, "system": HOSTILE, "text": HOSTILE, "entities": found}
    html = drawn({**record, "relations": [{"head": 0, "tail": 1, "type": HOSTILE, "score": 1.0}]})
    reader = Reader(html)
    assert reader.text == HOSTILE
    assert not {"script", "img"} & {tag for tag, _ in reader.elements}


@given(st.text(max_size=40), st.lists(st.tuples(st.integers(-2, 45), st.integers(-2, 45)), max_size=5))
def test_any_spans_leave_the_text_whole(text: str, places: list[tuple[int, int]]) -> None:
    text = text.replace("\r", "").replace("\x00", "")
    found = [
        {"start": a, "end": b, "text": "x", "type": "site", "assertion": "present", "score": 1.0, "concept": None}
        for a, b in places
    ]
    html = extract_page.draw({"id": "1", "text": text, "entities": found, "relations": []})
    assert Reader(html).text == text


def test_what_a_page_cannot_hold_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract_page, "BYTES", len(extract_page.draw(RECORD).encode()) * 2)
    page = ExtractPage()
    for _ in range(5):
        page.add(RECORD)
    html = page.html()
    assert html.count("<article") == 2
    assert "5 reports" in html
    assert "3 further reports are in the extract file only" in html
