"""From label scores of words to entity spans: BIO labels, constrained Viterbi, span confidence.

Pure NumPy, shared by the training recipes (held-out figures) and the runtime, so that the figures in the model card
come from the decoder that users run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medassay.spans import ENTITY_TYPES

FORBIDDEN = -1e4


@dataclass(frozen=True, slots=True)
class WordSpan:
    """An entity over words `first`…`last` (both inclusive), its type and a confidence in 0…1."""

    first: int
    last: int
    type: str
    score: float


def bio_labels(types: Sequence[str] = ENTITY_TYPES) -> tuple[str, ...]:
    """Label names in the order of the classifier's outputs: O, then B and I of each type.

    >>> bio_labels(["site"])
    ('O', 'B-site', 'I-site')
    """
    return ("O", *(f"{part}-{name}" for name in types for part in "BI"))


def bio_transitions(labels: Sequence[str]) -> NDArray[np.float32]:
    """Transition scores [from, to]: 0 where BIO allows the step, `FORBIDDEN` where I-x follows no x."""
    table = np.zeros((len(labels), len(labels)), np.float32)
    for i, before in enumerate(labels):
        for j, after in enumerate(labels):
            if after.startswith("I-") and before[1:] != after[1:]:
                table[i, j] = FORBIDDEN
    return table


def viterbi(log_probs: NDArray[np.float32], transitions: NDArray[np.float32]) -> list[int]:
    """The best label path over words for `log_probs` [words, labels]; an entity cannot begin with I."""
    words, labels = log_probs.shape
    if words == 0:
        return []
    outside = transitions[0]
    best = log_probs[0] + outside
    back = np.zeros((words, labels), np.int64)
    for word in range(1, words):
        paths = best[:, None] + transitions
        back[word] = paths.argmax(0)
        best = paths[back[word], np.arange(labels)] + log_probs[word]
    path = [int(best.argmax())]
    for word in range(words - 1, 0, -1):
        path.append(int(back[word, path[-1]]))
    return path[::-1]


def decode_spans(
    logits: NDArray[np.float32],
    labels: Sequence[str],
    transitions: NDArray[np.float32] | None = None,
    temperature: float = 1.0,
) -> list[WordSpan]:
    """Entities in the word scores `logits` [words, labels].

    The confidence of an entity is the mean, over its words, of the softmax probability of the decoded
    label (HARE keeps entities above 0.7); `temperature` flattens over-sure scores first.
    """
    if len(logits) == 0:
        return []
    scaled = logits.astype(np.float32) / temperature
    log_probs = scaled - np.logaddexp.reduce(scaled, axis=1, keepdims=True)
    path = viterbi(log_probs, bio_transitions(labels) if transitions is None else transitions)
    chosen = np.exp(log_probs[np.arange(len(path)), path])
    spans: list[WordSpan] = []
    first = -1
    for word, label in enumerate([*path, 0]):
        name = labels[label]
        if first >= 0 and not name.startswith("I-"):
            kind = labels[path[first]][2:]
            spans.append(WordSpan(first, word - 1, kind, float(chosen[first:word].mean())))
            first = -1
        if name.startswith("B-"):
            first = word
    return spans
