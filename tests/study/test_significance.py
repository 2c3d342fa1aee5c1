"""Comparison of systems: scipy's permutation test and hand arithmetic as oracles, symmetry, pairing, notes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from medassay import score
from medassay.cases import Case
from medassay.engine.score_table import ScoreTable, make_table
from medassay.errors import MedassayError
from medassay.metrics.base import Floats, Metric
from medassay.metrics.registry import load_metric
from medassay.study.paired_tests import holm, randomisation_p
from medassay.study.significance import Comparison, Pair, compare


def table(rows: Sequence[Mapping[str, Any]], metrics: Sequence[str] = ("m",), **better: bool) -> ScoreTable:
    return make_table("t.csv", enumerate(rows, 1), better or dict.fromkeys(metrics, True))


def systems(**scores: Sequence[float | None]) -> list[dict[str, Any]]:
    return [{"id": str(i), "system": name, "m": value} for name, many in scores.items() for i, value in enumerate(many)]


def only(comparison: Comparison) -> Pair:
    assert len(comparison.pairs) == 1
    return comparison.pairs[0]


def test_exact_by_hand() -> None:
    # Differences 1, 2, 3: of the eight sign patterns only +++ and −−− reach a sum of 6.
    pair = only(compare(table(systems(a=[2, 4, 6], b=[1, 2, 3]))))
    assert pair.exact and pair.p == pytest.approx(2 / 8)
    assert (pair.n, pair.difference, pair.mean_first, pair.mean_second) == (3, 2.0, 4.0, 2.0)
    assert pair.d_z == pytest.approx(2.0)  # mean 2, standard deviation 1
    assert (pair.wins, pair.ties, pair.losses) == (1.0, 0.0, 0.0)
    assert pair.cliff == pytest.approx(6 / 9)  # 2 is above 1 and below 3; 4 and 6 are above all three
    assert pair.better is None


def test_exact_agrees_with_scipy() -> None:
    a, b = np.random.default_rng(0).random((2, 12))
    oracle = scipy.stats.permutation_test(
        (a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
    )
    pair = only(compare(table(systems(a=a.tolist(), b=b.tolist()))))
    assert pair.exact and pair.p == pytest.approx(oracle.pvalue)


def test_random_flips_agree_with_scipy() -> None:
    generator = np.random.default_rng(1)
    a = generator.random(80)
    b = a + generator.normal(0.02, 0.08, 80)
    oracle = scipy.stats.permutation_test(
        (a, b),
        lambda x, y: np.mean(x - y),
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(2),
    )
    pair = only(compare(table(systems(a=a.tolist(), b=b.tolist())), resamples=20_000))
    assert not pair.exact and pair.p == pytest.approx(oracle.pvalue, abs=0.012)


def test_interval_agrees_with_scipy() -> None:
    generator = np.random.default_rng(5)
    a, b = generator.random((2, 150))
    oracle = scipy.stats.bootstrap(
        (a - b,), np.mean, n_resamples=5000, method="percentile", rng=np.random.default_rng(3)
    )
    pair = only(compare(table(systems(a=a.tolist(), b=b.tolist())), resamples=5000))
    assert pair.low == pytest.approx(oracle.confidence_interval.low, abs=0.006)
    assert pair.high == pytest.approx(oracle.confidence_interval.high, abs=0.006)


def test_bootstrap_p_is_near_the_t_test() -> None:
    generator = np.random.default_rng(6)
    a = generator.random(200)
    b = a + generator.normal(0.01, 0.08, 200)
    pair = only(compare(table(systems(a=a.tolist(), b=b.tolist()))))
    assert pair.p_bootstrap == pytest.approx(scipy.stats.ttest_rel(a, b).pvalue, abs=0.02)
    assert pair.p == pytest.approx(scipy.stats.ttest_rel(a, b).pvalue, abs=0.02)


def test_equal_systems_do_not_differ() -> None:
    pair = only(compare(table(systems(a=[0.1, 0.5, 0.3], b=[0.1, 0.5, 0.3]))))
    assert (pair.p, pair.p_bootstrap, pair.d_z, pair.ties, pair.better) == (1.0, None, None, 1.0, None)
    assert (pair.low, pair.high) == (None, None)


def test_false_positives_keep_to_their_level() -> None:
    # 400 comparisons of systems that do not differ: 5 % ± 3.3 standard errors may fall below 0.05.
    sums = np.random.default_rng(9).normal(size=(60, 400))
    share = np.mean([p < 0.05 for p, _ in randomisation_p(sums, 2000, 1)])
    assert 0.014 <= share <= 0.086


def test_flips_move_whole_clusters() -> None:
    # Ten items, but only two references: four sign patterns, two of them as far out. Never significant.
    rows = systems(a=[1.0] * 10, b=[0.0] * 10)
    for row in rows:
        row["reference_key"] = "first" if int(row["id"]) < 5 else "second"
    clustered = compare(table(rows))
    assert only(clustered).p == 0.5 and only(clustered).clusters == 2
    assert only(compare(table(rows), cluster="none")).p == pytest.approx(2 / 2**10)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=25))
def test_swapping_the_systems_flips_the_sign(scores: list[tuple[float, float]]) -> None:
    a, b = ([pair[k] for pair in scores] for k in (0, 1))
    one = only(compare(table(systems(a=a, b=b)), resamples=200))
    other = only(compare(table(systems(b=b, a=a)), resamples=200))
    assert other.difference == pytest.approx(-(one.difference or 0.0), abs=1e-12)
    assert other.p == pytest.approx(one.p) and other.p_holm == pytest.approx(one.p_holm)
    assert other.cliff == pytest.approx(-(one.cliff or 0.0))
    assert (other.wins, other.ties, other.losses) == (one.losses, one.ties, one.wins)
    if one.high is None:
        assert other.low is None
    else:
        assert other.low == pytest.approx(-one.high, abs=1e-9)
    assert other.better == one.better


def two_metrics(names: str = "abc") -> ScoreTable:
    generator = np.random.default_rng(0)
    rows = [
        {"id": str(i), "system": s, "m": float(generator.random() + k), "k": float(generator.random())}
        for k, s in enumerate(names)
        for i in range(30)
    ]
    return table(rows, ("m", "k"))


def p_values(comparison: Comparison, metric: str) -> list[float]:
    return [pair.p or 0.0 for pair in comparison.pairs if pair.metric == metric]


def p_corrected(comparison: Comparison, metric: str) -> list[float]:
    return [pair.p_holm or 0.0 for pair in comparison.pairs if pair.metric == metric]


def test_correction_runs_over_the_pairs_of_a_metric() -> None:
    comparison = compare(two_metrics())
    assert len(comparison.pairs) == 6 and comparison.families == (("m",), ("k",))
    for metric in ("m", "k"):
        assert p_corrected(comparison, metric) == pytest.approx(holm(p_values(comparison, metric)))
    assert [pair.better for pair in comparison.pairs if pair.metric == "m"] == ["b", "c", "c"]
    assert any("within each metric, over its 3 pairs" in note for note in comparison.notes)


def test_another_metric_removes_no_finding() -> None:
    scores = two_metrics()
    alone, both = compare(scores, metrics=["m"]), compare(scores)
    assert alone.pairs == tuple(pair for pair in both.pairs if pair.metric == "m")


def test_families_can_be_asked_for() -> None:
    for families in ("all", [["k", "m"]]):
        comparison = compare(two_metrics(), families=families)  # type: ignore[arg-type]
        every = [pair.p or 0.0 for pair in comparison.pairs]
        assert [pair.p_holm for pair in comparison.pairs] == pytest.approx(holm(every))
    with pytest.raises(MedassayError, match="'x' is not among the metrics"):
        compare(two_metrics(), families=[["x", "m"]])
    with pytest.raises(MedassayError, match="'m' is in two families"):
        compare(two_metrics(), families=[["m", "k"], ["m"]])


def test_the_primary_metric_ranks_and_comes_first() -> None:
    comparison = compare(two_metrics(), primary="k")
    assert comparison.metrics == ("k", "m") and comparison.ranking_metric == "k"
    values = comparison.values["k"]
    assert [values[s].value for s in comparison.ranked()] == sorted((v.value for v in values.values()), reverse=True)
    assert any("primary metric is k" in note for note in comparison.notes)
    with pytest.raises(MedassayError, match="'q' is not among the metrics"):
        compare(two_metrics(), primary="q")


def test_several_columns_tell_systems_apart() -> None:
    rows = [
        {"id": str(i), "system": s, "prompt": p, "m": i + len(s + p)}
        for s in ("x", "yy")
        for p in ("short", "longer", "")
        for i in range(3)
    ]
    comparison = compare(table(rows), ("system", "prompt"))
    assert comparison.systems == ("x / short", "x / longer", "yy / short", "yy / longer")
    assert any("6 rows without 'system, prompt'" in note for note in comparison.notes)
    assert comparison.ranked()[0] == "yy / longer"


def test_lower_is_better_is_respected() -> None:
    scores = table(systems(a=[0.1] * 12, b=[0.5] * 12), m=False)
    pair = only(compare(scores))
    assert pair.difference == pytest.approx(-0.4) and pair.better == "a" and pair.wins == 1.0
    assumed = ScoreTable("t", scores.rows, scores.columns, ("m",))
    assert only(compare(assumed)).better == "b"
    assert any("higher taken as better: m" in note for note in compare(assumed).notes)
    assert only(compare(assumed, lower=["m"])).better == "a"


def test_missing_and_unscored_items_are_dropped_and_counted() -> None:
    rows = systems(a=[0.1, 0.2, None, 0.4], b=[0.3, 0.4, 0.5])
    comparison = compare(table(rows))
    pair = only(comparison)
    assert (pair.n, pair.dropped) == (2, 2)  # item 2 is unscored for a, item 3 missing for b
    assert pair.difference == pytest.approx(-0.2)
    assert any("Up to 2 items" in note for note in comparison.notes)


def test_nothing_in_common_is_not_tested() -> None:
    rows = systems(a=[0.1, 0.2, None], b=[None, None, 0.5])
    pair = only(compare(table(rows)))
    assert (pair.n, pair.p, pair.p_holm, pair.low, pair.difference, pair.better) == (0, None, None, None, None, None)


def test_one_common_item_has_no_interval() -> None:
    pair = only(compare(table(systems(a=[0.5], b=[0.1]))))
    assert (pair.low, pair.high, pair.p_bootstrap, pair.d_z, pair.p) == (None, None, None, None, 1.0)


def test_pairs_by_reference_where_ids_differ() -> None:
    rows = systems(a=[0.1, 0.2, 0.3], b=[0.2, 0.3, 0.4])
    for row in rows:
        row["reference_key"] = "r" + row["id"]
        row["id"] = row["system"] + row["id"]
    comparison = compare(table(rows))
    assert comparison.item == "reference_key" and only(comparison).n == 3
    assert (
        comparison.headline
        == "3 items have a row from both systems, paired by equal references (column 'reference_key')."
    )


def test_nothing_to_pair_by_is_said() -> None:
    rows = [{"id": row["system"] + row["id"], **{k: row[k] for k in ("system", "m")}} for row in systems(a=[1], b=[2])]
    with pytest.raises(MedassayError, match="with `item`"):
        compare(table(rows))


def test_several_rows_for_one_item_count_as_their_mean() -> None:
    rows = [*systems(a=[0.2, 0.5], b=[0.1, 0.1]), {"id": "0", "system": "a", "m": 0.4}]
    comparison = compare(table(rows))
    assert only(comparison).mean_first == pytest.approx((0.3 + 0.5) / 2)
    assert comparison.headline.startswith(
        "2 items have a row from both systems, paired by column 'id'. 5 rows become 4: on 1 items a system has up to 2"
    )


def test_same_id_but_other_reference_is_pointed_out() -> None:
    rows = systems(a=[0.1, 0.2], b=[0.3, 0.4])
    for row in rows:
        row["reference_key"] = "r" + row["id"] if row["id"] == "0" else row["system"]
    assert any("1 items have different references" in note for note in compare(table(rows)).notes)


def test_wrong_system_columns_are_refused() -> None:
    rows = systems(a=[0.1, 0.2])
    with pytest.raises(MedassayError, match="1 different values"):
        compare(table(rows))
    with pytest.raises(MedassayError, match="with `by`"):
        compare(table([{"id": "1", "m": 0.5}]))
    with pytest.raises(MedassayError, match="did you mean 'system'"):
        compare(table(systems(a=[0.1], b=[0.2])), by="sytem")
    rows = [{"id": row["id"], "model": row["system"], "m": row["m"]} for row in systems(a=[1, 2, 3], b=[3, 2, 1])]
    with pytest.raises(MedassayError, match=r"with `by` \(it may be model\)"):
        compare(table(rows))


def test_same_seed_same_answer_and_more_clusters_than_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(8)
    a = generator.random(400)
    b = a + generator.normal(0.01, 0.1, 400)
    scores = table(systems(a=a.tolist(), b=b.tolist()))
    assert compare(scores, resamples=500) == compare(scores, resamples=500)
    apart = only(compare(scores))
    monkeypatch.setattr("medassay.study.resampling.MOST_CLUSTERS", 100)
    comparison = compare(scores)
    assert any("merged at random into 100 groups" in note for note in comparison.notes)
    merged = only(comparison)
    assert merged.clusters == 100 and merged.difference == pytest.approx(apart.difference)
    assert merged.low == pytest.approx(apart.low, abs=0.004)
    assert merged.p == pytest.approx(apart.p, abs=0.05)


def test_too_few_flips_for_the_number_of_tests_is_said() -> None:
    generator = np.random.default_rng(0)
    comparison = compare(table(systems(a=generator.random(30).tolist(), b=generator.random(30).tolist())), resamples=10)
    assert any("raise the resamples" in note for note in comparison.notes)
    with pytest.raises(MedassayError, match="resamples"):
        compare(table(systems(a=[0.1], b=[0.2])), resamples=0)


def test_values_are_over_all_scored_rows_as_in_a_summary() -> None:
    comparison = compare(table(systems(a=[0.2, 0.4], b=[None, None])))
    assert comparison.values["m"]["a"].value == pytest.approx(0.3) and math.isnan(comparison.values["m"]["b"].value)
    rows = [*systems(a=[0.2, 0.5], b=[0.1, 0.1]), {"id": "0", "system": "a", "m": 0.8}, {"system": "a", "m": 0.9}]
    comparison = compare(table(rows))
    assert comparison.values["m"]["a"].value == pytest.approx((0.2 + 0.5 + 0.8 + 0.9) / 4)
    assert only(comparison).mean_first == pytest.approx((0.5 + 0.5) / 2)  # items 0 and 1, the rows of 0 as their mean


def test_corpus_level_metrics_are_pointed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Corpus(Metric):
        def combine(self, sums: Floats, counts: Floats) -> Floats:
            return sums[..., 0] / sums[..., 1]

    monkeypatch.setattr("medassay.engine.score_table.names", lambda: {"m": "here:Corpus"})
    monkeypatch.setattr("medassay.engine.score_table.metric_class", lambda name: Corpus)
    notes = compare(table(systems(a=[0.1, 0.2], b=[0.3, 0.4]))).notes
    assert any("not the corpus-level value: m" in note for note in notes)


def bleu_rows(count: int, seed: int = 3) -> tuple[list[Case], list[dict[str, Any]]]:
    """Cases of two systems with word overlap of different size, and their records as a scores file has them."""
    generator = np.random.default_rng(seed)
    words = np.array(
        [
            "the",
            "a",
            "of",
            "tumour",
            "node",
            "margin",
            "clear",
            "grade",
            "no",
            "two",
            "seen",
            "in",
            "breast",
            "left",
            "skin",
            "with",
            "and",
            "size",
        ]
    )
    cases = []
    for i in range(count):
        reference = generator.choice(words, 24)
        for name, share in (("a", 0.30), ("b", 0.36)):
            changed = np.where(generator.random(24) < share, generator.choice(words, 24), reference)
            cases.append(Case(str(i), " ".join(changed), (" ".join(reference),), system=name))
    result = score(cases, metrics=["bleu", "chrf"])
    return cases, [dict(row) for row in result.rows()]


def test_corpus_level_tests_agree_with_sacrebleu() -> None:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.significance import PairedTest

    cases, rows = bleu_rows(60)
    texts = {name: [case.candidate for case in cases if case.system == name] for name in "ab"}
    references = [[case.references[0] for case in cases if case.system == "a"]]
    comparison = compare(table(rows, ("bleu", "chrf")), resamples=4000)
    assert comparison.corpus == ("bleu", "chrf")
    pair = comparison.pairs[0]
    ours = BLEU(effective_order=True)
    expected = {name: ours.corpus_score(texts[name], references).score for name in "ab"}
    assert (pair.mean_first, pair.mean_second) == pytest.approx((expected["a"], expected["b"]))
    _, scores = PairedTest(list(texts.items()), {"BLEU": ours}, references, test_type="ar", n_samples=4000, n_jobs=1)()
    assert pair.p == pytest.approx(scores["BLEU"][1].p_value, abs=0.03)
    assert pair.low is not None and pair.high is not None and pair.difference is not None
    assert pair.low < pair.difference < pair.high


def test_corpus_level_randomisation_by_hand() -> None:
    _, rows = bleu_rows(5)
    comparison = compare(table(rows, ("chrf",)), metrics=["chrf"])
    metric = load_metric("chrf")
    sums = {
        name: np.array([[float(x) for x in row["chrf.statistics"].split()] for row in rows if row["system"] == name])
        for name in "ab"
    }
    apart = []
    for swap in itertools.product((False, True), repeat=5):
        mask = np.array(swap)[:, None]
        first, second = (np.where(mask, sums[x], sums[y]).sum(axis=0) for x, y in (("b", "a"), ("a", "b")))
        apart.append(abs(float(metric.combine(first, np.array(5.0)) - metric.combine(second, np.array(5.0)))))
    pair = only(comparison)
    assert pair.exact and pair.p == pytest.approx(np.mean([x >= apart[0] - 1e-9 for x in apart]))


def test_values_are_those_of_the_summary() -> None:
    cases, rows = bleu_rows(12)
    result = score(cases, metrics=["bleu", "chrf", "rouge1"])
    rows = [dict(row) for row in result.rows()]
    values = compare(table(rows, ("bleu", "chrf", "rouge1")), resamples=50).values
    for aggregate in result.summary(by="system"):
        assert values[aggregate.metric][aggregate.group or ""].value == pytest.approx(aggregate.value, rel=1e-12)


def test_a_table_without_statistics_compares_means_and_says_so() -> None:
    _, rows = bleu_rows(6)
    for row in rows:
        del row["bleu.statistics"]
    comparison = compare(table(rows, ("bleu",)), metrics=["bleu"], resamples=50)
    assert comparison.corpus == () and any("not the corpus-level value: bleu" in note for note in comparison.notes)
