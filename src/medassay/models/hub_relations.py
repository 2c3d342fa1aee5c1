"""Role `re` on transformers models: entity markers in the text, one row per pair."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from medassay.models.caching import RecentAnswers
from medassay.models.hub import Network
from medassay.models.hub_device import Answer
from medassay.models.hub_labels import read_relation_labels, relatedness
from medassay.models.roles import READ_WINDOW, SpansByStart
from medassay.models.tokens import Window, text_windows
from medassay.spans import RELATION_TYPES, Link, Reading, Span

RELATED = 0.5
"""A pair is linked from this chance upwards; HARE itself keeps what is above 0.7."""

_HEADS, _TAILS = (frozenset(kinds[side] for kinds in RELATION_TYPES) for side in (0, 1))
_CACHED_QUESTIONS = 100_000
_MARKERS = ("[E1]", "[/E1]", "[E2]", "[/E2]")
_MARKER = re.compile(r"^[\[<](/?)\s*e([12])\s*[\]>]$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Question:
    """Are spans `head` and `tail` of a text related? `kinds` are the types of E1 and E2 in `marked`."""

    text: int
    head: int
    tail: int
    marked: str
    kinds: tuple[str, str]


class HubRelations:
    """Role `re`: relations between given spans by entity markers in the text (HARE, section 3.2).

    Only type-compatible pairs of one window are asked, each as a row of its own length, the
    questions of all texts together; equal ones once.
    Where a label names both types, they are marked E1 and E2 in its order; a label that only says
    "related" leaves the order open, so both are asked and the surer answer counts. There are no
    assertions here: `Reading.assertions` is empty and the rules of the language room take over.
    """

    def __init__(self, network: Network) -> None:
        self.network, self.name = network, network.name
        self.labels = read_relation_labels(network.labels, str(network.folder.path))
        self.markers = _markers(network)
        self.cache: RecentAnswers[str, _Answers] = RecentAnswers(_CACHED_QUESTIONS)

    def read(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Reading]:
        """The links of each text, each with a chance of at least `RELATED`."""
        return self.begin(texts, spans)()

    def begin(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> Callable[[], list[Reading]]:
        """Start the model and return a function that gives the readings, so that the caller can go on meanwhile."""
        questions = self._questions(texts, spans)
        answers = self._ask(questions)

        def finish() -> list[Reading]:
            best: list[dict[tuple[int, int], float]] = [{} for _ in texts]
            for question in questions:
                chance = relatedness(answers[question.marked][question.marked], self.labels, question.kinds)
                pair = (question.head, question.tail)
                best[question.text][pair] = max(chance, best[question.text].get(pair, 0.0))
            return [_reading(pairs, text_spans) for pairs, text_spans in zip(best, spans)]

        return finish

    def _questions(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Question]:
        reads = self.network.read(texts)
        orders = [SpansByStart(text_spans) for text_spans in spans]
        # Room for the markers: four of them, a handful of word pieces each.
        room = min(READ_WINDOW, self.network.room - 24)
        windows = text_windows(texts, [read.tokens for read in reads], room)
        return [
            question
            for w in windows
            for question in self._in_window(w, reads[w.text].tokens.offsets, texts[w.text], orders[w.text])
        ]

    def _in_window(
        self, window: Window, offsets: Sequence[tuple[int, int]], text: str, order: SpansByStart
    ) -> Iterator[Question]:
        """What to ask in one window: pairs inside it whose earlier span begins in the part it owns."""
        window_start, window_end = offsets[window.first][0], offsets[window.last - 1][1]
        since = offsets[window.owned_first][0]
        until = offsets[window.owned_last][0] if window.owned_last < len(offsets) else len(text)
        spans = order.spans
        inside = [i for i in order.begin_within(window_start, window_end) if spans[i].end <= window_end]
        heads, tails = ([i for i in inside if spans[i].type in types] for types in (_HEADS, _TAILS))
        for head, tail in product(heads, tails):
            kinds = (spans[head].type, spans[tail].type)
            if kinds not in RELATION_TYPES or not since <= min(spans[head].start, spans[tail].start) < until:
                continue
            for first, second in self._orders(kinds, head, tail):
                e1, e2 = spans[first], spans[second]
                places = (
                    (e1.start - window_start, e1.end - window_start),
                    (e2.start - window_start, e2.end - window_start),
                )
                marked = mark(text[window_start:window_end], *places, self.markers)
                yield Question(window.text, head, tail, marked, (e1.type, e2.type))

    def _orders(self, kinds: tuple[str, str], head: int, tail: int) -> list[tuple[int, int]]:
        """Which span is E1 and which E2, for each question that this model can answer about the pair."""
        named_pairs = set(self.labels.named.values())
        orders = []
        if kinds in named_pairs or self.labels.plain:
            orders.append((head, tail))
        if kinds[::-1] in named_pairs or self.labels.plain:
            orders.append((tail, head))
        return orders

    def _ask(self, questions: Sequence[Question]) -> dict[str, _Answers]:
        """The pending answer to each question; each distinct question is asked once, across all texts."""
        distinct = dict.fromkeys(question.marked for question in questions)
        places = {marked: self.cache[marked] for marked in distinct if marked in self.cache}
        fresh = [marked for marked in distinct if marked not in places]
        if fresh:
            sent = self.network.launch(self.network.rows_of(fresh), lambda output, _: output.logits)
            places |= dict.fromkeys(fresh, _Answers(fresh, sent))
            self.cache.keep({marked: places[marked] for marked in fresh})
        return places


class _Answers:
    """The outputs for questions that were asked together; reading the first waits for all of them."""

    def __init__(self, questions: Sequence[str], sent: list[Answer]) -> None:
        self.questions, self.sent = questions, sent
        self.found: dict[str, npt.NDArray[np.float64]] = {}

    def __getitem__(self, marked: str) -> npt.NDArray[np.float64]:
        while self.sent:
            rows, logits = self.sent.pop().get()
            self.found.update(zip((self.questions[i] for i in rows), logits.astype(np.float64)))
        return self.found[marked]


def _reading(pairs: Mapping[tuple[int, int], float], spans: Sequence[Span]) -> Reading:
    links = (
        Link(head, tail, RELATION_TYPES[spans[head].type, spans[tail].type], chance)
        for (head, tail), chance in sorted(pairs.items())
        if chance >= RELATED
    )
    return Reading((), tuple(links))


def mark(text: str, one: tuple[int, int], two: tuple[int, int], markers: Sequence[str] = _MARKERS) -> str:
    """The text with E1 around `one` and E2 around `two`, whichever stands first, also where they nest.

    >>> mark("CD20 is diffusely positive", (8, 26), (0, 4))
    '[E2]CD20[/E2] is [E1]diffusely positive[/E1]'
    """
    cuts: list[tuple[int, int, int, str]] = []
    for (start, end), opening, closing in ((one, markers[0], markers[1]), (two, markers[2], markers[3])):
        cuts.append((start, 1, -end, opening))  # at the same position: closing before opening, the longer span first
        cuts.append((end, 0, -start, closing))
    pieces, previous = [], 0
    for position, _, _, marker in sorted(cuts, key=lambda cut: cut[:3]):
        pieces += [text[previous:position], marker]
        previous = position
    return "".join([*pieces, text[previous:]])


def _markers(network: Network) -> tuple[str, ...]:
    """The tokenizer's own marker tokens where it was given some (<e1>, [E1] …), else HARE's."""
    tokens = {}
    for token in network.tokenizer.get_added_vocab():
        match = _MARKER.match(token)
        if match:
            tokens[match[2], match[1]] = token
    markers = [tokens.get(key) for key in (("1", ""), ("1", "/"), ("2", ""), ("2", "/"))]
    return tuple(str(token) for token in markers) if all(markers) else _MARKERS
