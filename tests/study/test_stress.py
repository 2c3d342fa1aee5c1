"""Sensitivity cards: drops, rates and the ladder by hand, with metrics whose verdict is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from medassay.cases import Case
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.scores import Score
from medassay.study import RUNGS, Card, Material, Original, Stress, Variant, sensitivity_cards


class Told(Metric):
    """Scores each text by a table."""

    name = "told"
    summary = "a table"
    defined = "here"

    def __init__(self, verdict: Mapping[str, float], *, higher: bool = True, bounded: bool = True) -> None:
        super().__init__()
        self.verdict = verdict
        self.higher_is_better = higher
        self.bounds = (0.0, 1.0) if bounded else (None, None)

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        raise AssertionError("cards are drawn up from numbers that are there")


def material(count: int = 1) -> Material:
    variants = [
        Variant("copy", "copy", "copy"),
        Variant("harmless", "case", "harmless"),
        Variant("paraphrase", "paraphrase_a", "good paraphrase"),
        Variant("paraphrase", "paraphrase_b", "poor paraphrase"),
        Variant("error", "negation", "negated"),
        Variant("error", "site", "other site"),
        Variant("reworded error", "site", "other site reworded"),
        Variant("unrelated", "unrelated", "unrelated"),
    ]
    originals = tuple(Original(str(i), f"text {i}", variants=variants) for i in range(count))
    return Material(originals, {("error", "drug"): {"no word that a rule for drug knows": 3}}, ())


VERDICT = {
    "copy": 1.0,
    "harmless": 0.9,
    "good paraphrase": 0.8,
    "poor paraphrase": 0.5,
    "negated": 0.95,
    "other site": 0.6,
    "other site reworded": 0.4,
    "unrelated": 0.1,
}


def stress(texts: Material, metric: Told, resamples: int) -> Stress:
    values = [np.array([metric.verdict.get(v.text, np.nan) for v in one.variants]) for one in texts.originals]
    return sensitivity_cards(texts, [metric], {"told": values}, resamples=resamples)


def card_of(metric: Told, count: int = 1) -> Card:
    (card,) = stress(material(count), metric, 50).cards
    return card


def test_the_ladder_by_hand() -> None:
    card = card_of(Told(VERDICT))
    # Paraphrases .8 and .5 against the errors .95 and .6: only .8 > .6.
    assert {rung: card.ladder[rung].value for rung in RUNGS} == {
        "copy ≥ paraphrase": 1.0,
        "paraphrase > error": 0.25,
        "paraphrase > reworded error": 1.0,
        "copy > error": 1.0,
        "unrelated lowest": 1.0,
    }
    assert card.by_kind["site"]["paraphrase > error"].value == 0.5
    assert card.by_kind["negation"]["paraphrase > error"].value == 0.0
    assert card.by_kind["negation"]["paraphrase > reworded error"].n == 0
    # Harmless .9, .8, .5 against the errors .95, .6, .4: none, two, three.
    assert card.win.value == pytest.approx(5 / 9)
    assert card.blind.value == 1.0


def test_drops_in_percent_of_the_range_and_what_was_not_made() -> None:
    drops = {(d.form, d.kind): d for d in card_of(Told(VERDICT)).drops}
    assert drops["error", "negation"].drop.value == pytest.approx(5.0)
    assert drops["unrelated", "unrelated"].drop.value == pytest.approx(90.0)
    never = drops["error", "drug"]
    assert (never.made, never.not_made, never.drop.known) == (0, 3, False)
    assert math.isnan(never.lower)


def test_lower_is_better_is_turned() -> None:
    turned = {name: 1.0 - value for name, value in VERDICT.items()}
    up, down = card_of(Told(VERDICT)), card_of(Told(turned, higher=False))
    assert {r: x.value for r, x in up.ladder.items()} == {r: x.value for r, x in down.ladder.items()}
    assert [d.drop.value for d in up.drops] == pytest.approx([d.drop.value for d in down.drops], nan_ok=True)


def test_without_bounds_the_copy_is_the_measure() -> None:
    shifted = {name: 4 * value for name, value in VERDICT.items()}
    drops = {(d.form, d.kind): d.drop.value for d in card_of(Told(shifted, bounded=False)).drops}
    assert drops["error", "site"] == pytest.approx(40.0)


def test_a_tie_is_no_win_and_a_copy_may_tie() -> None:
    card = card_of(Told(dict.fromkeys(VERDICT, 0.5)))
    assert card.ladder["copy ≥ paraphrase"].value == 1.0
    assert card.ladder["copy > error"].value == 0.0
    assert card.ladder["unrelated lowest"].value == 0.0
    assert card.blind.value == 1.0


def test_unscored_texts_are_counted_and_left_out() -> None:
    card = card_of(Told({k: v for k, v in VERDICT.items() if k != "negated"}))
    drops = {(d.form, d.kind): d for d in card.drops}
    assert (drops["error", "negation"].made, drops["error", "negation"].unscored) == (1, 1)
    assert not drops["error", "negation"].drop.known
    assert card.ladder["paraphrase > error"].n == 2
    assert not card.blind.known


def test_intervals_rest_on_references() -> None:
    one, many = card_of(Told(VERDICT)), card_of(Told(VERDICT), 5)
    assert one.win.low is None
    assert (many.win.value, many.win.low) == (pytest.approx(5 / 9), None)  # the same on every reference
    assert many.win.n == 45


def test_groups_have_their_own_ladder() -> None:
    made = material(4)
    for i, one in enumerate(made.originals):
        one.group = "ab"[i % 2]
    (card,) = stress(made, Told(VERDICT), 20).cards
    assert {group: ladder["paraphrase > error"].value for group, ladder in card.by_group.items()} == {
        "a": 0.25,
        "b": 0.25,
    }


def test_a_trace_of_a_drop_is_not_credited() -> None:
    trace = {**VERDICT, "negated": 1.0 - 0.009, "other site": 1.0 - 0.011}
    (card,) = stress(material(), Told(trace), 0).cards
    assert card.ladder["copy > error"].value == 0.5
    assert {d.kind: d.lower for d in card.drops if d.form == "error"}["negation"] == 0.0
    values = [np.array([trace[v.text] for v in one.variants]) for one in material().originals]
    test = sensitivity_cards(material(), [Told(trace)], {"told": values}, resamples=0, margin=0.0)
    assert test.cards[0].ladder["copy > error"].value == 1.0
    test = sensitivity_cards(material(), [Told(trace)], {"told": values}, resamples=0, margin=0.25)
    assert any("by more than 25 % of the metric's range" in note for note in test.notes)


def test_a_margin_is_a_share() -> None:
    with pytest.raises(MedassayError, match="margin must be from 0 to 1"):
        sensitivity_cards(material(), [], {}, margin=2.0)
