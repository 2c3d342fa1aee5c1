"""The roles of the embedded set: encoder and align, ner, re."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np

from medassay.errors import ModelError
from medassay.models.activations import sigmoid, softmax
from medassay.models.base import Matrix, TokenStates
from medassay.models.caching import RecentAnswers
from medassay.models.decoding import bio_transitions, decode_spans
from medassay.models.graphs import BUDGET, ModelSet, framed, stack
from medassay.models.states import join_states, state_windows
from medassay.models.tokens import CLS, SEP, Tokens, Window, batches, text_windows
from medassay.spans import Link, Reading, Span

READ_WINDOW = 126
"""Word pieces of a reading window: a few sentences, as in training; with frame tokens 128.

`ner` and `re` share their windows, so that the trunk runs once for both."""

CACHED_TEXTS = 20_000
"""Texts whose vectors an encoder keeps."""


class EmbeddedEncoder:
    """Roles `encoder` and `align`: unit vectors; each distinct text is encoded once."""

    def __init__(self, models: ModelSet, role: str) -> None:
        self.models = models
        self.settings = models.role(role)
        self.name = f"{models.name}/{role}"
        self.layers = (int(models.role("trunk")["layers"]),)
        self.cache: RecentAnswers[str, Matrix] = RecentAnswers(CACHED_TEXTS)

    def token_ids(self, texts: Sequence[str], *, cut: bool = False) -> list[list[int]]:
        """The ids of each text's tokens, without frame tokens; `cut`: only those that fit in a row."""
        room = int(self.settings["max_tokens"]) - 2 if cut else None
        return [tokens.ids[:room] for tokens in self.models.tokenizer(texts)]

    def token_states(
        self, texts: Sequence[str], *, layer: int, cut: bool = False, overlap: int = 100
    ) -> list[TokenStates]:
        """The states after the trunk, the one layer that the embedded graphs give out for every token."""
        if layer not in self.layers:
            raise ModelError(f"{self.name}: token states are to be had of layer {self.layers[0]}, not of {layer}")
        tokens = self.models.tokenizer(texts)
        windows = state_windows(tokens, int(self.settings["max_tokens"]) - 2, cut=cut, overlap=overlap)
        rows = self.models.hidden([framed(tokens[w.text].ids[w.first : w.last]) for w in windows])
        return join_states(tokens, windows, rows, (CLS,), (SEP,))

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors [texts, size]. A long text is the mean of its windows, weighted by their tokens."""
        rows = self.cache.look_up(texts, self._encode)
        return np.stack(rows) if rows else np.zeros((0, int(self.settings["size"])), np.float32)

    def _encode(self, texts: Sequence[str]) -> list[Matrix]:
        limit = int(self.settings["max_tokens"]) - 2
        tokens = self.models.tokenizer(texts)
        windows = [
            Window(t, first, min(first + limit, len(text)), 0, 0)
            for t, text in enumerate(tokens)
            for first in range(0, max(len(text), 1), limit)
        ]
        sums = np.zeros((len(texts), int(self.settings["size"])), np.float64)
        for batch in batches([len(w) + 2 for w in windows], BUDGET):
            batch_windows = [windows[i] for i in batch]
            states = self.models.hidden([framed(tokens[w.text].ids[w.first : w.last]) for w in batch_windows])
            hidden, mask = stack(states)
            vectors = self.models.run(self.settings["graph"], {"hidden": hidden, "mask": mask})[0]
            for window, vector in zip(batch_windows, vectors):
                sums[window.text] += vector.astype(np.float64) * (len(window) + 2)
        norms = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
        return list((sums / norms).astype(np.float32))


class EmbeddedNer:
    """Role `ner`: typed spans with a confidence, by constrained Viterbi over words."""

    def __init__(self, models: ModelSet) -> None:
        self.models = models
        self.settings = models.role("ner")
        self.name = f"{models.name}/ner"
        self.labels: list[str] = list(self.settings["labels"])
        self.transitions = bio_transitions(self.labels)

    def spans(self, texts: Sequence[str]) -> list[list[Span]]:
        """The entities of each text, in text order, never overlapping."""
        tokens = self.models.tokenizer(texts)
        windows = text_windows(texts, tokens, READ_WINDOW)
        spans_of_texts: list[list[Span]] = [[] for _ in texts]
        for batch in batches([len(w) + 2 for w in windows], BUDGET):
            batch_windows = [windows[i] for i in batch]
            states = self.models.hidden([framed(tokens[w.text].ids[w.first : w.last]) for w in batch_windows])
            hidden, mask = stack(states)
            logits = self.models.run(self.settings["graph"], {"hidden": hidden, "mask": mask})[0]
            for window, scores in zip(batch_windows, logits):
                spans_of_texts[window.text] += self._decode(window, tokens[window.text], scores)
        return [without_overlaps(spans) for spans in spans_of_texts]

    def _decode(self, window: Window, tokens: Tokens, scores: Matrix) -> list[Span]:
        words = _words(tokens, window)
        at_first = np.array([first - window.first + 1 for first, _ in words], np.int64)
        spans = []
        for span in decode_spans(scores[at_first], self.labels, self.transitions, float(self.settings["temperature"])):
            first, last = words[span.first][0], words[span.last][1]
            if window.owned_first <= first < window.owned_last:
                start, end = tokens.offsets[first][0], tokens.offsets[last][1]
                spans.append(Span(start, end, span.type, span.score))
        return spans


class EmbeddedRelations:
    """Role `re`: assertions and relations of given spans, all pairs of a window in one pass."""

    def __init__(self, models: ModelSet) -> None:
        self.models = models
        self.settings = models.role("re")
        self.name = f"{models.name}/re"
        self.tags = {tag: i for i, tag in enumerate(self.settings["tags"])}
        self.pairs = {(head, tail) for head, tail in self.settings["pairs"]}

    def read(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Reading]:
        """Relations join spans of one window (a few sentences); every span gets an assertion."""
        tokens = self.models.tokenizer(texts)
        windows = text_windows(texts, tokens, READ_WINDOW)
        orders = [SpansByStart(indices) for indices in spans]
        placed = [_placed(window, tokens[window.text], orders[window.text]) for window in windows]
        with_spans = [i for i, inside in enumerate(placed) if inside]
        assertions = [[("present", 0.0)] * len(indices) for indices in spans]
        links: list[list[Link]] = [[] for _ in texts]
        for batch in batches([len(windows[i]) + 2 for i in with_spans], BUDGET):
            indices = [with_spans[i] for i in batch]
            self._ask([windows[i] for i in indices], [placed[i] for i in indices], tokens, spans, assertions, links)
        return [Reading(tuple(a), tuple(sorted(k, key=_by_place))) for a, k in zip(assertions, links)]

    def _ask(
        self,
        windows: Sequence[Window],
        placed: Sequence[list[tuple[int, int, int]]],
        tokens: Sequence[Tokens],
        spans: Sequence[Sequence[Span]],
        assertions: list[list[tuple[str, float]]],
        links: list[list[Link]],
    ) -> None:
        states = self.models.hidden([framed(tokens[w.text].ids[w.first : w.last]) for w in windows])
        hidden, mask = stack(states)
        tags = np.zeros(mask.shape, np.int64)
        entities: list[tuple[int, int, int, int]] = []
        heads: list[int] = []
        tails: list[int] = []
        for row, (window, inside) in enumerate(zip(windows, placed)):
            base = len(entities)
            kinds = []
            for span, first, last in inside:
                kind = spans[window.text][span].type
                kinds.append(kind)
                tags[row, first : last + 1] = self.tags.get(f"I-{kind}", 0)
                tags[row, first] = self.tags.get(f"B-{kind}", 0)
                entities.append((row, first, last, span))
            for i, head in enumerate(kinds):
                for j, tail in enumerate(kinds):
                    if (head, tail) in self.pairs:
                        heads.append(base + i)
                        tails.append(base + j)
        # At least two of each: products of a single row differ in the last bit (see `stack`), and the graph
        # needs at least one pair. The answer for a dummy is not used.
        table = np.array(entities if len(entities) > 1 else entities * 2, np.int64)
        dummies = [0] * (2 - len(heads))
        feeds = {
            "hidden": hidden,
            "mask": mask,
            "tags": tags,
            "row": table[:, 0],
            "first": table[:, 1],
            "last": table[:, 2],
            "head": np.array(heads + dummies, np.int64),
            "tail": np.array(tails + dummies, np.int64),
        }
        related, asserted = self.models.run(self.settings["graph"], feeds)
        self._keep(windows, entities, heads, tails, related, asserted, spans, assertions, links)

    def _keep(
        self,
        windows: Sequence[Window],
        entities: Sequence[tuple[int, int, int, int]],
        heads: Sequence[int],
        tails: Sequence[int],
        related: Any,
        asserted: Any,
        spans: Sequence[Sequence[Span]],
        assertions: list[list[tuple[str, float]]],
        links: list[list[Link]],
    ) -> None:
        names = self.settings["assertions"]
        probabilities = softmax(asserted)
        for (row, _, _, span), chances in zip(entities, probabilities):
            best = int(chances.argmax())
            assertions[windows[row].text][span] = (names[best], float(chances[best]))
        for head, tail, p in zip(heads, tails, sigmoid(related)):
            if p >= self.settings["threshold"]:
                text = windows[entities[head][0]].text
                i, j = entities[head][3], entities[tail][3]
                links[text].append(Link(i, j, f"{spans[text][i].type}_{spans[text][j].type}", float(p)))


def without_overlaps(spans: list[Span]) -> list[Span]:
    """Spans in text order without overlaps; where two overlap (at a window's edge) the surer stays."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if kept and span.start < kept[-1].end:
            if span.score > kept[-1].score:
                kept[-1] = span
        else:
            kept.append(span)
    return kept


def _by_place(link: Link) -> tuple[int, int]:
    return (link.head, link.tail)


def _words(tokens: Tokens, window: Window) -> list[tuple[int, int]]:
    """(first, last) token of each word in a window: a piece and the `##` pieces that follow it."""
    words: list[tuple[int, int]] = []
    for i in range(window.first, window.last):
        if words and tokens.pieces[i].startswith("##"):
            words[-1] = (words[-1][0], i)
        else:
            words.append((i, i))
    return words


class SpansByStart:
    """The spans of a text by where they begin, so that those of a window are found by binary search."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self.spans = spans
        self.indices = sorted(range(len(spans)), key=lambda i: (spans[i].start, spans[i].end))
        self.starts = [spans[i].start for i in self.indices]

    def begin_within(self, left: int, right: int) -> list[int]:
        """Indices of the spans that begin at `left` or later and before `right`, in text order."""
        return self.indices[bisect_left(self.starts, left) : bisect_left(self.starts, right)]


def _placed(window: Window, tokens: Tokens, spans: SpansByStart) -> list[tuple[int, int, int]]:
    """(span, first row position, last row position) of the spans whose first token the window owns."""
    offsets = tokens.offsets
    starts = [start for start, _ in offsets[window.first : window.last]]
    # From the end of the token before: a span may begin in the gap before its first token.
    earliest = offsets[window.first - 1][1] if window.first else 0
    inside = []
    for index in spans.begin_within(earliest, offsets[window.last - 1][1]):
        span = spans.spans[index]
        first = window.first + bisect_right(starts, span.start) - 1
        if first < window.first or offsets[first][1] <= span.start:
            first += 1
        if window.owned_first <= first < window.owned_last:
            last = window.first + bisect_left(starts, span.end) - 1
            inside.append((index, first - window.first + 1, max(first, last) - window.first + 1))
    return inside
