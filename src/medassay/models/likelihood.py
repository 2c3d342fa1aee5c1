"""Role `likelihood`: how likely each token of a text is, given another text.

The embedded model is a small encoder–decoder that may also copy from its source (`training/seq2seq.py`). A source
of any length is read in overlapping windows whose states are joined. A target is predicted in stretches, each after
some tokens of context that are not counted again. A stretch sees all of a source of up to 8,192 tokens, and of a
longer one only the windows that share most words with it: otherwise its cost would grow with the product of both
lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medassay.models.base import Matrix, TokenLogs
from medassay.models.graphs import BUDGET, ModelSet, framed, stack
from medassay.models.states import state_windows
from medassay.models.tokens import CLS, Tokens, batches, pad

Pair = tuple[str, str]

OVERLAP = 100
"""Source tokens that neighbouring windows share."""

CELLS = 1_000_000
"""Target times source tokens of a batch: bounds what attention holds at once (12 heads: 48 MB)."""

SEEN = 8192
"""Source tokens that a stretch of a target may attend to."""

MEMORY = 60_000
"""Source tokens whose states are held at once: 92 MB."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Tokens `first` … `last` of a pair's target as one row; those before `counted` are context only."""

    pair: int
    first: int
    counted: int
    last: int


def stretches(pair: int, length: int, room: int, context: int) -> Iterator[Stretch]:
    """Rows of at most `room` tokens that count every token of a target once.

    >>> [(s.first, s.counted, s.last) for s in stretches(0, 10, 6, 2)]
    [(0, 0, 6), (4, 6, 10)]
    """
    yield Stretch(pair, 0, 0, min(room, length))
    done = room
    while done < length:
        last = min(done + room - context, length)
        yield Stretch(pair, done - context, done, last)
        done = last


@dataclass(frozen=True, slots=True)
class Source:
    """An encoded source: ids and states of its tokens, frame tokens included.

    spans: the tokens [first, last) of each window; every token except the frame tokens is in exactly one.
    """

    ids: NDArray[np.int64]
    states: Matrix
    spans: Sequence[tuple[int, int]]

    def seen_by(self, target_ids: Sequence[int], most: int = SEEN) -> NDArray[np.int64]:
        """Positions that a stretch of target tokens attends to: all, or those of the windows that share most with it.

        The fewer windows have a shared token, the more it counts.
        """
        if len(self.ids) <= most:
            return np.arange(len(self.ids))
        target = np.unique(np.asarray(target_ids, np.int64))
        shared = np.stack([np.isin(target, self.ids[first:last]) for first, last in self.spans])
        worth = shared @ np.log(len(self.spans) / np.maximum(shared.sum(0), 1))
        visible = np.ones(len(self.ids), bool)
        for first, last in self.spans:
            visible[first:last] = False
        room = most - int(visible.sum())
        for k in np.argsort(-worth, kind="stable"):
            first, last = self.spans[k]
            if last - first > room:
                break
            visible[first:last] = True
            room -= last - first
        return np.flatnonzero(visible)


class EmbeddedLikelihood:
    """The embedded encoder–decoder; each distinct source is read once, each distinct pair predicted once."""

    def __init__(self, models: ModelSet) -> None:
        self.models = models
        self.settings = models.role("likelihood")
        self.name = f"{models.name}/likelihood"

    def log_likelihood(self, pairs: Sequence[Pair]) -> Matrix:
        """Mean log-probability of a token of the second text given the first; ≤ 0, nearer 0 is likelier.

        NaN where the second text has no token.
        """
        return means(self.token_logs(pairs))

    def token_logs(self, pairs: Sequence[Pair]) -> list[TokenLogs]:
        """Log-probability of each token of each pair's second text, given the first and the tokens before it."""
        distinct = list(dict.fromkeys(pairs))
        texts = list(dict.fromkeys(text for pair in distinct for text in pair))
        tokens = dict(zip(texts, self.models.tokenizer(texts)))
        by_pair: dict[Pair, TokenLogs] = {}
        for block in _blocks(distinct, tokens):
            sources = list(dict.fromkeys(source for source, _ in block))
            source_states = dict(zip(sources, self._read([tokens[source] for source in sources])))
            logs = self._predict(block, tokens, source_states)
            by_pair |= {pair: TokenLogs(target_logs, tokens[pair[1]].offsets) for pair, target_logs in zip(block, logs)}
        return [by_pair[pair] for pair in pairs]

    def _read(self, sources: Sequence[Tokens]) -> list[Source]:
        """The states of each source: those of its tokens, after that of its first frame token."""
        windows = state_windows(sources, int(self.settings["max_tokens"]) - 2, cut=False, overlap=OVERLAP)
        states: list[Matrix] = [np.zeros((0, 0), np.float32)] * len(windows)
        for batch in batches([len(w) + 2 for w in windows], BUDGET):
            rows = [framed(sources[windows[i].text].ids[windows[i].first : windows[i].last]) for i in batch]
            hidden, mask = stack(self.models.hidden(rows))
            memory = self.models.run(self.settings["reader"], {"hidden": hidden, "mask": mask})[0]
            for k, i in enumerate(batch):
                states[i] = memory[k]
        parts: list[list[Matrix]] = [[] for _ in sources]
        spans: list[list[tuple[int, int]]] = [[] for _ in sources]
        for window, row in zip(windows, states):
            if not parts[window.text]:
                parts[window.text].append(row[:1])
            shift = 1 - window.first
            parts[window.text].append(row[window.owned_first + shift : window.owned_last + shift])
            spans[window.text].append((window.owned_first + 1, window.owned_last + 1))
        return [
            Source(np.array([CLS, *tokens.ids], np.int64), np.concatenate(part), span)
            for tokens, part, span in zip(sources, parts, spans)
        ]

    def _predict(self, pairs: Sequence[Pair], tokens: dict[str, Tokens], sources: dict[str, Source]) -> list[Matrix]:
        room, context = int(self.settings["target_tokens"]), int(self.settings["context_tokens"])
        logs_of_pairs = [np.zeros(len(tokens[target]), np.float32) for _, target in pairs]
        rows = [
            row
            for i, (_, target) in enumerate(pairs)
            for row in stretches(i, len(tokens[target]), room, context)
            if len(tokens[target])
        ]
        widths = [min(len(sources[pairs[row.pair][0]].ids), SEEN) for row in rows]
        for batch in row_batches(rows, widths):
            batch_rows = [rows[k] for k in batch]
            target_ids = [tokens[pairs[row.pair][1]].ids[row.first : row.last] for row in batch_rows]
            batch_logs = self._run(target_ids, [sources[pairs[row.pair][0]] for row in batch_rows])
            for row, logs in zip(batch_rows, batch_logs):
                logs_of_pairs[row.pair][row.counted : row.last] = logs[row.counted - row.first : row.last - row.first]
        return logs_of_pairs

    def _run(self, target_ids: Sequence[Sequence[int]], sources: Sequence[Source]) -> Matrix:
        visible = [source.seen_by(ids) for ids, source in zip(target_ids, sources)]
        memory, mask = stack([source.states[places] for source, places in zip(sources, visible)])
        ids = np.zeros_like(mask)
        for k in range(len(mask)):  # `stack` repeats a single row, and pads
            places = visible[k % len(visible)]
            ids[k, : len(places)] = sources[k % len(visible)].ids[places]
        targets = [target_ids[k % len(target_ids)] for k in range(len(mask))]
        feeds = {
            "memory": memory,
            "mask": mask,
            "source": ids,
            # Multiples of eight, as in `stack`: a number must not depend on the length of its neighbours.
            "given": pad([[CLS, *target[:-1]] for target in targets], multiple=8),
            "wanted": pad(targets, multiple=8),
        }
        logs: Matrix = self.models.run(self.settings["graph"], feeds)[0]
        return logs


def means(logs: Sequence[TokenLogs]) -> Matrix:
    """The mean of each text's log-probabilities; NaN where it has no token."""
    return np.array([text.logs.mean(dtype=np.float64) if len(text.logs) else np.nan for text in logs], np.float32)


def _blocks(pairs: Sequence[Pair], tokens: dict[str, Tokens]) -> Iterator[list[Pair]]:
    """Pairs sorted by source, in blocks whose distinct sources are few enough to be held."""
    by_source: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_source.setdefault(pair[0], []).append(pair)
    block: list[Pair] = []
    source_tokens = 0
    for source, members in by_source.items():
        if block and source_tokens + len(tokens[source]) > MEMORY:
            yield block
            block, source_tokens = [], 0
        block += members
        source_tokens += len(tokens[source]) + 1
    if block:
        yield block


def row_batches(rows: Sequence[Stretch], sources: Sequence[int]) -> Iterator[list[int]]:
    """Indices of rows in batches of like lengths: at most BUDGET target tokens and CELLS pairs of tokens, padded."""
    order = sorted(range(len(rows)), key=lambda i: (-(rows[i].last - rows[i].first), -sources[i], i))
    batch: list[int] = []
    width = 0
    for i in order:
        length = rows[batch[0]].last - rows[batch[0]].first if batch else 0
        wider = max(width, sources[i])
        count = len(batch) + 1
        if batch and (count * length > BUDGET or count * length * wider > CELLS):
            yield batch
            batch, wider = [], sources[i]
        batch.append(i)
        width = wider
    if batch:
        yield batch
