"""Role `re` on transformers models: entity markers, and the library's own answers to the marked text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from medassay.models.hub import load_hub
from medassay.models.hub_relations import mark
from medassay.spans import Span

from .conftest import by_hand


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ((0, 1), (2, 3), "[E1]a[/E1] [E2]b[/E2] c"),
        ((2, 3), (0, 1), "[E2]a[/E2] [E1]b[/E1] c"),
        ((0, 3), (2, 3), "[E1]a [E2]b[/E2][/E1] c"),
        ((2, 3), (2, 5), "a [E2][E1]b[/E1] c[/E2]"),
        ((0, 2), (2, 5), "[E1]a [/E1][E2]b c[/E2]"),
    ],
)
def test_markers_stand_right_whichever_comes_first(one: tuple[int, int], two: tuple[int, int], expected: str) -> None:
    assert mark("a b c", one, two) == expected


Tiny = Callable[..., Path]


TEXT = "cd20 is strongly positive, ki is weak."


SPANS = [
    Span(0, 4, "marker", 1.0),
    Span(8, 25, "modifier", 1.0),
    Span(27, 29, "marker", 1.0),
    Span(33, 37, "modifier", 1.0),
]


def chances_by_hand(folder: Path, first: Span, second: Span, output: int) -> float:
    marked = mark(TEXT, (first.start, first.end), (second.start, second.end))
    logits = by_hand(folder, "AutoModelForSequenceClassification", marked).logits[0]
    return float(logits.softmax(-1)[output])


@pytest.mark.hf
def test_relations_are_what_the_marked_text_gives(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medassay.models.hub_relations.RELATED", 0.0)
    folder = tiny("BertForSequenceClassification", ["NO_REL", "Relation"])
    reading = load_hub("re", str(folder)).read([TEXT], [SPANS])[0]
    assert reading.assertions == ()
    assert [(k.head, k.tail) for k in reading.links] == [(0, 1), (0, 3), (2, 1), (2, 3)]
    assert {k.type for k in reading.links} == {"marker_modifier"}
    for link in reading.links:
        head, tail = SPANS[link.head], SPANS[link.tail]
        surer = max(chances_by_hand(folder, head, tail, 1), chances_by_hand(folder, tail, head, 1))
        assert link.score == pytest.approx(surer, abs=1e-5)


@pytest.mark.hf
def test_a_label_that_names_its_types_fixes_the_order(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medassay.models.hub_relations.RELATED", 0.0)
    folder = tiny("BertForSequenceClassification", ["modifier-marker", "none"])
    links = load_hub("re", str(folder)).read([TEXT], [SPANS])[0].links
    assert links[0].score == pytest.approx(chances_by_hand(folder, SPANS[1], SPANS[0], 0), abs=1e-5)


@pytest.mark.hf
def test_incompatible_and_distant_pairs_are_never_asked(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medassay.models.hub_relations.RELATED", 0.0)
    model = load_hub("re", str(tiny("BertForSequenceClassification", ["NO_REL", "Relation"])))
    far = "cd20." + " no tumour of the lung." * 60 + " weak"
    spans = [Span(0, 4, "marker", 1.0), Span(len(far) - 4, len(far), "modifier", 1.0)]
    two_sites = [Span(0, 4, "site", 1.0), Span(8, 25, "modifier", 1.0)]
    assert [reading.links for reading in model.read([far, TEXT, ""], [spans, two_sites, []])] == [(), (), ()]


@pytest.mark.hf
def test_equal_questions_are_asked_once(tiny: Tiny) -> None:
    model = load_hub("re", str(tiny("BertForSequenceClassification", ["NO_REL", "Relation"])))
    rows: list[int] = []
    rows_of = model.network.rows_of
    model.network.rows_of = lambda texts: (rows.append(len(texts)), rows_of(texts))[1]
    first, second = model.read([TEXT, TEXT], [SPANS[:2], SPANS[:2]])
    assert first == second
    assert rows == [2]  # one pair, in both orders
    assert model.read([TEXT], [SPANS[:2]]) == [first]
    assert rows == [2]  # a later call of the same run asks nothing again
