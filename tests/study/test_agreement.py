"""Agreement: textbook examples by hand, the reference implementations as oracles, and properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from medassay.errors import InputError
from medassay.study.agreement import (
    LEVELS,
    alpha_interval,
    cohen_kappa,
    count_f1,
    fleiss_kappa,
    fleiss_kappa_of_counts,
    intraclass_correlation,
    krippendorff_alpha,
    mean_over_pairs,
    rater_correlation,
    span_f1,
)

NAN = float("nan")

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section E: four observers, twelve units.
TEXTBOOK = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]
# Fleiss (1971) as worked through in the literature: ten subjects, fourteen raters, five categories.
FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]

tables = arrays(
    np.float64,
    st.tuples(st.integers(2, 4), st.integers(1, 8)),
    elements=st.one_of(st.integers(0, 5).map(float), st.just(NAN)),
)


@pytest.mark.parametrize(
    ("level", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_krippendorff_textbook(level, expected):
    assert krippendorff_alpha(TEXTBOOK, level=level) == pytest.approx(expected, abs=5e-4)


def test_krippendorff_two_observers_binary():
    # The same text, section A: 10 articles, 2 observers, alpha = 0.095.
    a = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    b = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert krippendorff_alpha([a, b], level="nominal") == pytest.approx(0.095, abs=5e-4)


def test_cohen_by_hand():
    # 50 items: yes/yes 20, yes/no 5, no/yes 10, no/no 15; po = .7, pe = .5, kappa = .4.
    a = [1] * 25 + [0] * 25
    b = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    assert cohen_kappa(a, b) == pytest.approx(0.4)


def test_fleiss_textbook():
    assert fleiss_kappa_of_counts(FLEISS) == pytest.approx(0.210, abs=5e-4)
    ratings = np.array([np.repeat(np.arange(5), row) for row in FLEISS]).T
    assert fleiss_kappa(ratings) == pytest.approx(fleiss_kappa_of_counts(FLEISS))


def test_intraclass_correlation_textbook():
    # Shrout & Fleiss (1979), tables 2 and 4: six targets, four judges.
    table = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
    published = {"one-way": (0.17, 0.44), "agreement": (0.29, 0.62), "consistency": (0.71, 0.91)}
    for kind, (single, average) in published.items():
        assert intraclass_correlation(table, kind) == pytest.approx(single, abs=5e-3)
        assert intraclass_correlation(table, kind, average=True) == pytest.approx(average, abs=5e-3)


def test_intraclass_correlation_by_hand():
    # Two raters, the second always 1 higher: items vary by MSB = 2 · var(1.5, 2.5, 3.5) = 2, no error,
    # raters by MSR = 3 · (.25 + .25) = 1.5, so ICC(2,1) = 2 / (2 + 2 · 1.5 / 3) = 2/3, and ICC(3,1) = 1.
    table = [[1, 2, 3], [2, 3, 4]]
    assert intraclass_correlation(table) == pytest.approx(2 / 3)
    assert intraclass_correlation(table, "consistency") == pytest.approx(1)
    assert intraclass_correlation([[1, 2, 3, 9], [2, 3, 4, NAN]]) == pytest.approx(2 / 3), "complete items only"


def test_intraclass_correlation_is_not_given_where_it_cannot_be():
    for table in ([[1, 2, 3]], [[1], [2]], [[5, 5], [5, 5]], [[1, NAN], [NAN, 2]]):
        assert np.isnan(intraclass_correlation(table))
    with pytest.raises(InputError, match="one-way"):
        intraclass_correlation([[1, 2], [1, 2]], "two-way")


def test_fleiss_takes_complete_items_only():
    assert fleiss_kappa([[1, 2, 3, 1], [1, 2, 2, NAN]]) == fleiss_kappa([[1, 2, 3], [1, 2, 2]])


def test_count_f1_by_hand():
    a, b = [1, 2, 3, 4, NAN], [1, 3, 5, 7, 1]
    assert [count_f1(a, b, t) for t in (0, 1, 2)] == [0.25, 0.5, 0.75]


def test_pearson_by_hand_and_where_it_is_undefined():
    assert rater_correlation([1, 2, 3], [2, 4, 6]) == 1.0
    assert rater_correlation([1, 2, 3], [6, 4, 2]) == -1.0
    assert np.isnan(rater_correlation([1, 1, 1], [1, 2, 3]))
    assert np.isnan(rater_correlation([1, NAN], [NAN, 1]))


def test_not_assessable_is_nan_never_a_number():
    assert np.isnan(krippendorff_alpha([[1, 1], [1, 1]]))
    assert np.isnan(krippendorff_alpha([[1, NAN], [NAN, 1]]))
    assert np.isnan(cohen_kappa([1, 1], [1, 1]))
    assert np.isnan(fleiss_kappa([[1, 1], [1, 1]]))
    assert np.isnan(count_f1([], []))
    assert alpha_interval([[1, 1], [1, 1]]).low is None


def test_errors_name_the_remedy():
    with pytest.raises(InputError, match="raters × items"):
        krippendorff_alpha([1, 2, 3])
    with pytest.raises(InputError, match="not one of nominal"):
        krippendorff_alpha([[1], [1]], level="metric")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="0 or more"):
        krippendorff_alpha([[-1, 2], [1, 2]], level="ratio")
    with pytest.raises(InputError, match="align"):
        rater_correlation([1, 2], [1])


@given(tables, st.sampled_from(LEVELS))
@settings(max_examples=150, deadline=None)
def test_alpha_equals_the_reference_implementation(table, level):
    krippendorff = pytest.importorskip("krippendorff")
    ours = krippendorff_alpha(table, level=level)
    try:
        with np.errstate(invalid="ignore"):  # it divides 0 by 0 where we say NaN
            theirs = krippendorff.alpha(reliability_data=table, level_of_measurement=level)
    except ValueError:  # it refuses a single value in the domain
        assert np.isnan(ours)
        return
    if np.isnan(ours):
        paired = table[:, np.sum(~np.isnan(table), axis=0) >= 2]
        assert np.isnan(theirs) or len(np.unique(paired[~np.isnan(paired)])) < 2
    else:
        assert ours == pytest.approx(theirs, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=30))
@settings(max_examples=100, deadline=None)
def test_kappa_and_pearson_equal_their_oracles(pairs):
    metrics = pytest.importorskip("sklearn.metrics")
    stats = pytest.importorskip("scipy.stats")
    a, b = np.array(pairs).T
    if len(set(a) | set(b)) > 1:
        for weights in (None, "linear", "quadratic"):
            # scikit-learn ranks categories by position among those seen, as we do.
            expected = metrics.cohen_kappa_score(a, b, weights=weights)
            assert cohen_kappa(a, b, weights) == pytest.approx(expected, nan_ok=True)
    if len(set(a)) > 1 and len(set(b)) > 1:
        assert rater_correlation(a, b) == pytest.approx(stats.pearsonr(a, b).statistic)


@given(tables)
@settings(max_examples=60, deadline=None)
def test_order_of_raters_and_items_does_not_matter(table):
    for level in LEVELS:
        forth, back = krippendorff_alpha(table, level), krippendorff_alpha(table[::-1, ::-1], level)
        assert forth == pytest.approx(back, nan_ok=True)
        assert np.isnan(forth) or forth <= 1 + 1e-12


def test_interval_holds_the_value_and_is_seeded():
    one = alpha_interval(TEXTBOOK, "ordinal", resamples=200, seed=3)
    assert one.low < one.value < one.high <= 1
    assert one.n == 11  # unit 12 has a single rating
    assert one == alpha_interval(TEXTBOOK, "ordinal", resamples=200, seed=3)


def test_vectorised_bootstrap_equals_plain_resampling():
    rng = np.random.default_rng(5)
    table = rng.integers(0, 6, (3, 15)).astype(float)
    fast = alpha_interval(table, "interval", resamples=50, seed=2)
    draws = np.random.default_rng(2).multinomial(15, np.full(15, 1 / 15), size=50)
    slow = [krippendorff_alpha(np.repeat(table, draw, axis=1)) for draw in draws]
    assert (fast.low, fast.high) == pytest.approx(tuple(np.percentile(slow, [2.5, 97.5])))


def test_clusters_are_drawn_whole():
    # Ten cases twice each: whole cases must spread as ten items do, not as twenty.
    rng = np.random.default_rng(5)
    first = rng.integers(1, 6, 10)
    table = np.stack([first, first + rng.integers(-1, 2, 10)]).astype(float)
    once, twice = alpha_interval(table), alpha_interval(np.tile(table, 2), clusters=[*range(10), *range(10)])
    assert once.low is not None and twice.low is not None
    assert twice.low == pytest.approx(once.low, abs=0.1)


@pytest.mark.parametrize("table", [[[1, 1, 5, 5], [1, 1, 5, 5]], [[1, 2], [2, 2]]])
def test_perfect_agreement_and_two_items_have_no_interval(table):
    interval = alpha_interval(table, resamples=200)
    assert (interval.low, interval.high) == (None, None)


def test_granularity_hides_in_counts_and_vanishes_in_ratios():
    # One rater splits every fact in two: counts differ, precision does not.
    g, rg = np.array([4, 6, 8, 5, 7.0]), np.array([1, 4, 2, 5, 3.0])
    assert krippendorff_alpha([g, 2 * g]) < 0.3
    assert krippendorff_alpha([rg / g, (2 * rg) / (2 * g)]) == 1.0


def test_mean_over_pairs_skips_pairs_that_share_nothing():
    table = [[1, 2, 3, NAN], [1, 2, 4, NAN], [NAN, NAN, NAN, 1]]
    assert mean_over_pairs(table, count_f1) == pytest.approx(2 / 3)


def test_span_f1_by_hand() -> None:
    """Of the first rater's four highlights three overlap, of the second's two both do: 2 · 3/4 · 1 / (3/4 + 1)."""
    first, second = [[(0, 5), (10, 15), (30, 31)], [(3, 4)]], [[(4, 12)], [(0, 9)]]
    assert span_f1(first, second) == pytest.approx(6 / 7)
    assert span_f1([[(0, 5)], [(20, 25)]], [[(5, 9)], [(24, 30)]]) == pytest.approx(0.5)
    assert span_f1(first, second, exact=True) == 0.0
    assert np.isnan(span_f1([[]], [[]]))
    assert span_f1([[(0, 5)]], [[]]) == 0.0
    with pytest.raises(InputError, match="align them"):
        span_f1([[]], [])
