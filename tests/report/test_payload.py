"""The cases of a page as one block of data."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.reader import PageReader, html_of
from tests.report.sample import Given, run, sample, words_in_common

from medassay.cases import Case
from medassay.report import page as page_module
from medassay.report.payload import Payload
from medassay.scores import Score


def test_texts_are_held_once_and_scores_keep_their_reasons() -> None:
    data = PageReader(html_of(sample())).data
    assert len(data["texts"]) == len(set(data["texts"]))
    empty = next(one for one in data["cases"] if one["i"] == "case 5" and one["s"] == "beta")
    assert empty["v"] == [None] * 4 and empty["u"]["0"] == "empty candidate"
    assert "e" not in empty


def test_a_small_budget_drops_evidence_first_then_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [Case(str(i), f"{i} " + "a b c " * 40, ("a b c " * 40,)) for i in range(60)]
    result = run(cases, Given("m", words_in_common))
    monkeypatch.setattr(page_module, "BYTES", 45_000)
    reader = PageReader(html_of(result))
    kept = reader.data["cases"]
    explained = [bool(one.get("e")) for one in kept]
    assert len(kept) == 60 and 0 < sum(explained) < 60 and explained == sorted(explained, reverse=True)
    assert f"evidence is carried for the first {sum(explained)} cases" in reader.text
    monkeypatch.setattr(page_module, "BYTES", 9_000)
    assert 0 < len(PageReader(html_of(result)).data["cases"]) < 60


@given(st.lists(st.tuples(*[st.integers(0, 5000)] * 4)))
def test_matches_survive_packing(spans: list[tuple[int, int, int, int]]) -> None:
    matches = [{"candidate": [a, a + b], "reference": [c, c + d]} for a, b, c, d in spans]
    payload = Payload([Given("m", words_in_common)])
    payload.add(Case("1", "x", ("y",)), {"m": Score(0.5, evidence={"matches": matches})})
    flat = json.loads(payload.encode({}, 10**7).text)["cases"][0].get("e", {"0": {"matches": []}})["0"]["matches"]
    back, a, c = [], 0, 0
    for i in range(0, len(flat), 4):
        a, c = a + flat[i], c + flat[i + 2]
        back.append({"candidate": [a, a + flat[i + 1]], "reference": [c, c + flat[i + 3]]})
    assert back == matches


def test_evidence_of_another_kind_is_kept_as_data() -> None:
    odd = {"matches": "three", "share": float("nan"), "text": "\ud800x", "list": [{"a": (1, None)}]}
    payload = Payload([Given("m", words_in_common)])
    payload.add(Case("\udc80", "a\ud800b", ("y",)), {"m": Score(0.5, evidence=odd)})
    block = payload.encode({}, 10**6)
    block.text.encode("utf-8")
    evidence = json.loads(block.text)["cases"][0]["e"]["0"]
    assert evidence["matches (not in the known form)"] == "three"
    assert evidence["share"] is None and evidence["list"] == [{"a": [1, None]}]


def test_a_very_long_text_is_cut_and_marked() -> None:
    data = PageReader(html_of(run([Case("1", "a" * 5_000_00, ("a",))], Given("m", words_in_common)))).data
    assert data["texts"][0].endswith(" […]") and len(data["texts"][0]) < 61_000
