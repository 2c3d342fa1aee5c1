"""The roles of the embedded set: contracts that hold whatever the weights are."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.models import roles
from medassay.models.graphs import ModelSet
from medassay.models.roles import EmbeddedEncoder, EmbeddedNer, EmbeddedRelations, without_overlaps
from medassay.spans import ASSERTIONS, ENTITY_TYPES, RELATION_TYPES, Span

REPORT = (
    "FINAL DIAGNOSIS: Left breast, core biopsy: Invasive ductal carcinoma, Nottingham grade 2. "
    "No lymphovascular invasion is seen. Tumor cells are strongly positive for ER and negative for HER2. "
    "The findings raise the possibility of metastasis."
)
HOSTILE = [
    "",
    " \n\t",
    "\x00\x01",
    "😀👩‍⚕️",
    "سرطان الثدي",
    "\u202eabc",
    "tumor \ud800 of the breast",
    "???...",
    "ＣＤ２０",
]


@pytest.fixture(scope="module")
def models() -> ModelSet:
    from medassay.models.graphs import HOME

    if not (HOME / "manifest.json").is_file():
        pytest.skip("the embedded set has not been built in this checkout")
    return ModelSet(HOME)


@pytest.mark.parametrize("role", ["encoder", "align"])
def test_vectors_have_unit_length_and_no_company(models: ModelSet, role: str) -> None:
    texts = [REPORT, "breast", *HOSTILE, REPORT * 30, "breast"]
    together = EmbeddedEncoder(models, role).embed(texts)
    assert together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)
    np.testing.assert_array_equal(together[1], together[-1])
    alone = EmbeddedEncoder(models, role)
    reversed_alone = np.concatenate([alone.embed([text]) for text in reversed(texts)])[::-1]
    np.testing.assert_allclose(together, reversed_alone, atol=2e-4)


def test_no_texts_give_no_vectors(models: ModelSet) -> None:
    assert EmbeddedEncoder(models, "encoder").embed([]).shape == (0, 384)


def test_the_cache_of_texts_is_bounded(models: ModelSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roles, "CACHED_TEXTS", 3)
    encoder = EmbeddedEncoder(models, "encoder")
    first = encoder.embed(["a", "b", "c", "d", "e"])
    assert list(encoder.cache) == ["c", "d", "e"]
    np.testing.assert_allclose(encoder.embed(["a"])[0], first[0], atol=1e-4)


def test_spans_are_slices_of_the_text_in_order_and_apart(models: ModelSet) -> None:
    ner = EmbeddedNer(models)
    for text, spans in zip([REPORT, *HOSTILE], ner.spans([REPORT, *HOSTILE])):
        for span in spans:
            assert 0 <= span.start < span.end <= len(text)
            assert text[span.start : span.end] == text[span.start : span.end].strip()
            assert span.type in ENTITY_TYPES
            assert 0.0 < span.score <= 1.0
        assert all(a.end <= b.start for a, b in pairwise(spans))


def test_spans_do_not_depend_on_company_or_order(models: ModelSet) -> None:
    texts = [REPORT, "Kidney, left: clear cell carcinoma.", REPORT.lower() * 5, "", REPORT]
    together = EmbeddedNer(models).spans(texts)
    fresh = EmbeddedNer(ModelSet(models.folder))
    for text, spans in reversed(list(zip(texts, together))):
        alone = fresh.spans([text])[0]
        assert [(s.start, s.end, s.type) for s in alone] == [(s.start, s.end, s.type) for s in spans]
        np.testing.assert_allclose([s.score for s in alone], [s.score for s in spans], atol=1e-3)
    assert together[0] == together[-1]


def spread(text: str) -> list[Span]:
    """Spans of all types in turn over the words of a text."""
    words = [m.span() for m in re.finditer(r"\w+", text)]
    return [Span(a, b, ENTITY_TYPES[i % len(ENTITY_TYPES)], 1.0) for i, (a, b) in enumerate(words)]


def test_every_span_gets_an_assertion_and_links_fit_their_types(models: ModelSet) -> None:
    texts = [REPORT, *HOSTILE, REPORT * 20]
    spans = [*EmbeddedNer(models).spans(texts[:-1]), spread(texts[-1])]
    readings = EmbeddedRelations(models).read(texts, spans)
    assert len(readings) == len(texts)
    for some, reading in zip(spans, readings):
        assert len(reading.assertions) == len(some)
        assert all(name in ASSERTIONS and 0.0 < chance <= 1.0 for name, chance in reading.assertions)
        for link in reading.links:
            assert RELATION_TYPES[some[link.head].type, some[link.tail].type] == link.type
            assert 0.0 < link.score <= 1.0


def test_readings_do_not_depend_on_company(models: ModelSet) -> None:
    texts = [REPORT, "ER: positive. PR: negative.", REPORT]
    spans = [spread(text) for text in texts]
    together = EmbeddedRelations(models).read(texts, spans)
    fresh = EmbeddedRelations(ModelSet(models.folder))
    for i, text in enumerate(texts):
        alone = fresh.read([text], [spans[i]])[0]
        assert [a for a, _ in alone.assertions] == [a for a, _ in together[i].assertions]
        assert [(k.head, k.tail, k.type) for k in alone.links] == [(k.head, k.tail, k.type) for k in together[i].links]


def test_spans_from_elsewhere_are_read_too(models: ModelSet) -> None:
    """Spans that cut words, overlap, repeat or end in white space: each still gets its assertion."""
    text = "No evidence of carcinoma in the left breast."
    spans = [Span(15, 24, "diagnosis", 1.0), Span(17, 20, "diagnosis", 1.0), Span(15, 24, "diagnosis", 1.0)]
    spans += [Span(24, 26, "site", 1.0), Span(0, len(text), "finding", 1.0)]
    reading = EmbeddedRelations(models).read([text], [spans])[0]
    assert len(reading.assertions) == 5
    assert all(chance > 0.0 for _, chance in reading.assertions)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 8), st.floats(0, 1)), max_size=12))
def test_overlaps_are_settled_for_the_surer(raw: list[tuple[int, int, float]]) -> None:
    kept = without_overlaps([Span(start, start + size, "site", score) for start, size, score in raw])
    assert all(a.end <= b.start for a, b in pairwise(kept))
    if raw:
        assert max(score for _, _, score in raw) == max(span.score for span in kept)


def test_the_same_bytes_twice(embedded: Path) -> None:
    first, second = (EmbeddedEncoder(ModelSet(embedded), "align").embed([REPORT, "ER"]) for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_the_embedded_set_reads_a_plain_report(models: ModelSet) -> None:
    spans = EmbeddedNer(models).spans([REPORT])[0]
    found = {(REPORT[s.start : s.end], s.type) for s in spans}
    assert {("ER", "marker"), ("HER2", "marker")} <= found
    reading = EmbeddedRelations(models).read([REPORT], [spans])[0]
    assert any(k.type == "marker_modifier" for k in reading.links)
    said = {REPORT[s.start : s.end]: name for s, (name, _) in zip(spans, reading.assertions)}
    assert said["lymphovascular invasion"] == "absent"
