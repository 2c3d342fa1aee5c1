"""ROUGE: how much of the reference's wording the candidate has, and the reverse.

Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", 2004. Values are identical to the
`rouge-score` package, which follows ROUGE-1.5.5.

Text handling: lower case; a word is a run of a–z and 0–9, everything else (punctuation, accented and
other non-ASCII letters) separates words, as in `rouge-score`. A text without such a word scores 0.
`stem` puts words of more than three letters through the Porter stemmer. `normalize=nfkc` brings both
texts to Unicode's compatibility form first.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, Literal

import numpy as np

from medassay.cases import Case
from medassay.metrics.base import Floats, Metric
from medassay.metrics.ngrams import Block, Ints, Lexicon, Tokens, blocks, grams, normalized
from medassay.metrics.overlap import (
    LineIndex,
    Masks,
    Pairs,
    lcs_blocks,
    lcs_lengths,
    masks_of,
    ngram_pairs,
    spans_of,
    union_lcs,
)
from medassay.metrics.porter import stem as porter_stem
from medassay.metrics.settings import Normalize
from medassay.scores import Score

_WORD = re.compile(r"[a-z0-9]+")
_PAPER = "Lin, ROUGE: A Package for Automatic Evaluation of Summaries, 2004"


@cache
def lexicon(stem: bool) -> Lexicon:
    """ROUGE's words, stemmed or not; shared by all ROUGE metrics."""
    return Lexicon(_stems if stem else _words)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _stems(text: str) -> list[str]:
    return [porter_stem(word) if len(word) > 3 else word for word in _words(text)]


class _Rouge(Metric):
    """What the ROUGE metrics share: the value is F1 of precision (hits over the candidate's units) and
    recall (hits over the reference's)."""

    parts = ("precision", "recall", "f1")
    width = 1
    """Words per unit."""

    def __init__(
        self,
        *,
        stem: bool = False,
        normalize: Normalize = "none",
        references: Literal["best", "mean"] = "best",
    ) -> None:
        super().__init__(references=references)
        self.stem = stem
        self.normalize = normalize or "none"

    def settings(self) -> Mapping[str, object]:
        return {"stem": self.stem, "norm": self.normalize}

    @abstractmethod
    def hits(self, block: Block, tokens: Tokens) -> tuple[Ints, Ints, Ints]:
        """For each pair: units in common, units of the candidate, units of the reference."""

    @abstractmethod
    def aligned(self, candidate: str, reference: str) -> Pairs:
        """The units in common as positions of their first words (candidate, reference)."""

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        scores: list[Score] = []
        for block in blocks(cases, self.normalize):
            hits, of_candidate, of_reference = self.hits(block, lexicon(self.stem).encode(block.texts))
            precision = hits / np.maximum(of_candidate, 1)
            recall = hits / np.maximum(of_reference, 1)
            f1 = _f1(precision, recall)
            block_cases = cases[len(scores) : len(scores) + len(f1)]
            scores += [
                Score(
                    f,
                    parts={"precision": p, "recall": r, "f1": f},
                    evidence=self._evidence(case) if evidence else {},
                )
                for p, r, f, case in zip(precision.tolist(), recall.tolist(), f1.tolist(), block_cases)
            ]
        return scores

    def _evidence(self, case: Case) -> Mapping[str, Any]:
        """Where the matched words stand; nothing where normalisation moved the characters."""
        candidate, reference = case.candidate, case.reference or ""
        if any(normalized(text, self.normalize) != text for text in (candidate, reference)):
            return {}
        pairs = self.aligned(candidate, reference)
        return {"matches": spans_of(pairs, self.width, word_spans(candidate), word_spans(reference))}

    def _split(self, text: str) -> list[str]:
        return _stems(text) if self.stem else _words(text)


class Rouge1(_Rouge):
    """ROUGE-1: F1 over words, 0 to 1, higher is better (Lin 2004, section 2).

    >>> Rouge1().score([Case("1", "No tumor seen.", ("No tumour is seen.",))])[0].parts["recall"]
    0.5
    """

    name = "rouge1"
    summary = "words in common"
    defined = f"{_PAPER}, section 2"

    def hits(self, block: Block, tokens: Tokens) -> tuple[Ints, Ints, Ints]:
        return _common(block, tokens, self.width)

    def aligned(self, candidate: str, reference: str) -> Pairs:
        return ngram_pairs(self._split(candidate), self._split(reference), self.width)


class Rouge2(_Rouge):
    """ROUGE-2: F1 over pairs of neighbouring words, 0 to 1, higher is better (Lin 2004, section 2)."""

    name = "rouge2"
    summary = "word pairs in common"
    defined = f"{_PAPER}, section 2"
    width = 2

    def hits(self, block: Block, tokens: Tokens) -> tuple[Ints, Ints, Ints]:
        return _common(block, tokens, self.width)

    def aligned(self, candidate: str, reference: str) -> Pairs:
        return ngram_pairs(self._split(candidate), self._split(reference), self.width)


class RougeL(_Rouge):
    """ROUGE-L: F1 of the longest common subsequence of words, over the whole texts; 0 to 1, higher is
    better (Lin 2004, section 3.1, with β = 1)."""

    name = "rougeL"
    summary = "longest common subsequence of words"
    defined = f"{_PAPER}, section 3.1"

    def hits(self, block: Block, tokens: Tokens) -> tuple[Ints, Ints, Ints]:
        lengths = tokens.lengths
        return lcs_lengths(block, tokens), lengths[block.candidate], lengths[block.reference]

    def aligned(self, candidate: str, reference: str) -> Pairs:
        return lcs_blocks(self._split(candidate), self._split(reference))


class RougeLsum(_Rouge):
    """ROUGE-Lsum: F1 of the words in the union of line-by-line longest common subsequences; lines are
    what newlines separate; 0 to 1, higher is better (Lin 2004, section 3.2)."""

    name = "rougeLsum"
    summary = "longest common subsequences line by line, united"
    defined = f"{_PAPER}, section 3.2"

    def hits(self, block: Block, tokens: Tokens) -> tuple[Ints, Ints, Ints]:
        lengths = tokens.lengths
        hits = np.zeros(len(block.candidate), dtype=np.int64)
        plain = np.array(["\n" not in text for text in block.texts])
        # One line against one line: the union is the longest common subsequence itself.
        single = np.flatnonzero(plain[block.candidate] & plain[block.reference])
        if len(single):
            alone = Block(block.texts, block.candidate[single], block.reference[single])
            hits[single] = lcs_lengths(alone, tokens)
        lines = cache(lambda text: [self._split(line) for line in block.texts[text].split("\n")])
        masks = cache(lambda text: [(masks_of(line), len(line)) for line in lines(text)])
        for k in np.setdiff1d(np.arange(len(hits)), single).tolist():
            c, r = int(block.candidate[k]), int(block.reference[k])
            hits[k] = len(_united(lines(r), lines(c), masks(c)))
        return hits, lengths[block.candidate], lengths[block.reference]

    def aligned(self, candidate: str, reference: str) -> Pairs:
        ours = [self._split(line) for line in candidate.split("\n")]
        theirs = [self._split(line) for line in reference.split("\n")]
        return sorted(_united(theirs, ours, [(masks_of(line), len(line)) for line in ours]))


def _common(block: Block, tokens: Tokens, n: int) -> tuple[Ints, Ints, Ints]:
    *_, wanted = grams(tokens, n)
    totals = wanted.totals
    hits = wanted.matched(block.candidate, block.reference)
    return hits, totals[block.candidate], totals[block.reference]


def _united(
    reference: Sequence[Sequence[str]],
    candidate: Sequence[Sequence[str]],
    masks: Sequence[Masks],
) -> Pairs:
    """The hits of ROUGE-Lsum, as (candidate, reference) positions in the whole texts. As in ROUGE-1.5.5,
    a word counts at most as often as it occurs in either text."""
    remaining = Counter(word for line in reference for word in line)
    remaining &= Counter(word for line in candidate for word in line)
    starts = [0, *accumulate(len(line) for line in candidate)]
    index = LineIndex(candidate, masks)
    united: dict[tuple[str, ...], dict[int, tuple[int, int]]] = {}
    pairs: Pairs = []
    before = 0
    for line in reference:
        words = tuple(line)
        if words not in united:
            united[words] = union_lcs(line, index)
        for i, (which, j) in united[words].items():
            if remaining[line[i]] > 0:
                remaining[line[i]] -= 1
                pairs.append((starts[which] + j, before + i))
        before += len(line)
    return pairs


def _f1(precision: Floats, recall: Floats) -> Floats:
    total = precision + recall
    return np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0)


def word_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each of ROUGE's words, as characters of the text as given."""
    low = text.lower()
    spans = [match.span() for match in _WORD.finditer(low)]
    if len(low) == len(text):
        return spans
    # A few capitals become two characters in lower case; count back to the one they came from.
    origin = [i for i, character in enumerate(text) for _ in character.lower()]
    return [(origin[start], origin[end - 1] + 1) for start, end in spans]
