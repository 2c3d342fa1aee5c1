"""Made report-like texts: seeded, of any number, with word frequencies as in real text.

20,000 made words whose frequencies fall as 1/rank, in sentences with punctuation, capitals and numbers. A
candidate is its reference with words changed, dropped and added, sometimes with sentences in
another order. No two texts are equal, so nothing is won by remembering whole texts.
"""

from __future__ import annotations

import numpy as np

_SYLLABLES = "car cin o ma ade no dys pla sia tu mor lym pho cyt ic mu co sa fi bro sis in va sive he pat itis".split()  # noqa: SIM905
_VOCABULARY = 20_000


def pairs(number: int, words: int, seed: int = 1) -> list[tuple[str, str]]:
    """(candidate, reference) pairs of about `words` words a text."""
    rng = np.random.default_rng(seed)
    vocabulary = _words(rng)
    weights = 1 / np.arange(1, _VOCABULARY + 1)
    drawn = rng.choice(_VOCABULARY, size=number * words * 2, p=weights / weights.sum())
    made = []
    for k in range(number):
        ours = drawn[2 * k * words : (2 * k + 1) * words]
        others = drawn[(2 * k + 1) * words : (2 * k + 2) * words]
        length = int(rng.integers(words // 2, words + 1))
        reference = [vocabulary[i] for i in ours[:length]]
        fate = rng.random(length)
        candidate = [vocabulary[others[i]] if fate[i] < 0.2 else reference[i] for i in range(length) if fate[i] > 0.1]
        made.append((_text(candidate or reference, rng), _text(reference, rng)))
    return made


def _words(rng: np.random.Generator) -> list[str]:
    made: dict[str, None] = {}
    while len(made) < _VOCABULARY:
        chosen = rng.choice(_SYLLABLES, size=int(rng.integers(1, 6)))
        word = "".join(chosen.tolist())
        made[word if rng.random() > 0.05 else f"{rng.integers(1, 400) / 10:g}"] = None
    # Frequent words are short, as in any language.
    return sorted(made, key=lambda word: len(word) + rng.random() * 4)


def _text(words: list[str], rng: np.random.Generator) -> str:
    pieces = []
    start = True
    for word, chance in zip(words, rng.random(len(words)).tolist()):
        end = "." if chance < 0.1 else "," if chance < 0.17 else ";" if chance < 0.18 else ""
        pieces.append((word.capitalize() if start else word) + end)
        start = end == "."
    return " ".join(pieces)
