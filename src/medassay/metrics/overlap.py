"""Where two word sequences overlap: longest common subsequences, and matched spans for the report page.

Words are any hashable values; positions count words.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Sequence
from heapq import merge

import numpy as np

from medassay.metrics.ngrams import Block, Ints, Tokens

Pairs = list[tuple[int, int]]
Words = Sequence[Hashable]
Masks = tuple[dict[Hashable, int], int]
"""A line as `masks_of` its words, and how many these are."""

_SPANS = 400
"""Spans kept as evidence of one score: what a page can show, whatever the text's length."""

_CELLS = 2**32
"""Largest table (words × words, one bit each) that backtracking may hold: 512 MB."""


def lcs_lengths(block: Block, tokens: Tokens) -> Ints:
    """Words in each pair's longest common subsequence."""
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cpdist

    rows = tokens.sequences()
    candidates = [rows[i] for i in block.candidate.tolist()]
    references = [rows[i] for i in block.reference.tolist()]
    lengths = cpdist(candidates, references, scorer=LCSseq.similarity, dtype=np.int64)
    return np.asarray(lengths, dtype=np.int64)


def masks_of(words: Words) -> dict[Hashable, int]:
    """For each word, the positions it stands at, as the bits of one integer."""
    masks: dict[Hashable, int] = defaultdict(int)
    for j, word in enumerate(words):
        masks[word] |= 1 << j
    return dict(masks)


def lcs_pairs(reference: Words, masks: dict[Hashable, int], length: int) -> Pairs:
    """One longest common subsequence as (reference, candidate) positions, last first.

    The candidate comes as `masks_of` its `length` words. Among the longest ones it is the one that
    `rouge-score` reads out of its table, from the end: a match is taken at once; otherwise step back in
    the candidate only where that keeps more than stepping back in the reference. Rows of the table are
    bit vectors (Hyyrö, 2004): bit j of a row is 0 where the length grows at candidate word j.
    """
    # A reference word that the candidate lacks leaves its row unchanged and is always stepped over.
    shared = [(i, masks[word]) for i, word in enumerate(reference) if word in masks]
    if len(shared) * length > _CELLS:
        raise ValueError(f"{len(reference)} words against {length}: too long to backtrack their overlap")
    full = (1 << length) - 1
    rows = [full]
    for _, mask in shared:
        row = rows[-1]
        rows.append(((row + (row & mask)) | (row & ~mask)) & full)
    i, j = len(shared), length
    remaining = length - rows[-1].bit_count()
    pairs: Pairs = []
    while remaining:
        position, mask = shared[i - 1]
        if mask >> (j - 1) & 1:
            pairs.append((position, j - 1))
            i, j, remaining = i - 1, j - 1, remaining - 1
        elif rows[i] >> (j - 1) & 1 and j - (rows[i - 1] & ((1 << j) - 1)).bit_count() < remaining:
            j -= 1
        else:
            i -= 1
    return pairs


class LineIndex:
    """The lines of a candidate by their words, so that a line of the reference is held against those alone that share
    a word with it; of equal lines, the first."""

    def __init__(self, lines: Sequence[Words], masks: Sequence[Masks]) -> None:
        self.masks = masks
        self.where: dict[Hashable, list[int]] = {}
        distinct: set[tuple[Hashable, ...]] = set()
        for number, line in enumerate(lines):
            if (words := tuple(line)) not in distinct:
                distinct.add(words)
                for word in set(line):
                    self.where.setdefault(word, []).append(number)

    def sharing(self, line: Words) -> Iterator[int]:
        """The lines that share a word with this one, in order."""
        last = -1
        for number in merge(*(self.where[word] for word in set(line) if word in self.where)):
            if number != last:
                yield number
                last = number


def union_lcs(reference: Words, candidates: LineIndex) -> dict[int, tuple[int, int]]:
    """Reference positions that stand in the longest common subsequence with any of the candidate's
    lines (Lin 2004, section 3.2), in order, each with (line, position) in the candidate."""
    possible = sum(word in candidates.where for word in reference)
    matches: dict[int, tuple[int, int]] = {}
    for line in candidates.sharing(reference):
        masks, length = candidates.masks[line]
        for i, j in lcs_pairs(reference, masks, length):
            matches.setdefault(i, (line, j))
        if len(matches) == possible:
            break
    return dict(sorted(matches.items()))


def lcs_blocks(candidate: Words, reference: Words) -> Pairs:
    """One longest common subsequence as (candidate, reference) positions, in order."""
    if len(candidate) * len(reference) > _CELLS:
        return []
    return [(j, i) for i, j in reversed(lcs_pairs(reference, masks_of(candidate), len(candidate)))]


def ngram_pairs(candidate: Words, reference: Words, n: int) -> Pairs:
    """Which n-gram of the candidate is matched with which of the reference, by the positions of their first words.

    As many pairs as ROUGE-N counts. Of several equal n-grams, the one that continues the match before is
    preferred, then the first not yet taken, so that matches read as runs.
    """
    positions_of: defaultdict[tuple[Hashable, ...], deque[int]] = defaultdict(deque)
    theirs = [tuple(reference[j : j + n]) for j in range(len(reference) - n + 1)]
    for j, gram in enumerate(theirs):
        positions_of[gram].append(j)
    used = bytearray(len(theirs))
    pairs: Pairs = []
    last = -1
    for i in range(len(candidate) - n + 1):
        gram = tuple(candidate[i : i + n])
        j = last + 1
        if not (0 < j < len(theirs) and not used[j] and theirs[j] == gram):
            queue = positions_of.get(gram, deque())
            while queue and used[queue[0]]:
                queue.popleft()
            if not queue:
                last = -1
                continue
            j = queue.popleft()
        used[j] = 1
        pairs.append((i, j))
        last = j
    return pairs


def runs(pairs: Pairs, width: int) -> Iterator[tuple[int, int, int]]:
    """Pairs that follow each other in both texts as one run: (candidate, reference, words)."""
    start = 0
    for k in range(1, len(pairs) + 1):
        i, j = pairs[k - 1]
        if k == len(pairs) or pairs[k] != (i + 1, j + 1):
            yield (*pairs[start], k - start + width - 1)
            start = k


def spans_of(
    pairs: Pairs, width: int, candidate: Sequence[tuple[int, int]], reference: Sequence[tuple[int, int]]
) -> list[dict[str, list[int]]]:
    """Matched runs as character spans, at most 400; each match has `width` words."""
    spans = []
    for i, j, length in runs(pairs, width):
        spans.append(
            {
                "candidate": [candidate[i][0], candidate[i + length - 1][1]],
                "reference": [reference[j][0], reference[j + length - 1][1]],
            }
        )
        if len(spans) == _SPANS:
            break
    return spans
