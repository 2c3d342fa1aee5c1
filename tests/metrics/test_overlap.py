"""Longest common subsequences and matched runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import lcs_ind

from medassay.metrics import overlap
from medassay.metrics.overlap import lcs_blocks, lcs_pairs, masks_of, ngram_pairs, runs, spans_of

letters = st.text(alphabet="abcd", max_size=20)


@given(reference=letters, candidate=letters)
def test_of_equally_long_ones_the_one_rouge_score_takes(reference: str, candidate: str) -> None:
    pairs = lcs_pairs(reference, masks_of(candidate), len(candidate))
    assert [i for i, _ in reversed(pairs)] == lcs_ind(reference, candidate)
    assert all(reference[i] == candidate[j] for i, j in pairs)


@given(reference=letters, candidate=letters, n=st.integers(1, 3))
def test_ngram_pairs_use_each_place_once(reference: str, candidate: str, n: int) -> None:
    pairs = ngram_pairs(candidate, reference, n)
    assert all(candidate[i : i + n] == reference[j : j + n] for i, j in pairs)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)


def test_runs_join_what_follows_in_both() -> None:
    assert list(runs([(0, 2), (1, 3), (2, 5)], 1)) == [(0, 2, 2), (2, 5, 1)]
    assert list(runs([(0, 2), (1, 3)], 2)) == [(0, 2, 3)]
    assert list(runs([], 1)) == []


def test_a_match_that_goes_on_is_preferred() -> None:
    assert ngram_pairs("bab", "abbab", 1) == [(0, 1), (1, 0), (2, 2)]
    assert ngram_pairs("xab", "bxab", 1) == [(0, 1), (1, 2), (2, 3)]


def test_evidence_and_tables_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [(k, k + 1) for k in range(2_000)]
    assert len(spans_of([(k, k // 2) for k in range(2_000)], 1, words, words)) == 400
    monkeypatch.setattr(overlap, "_CELLS", 10)
    assert lcs_blocks("abcd", "abcd") == []
    with pytest.raises(ValueError, match="too long"):
        lcs_pairs("abcd", masks_of("abcd"), 4)
