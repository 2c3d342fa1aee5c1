from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from medassay.models.decoding import bio_labels, bio_transitions, decode_spans, viterbi
from medassay.spans import ENTITY_TYPES, HARE_TYPES, RELATION_TYPES

LABELS = bio_labels(["site", "grade"])
TRANSITIONS = bio_transitions(LABELS)


def logits_for(path: str, sure: float = 9.0) -> np.ndarray:
    """Scores that favour the labels of a path such as `O B-site I-site`."""
    table = np.zeros((len(path.split()), len(LABELS)), np.float32)
    for i, label in enumerate(path.split()):
        table[i, LABELS.index(label)] = sure
    return table


def test_labels_run_over_the_types_in_their_order() -> None:
    assert bio_labels()[:3] == ("O", "B-site", "I-site")
    assert len(bio_labels()) == 1 + 2 * len(ENTITY_TYPES)
    assert ENTITY_TYPES[:5] == HARE_TYPES
    assert all(RELATION_TYPES[pair] == "_".join(pair) for pair in RELATION_TYPES)


@settings(deadline=None)
@given(arrays(np.float32, st.tuples(st.integers(1, 4), st.just(5)), elements=st.floats(-5, 5, width=32)))
def test_the_path_is_the_best_of_all_that_bio_allows(scores: np.ndarray) -> None:
    def total(path: tuple[int, ...]) -> float:
        steps = sum(float(TRANSITIONS[a, b]) for a, b in zip((0, *path), path))
        return steps + sum(float(scores[i, label]) for i, label in enumerate(path))

    best = max(total(path) for path in product(range(5), repeat=len(scores)))
    found = tuple(viterbi(scores, TRANSITIONS))
    assert total(found) == pytest.approx(best, abs=1e-4)
    for before, after in zip(("O", *(LABELS[i] for i in found)), (LABELS[i] for i in found)):
        assert not after.startswith("I-") or before[2:] == after[2:]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("O O", []),
        ("B-site I-site O B-grade", [(0, 1, "site"), (3, 3, "grade")]),
        ("B-site B-site", [(0, 0, "site"), (1, 1, "site")]),
        ("B-site B-grade I-grade", [(0, 0, "site"), (1, 2, "grade")]),
        ("O B-site", [(1, 1, "site")]),
    ],
)
def test_spans_of_a_path(path: str, expected: list[tuple[int, int, str]]) -> None:
    assert [(s.first, s.last, s.type) for s in decode_spans(logits_for(path), LABELS)] == expected


def test_confidence_is_the_mean_softmax_of_the_span_and_temperature_flattens_it() -> None:
    # Five labels, one at log 4: softmax 4 / (4 + 4) = 1/2.
    scores = logits_for("B-site I-site", float(np.log(4.0)))
    assert decode_spans(scores, LABELS)[0].score == pytest.approx(0.5)
    assert decode_spans(scores, LABELS, temperature=2.0)[0].score == pytest.approx(2 / 6)


def test_no_words_give_no_spans() -> None:
    assert decode_spans(np.zeros((0, 5), np.float32), LABELS) == []
    assert viterbi(np.zeros((0, 5), np.float32), TRANSITIONS) == []
