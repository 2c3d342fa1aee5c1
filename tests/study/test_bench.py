"""The benchmark's statistics: by hand on documents with known scores, and against oracles."""

from __future__ import annotations

import math

import numpy as np
import pytest

from medassay.examples.bench import Claim, Document, Version
from medassay.metrics.base import Metric
from medassay.scores import Score
from medassay.study.bench import bench_cards, weighted_auc


class Given(Metric):
    """A metric that only has a name, a direction and bounds."""

    name, summary, defined = "given", "given", "here"

    def measure(self, cases, evidence=False):
        return [Score(0.0) for _ in cases]


class Lower(Given):
    higher_is_better = False


def document(number: int, kind: str = "notes", level: int = 1) -> Document:
    versions = (
        Version("copy", "c"),
        Version("paraphrase", "p"),
        Version("paraphrase", "q"),
        Version("error", "e", "value", "minor", "verbatim"),
        Version("error", "f", "side", "critical", "reworded"),
        Version("contradictory", "s", "self", "critical", "verbatim"),
        Version("graded", "g", level=level),
        Version("unrelated", "u"),
    )
    labels = ("supported", "supported", "contradicted", "not_stated")
    claims = tuple(Claim(label, label, "value", "minor") for label in labels)
    return Document(f"d{number}", kind, "c", versions, claims)


#        copy  paraphrases  errors    self graded unrelated
FIRST = [1.00, 0.90, 0.80, 0.85, 0.10, 0.50, 0.9, 0.0]
SECOND = [0.90, 0.95, 0.70, 0.20, 0.695, 0.60, 0.3, 0.2]
CLAIMS = [0.9, 0.4, 0.4, 0.1]


def cards(metric: Metric, versions: list[list[float]], claims: list[list[float]], **settings):
    documents = [document(i, level=1 + i) for i in range(len(versions))]
    return bench_cards(documents, metric, [np.array(v) for v in versions], [np.array(c) for c in claims], **settings)


def test_a_card_by_hand() -> None:
    (card,) = cards(Given(), [FIRST, SECOND], [CLAIMS, CLAIMS], resamples=0)
    # First document: 0.9 beats 0.85, 0.1, 0.5; 0.8 beats 0.1, 0.5. Second: 0.95 beats all; 0.7 beats 0.2 and 0.6, and
    # 0.695 by less than the margin of 0.01.
    assert card.sensitivity.value == pytest.approx((5 + 5) / 12) and card.sensitivity.n == 12
    assert card.by_kind["side"].value == pytest.approx(3 / 4)
    assert card.by_kind["self"].value == 1.0
    assert card.by_severity["minor"].value == pytest.approx(3 / 4)
    assert card.by_wording["verbatim"].value == pytest.approx(7 / 8)
    # One of the four paraphrases is above its copy.
    assert card.copy.value == pytest.approx(3 / 4)
    # The unrelated text of the second document ties with its first error.
    assert card.unrelated.value == 0.5
    # Wrong versions in order: .1 .2 .5 .6 .695 .85. Half of them are at or below .5; no paraphrase is.
    assert card.false_alarms.value == 0.0
    # Supported .9 .4 against .4 .1 in both: .9 wins both, .4 wins one and ties one: 3.5 of 4.
    assert card.claims.value == pytest.approx(3.5 / 4)
    assert card.contradicted.value == pytest.approx(1.5 / 2)
    assert math.isnan(card.spearman.value)
    assert card.medians["paraphrase"] == pytest.approx(0.85) and card.medians["unrelated"] == pytest.approx(0.1)
    assert card.medians["critical"] == pytest.approx(0.55) and card.medians["minor"] == pytest.approx(0.525)
    assert (card.documents, card.versions, card.scored, card.scale) == (2, 16, 16, 1.0)


def test_lower_is_better_is_the_mirror_image() -> None:
    (up,) = cards(Given(), [FIRST, SECOND], [CLAIMS, CLAIMS], resamples=0)
    turned = [[-v for v in row] for row in (FIRST, SECOND)]
    (down,) = cards(Lower(), turned, [[-c for c in CLAIMS]] * 2, resamples=0)
    for name in ("sensitivity", "false_alarms", "copy", "unrelated", "claims"):
        assert getattr(up, name) == getattr(down, name), name


def test_the_margin_decides_and_missing_numbers_are_left_out() -> None:
    (card,) = cards(Given(), [SECOND], [CLAIMS], resamples=0, margin=0.0)
    assert card.sensitivity.value == 1.0
    missing = [*SECOND]
    missing[4] = math.nan
    (card,) = cards(Given(), [missing], [[math.nan] * 4], resamples=0)
    assert (card.scored, card.sensitivity.n) == (7, 4)
    assert math.isnan(card.by_kind["side"].value) and math.isnan(card.claims.value)


def test_graded_levels_are_ranked_with_one_text_per_document() -> None:
    rows = [[1, 1, 1, 0, 0, 0, grade, 0] for grade in (0.9, 0.7, 0.5, 0.1)]
    (card,) = cards(Given(), rows, [CLAIMS] * 4, resamples=200)
    assert (card.spearman.value, card.kendall.value, card.spearman.n) == (1.0, 1.0, 4)


def test_groups_by_kind_of_text() -> None:
    documents = [document(0), document(1, "radiology"), document(2, "radiology")]
    values = [np.array(FIRST)] * 3
    found = bench_cards(documents, Given(), values, [np.array(CLAIMS)] * 3, resamples=0)
    assert [(card.texts, card.documents) for card in found] == [("all", 3), ("notes", 1), ("radiology", 2)]
    assert found[0].to_json()["sensitivity"] == [pytest.approx(5 / 6, abs=1e-4), None, None, 18]


def test_intervals_hold_their_value() -> None:
    random = np.random.default_rng(0)
    rows = [list(random.random(8) * [1, 1, 1, 0.8, 0.8, 0.8, 1, 0.5]) for _ in range(40)]
    (card,) = cards(Given(), rows, [list(random.random(4)) for _ in rows], resamples=300)
    for name in ("sensitivity", "false_alarms", "copy", "claims"):
        found = getattr(card, name)
        assert found.low is not None and 0.0 <= found.low <= found.value <= found.high <= 1.0


def test_area_equals_the_oracle() -> None:
    stats = pytest.importorskip("scipy.stats")
    random = np.random.default_rng(1)
    values, truth = random.integers(0, 6, 60).astype(float), random.random(60) < 0.4
    u = stats.mannwhitneyu(values[truth], values[~truth]).statistic
    found = weighted_auc(values, truth, np.ones((1, 60)))[0]
    assert found == pytest.approx(u / (truth.sum() * (~truth).sum()))
