"""Whether a report says that an entity is there: present, absent or possible.

Rules after ConText (Harkema et al. 2009): a cue ("no evidence of", "cannot be excluded") governs the
entities of its clause on one side, up to a word that ends its reach, and from there along a list. The cues
are data: `lexicons/assertion.tsv`. A marker follows its result ("CD20 negative" is absent); a margin that is
free, clear or uninvolved is absent. `decide_assertions` joins the rules with the relation model's own view.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from medassay.language.lexicon import expression, named_pattern, read_tsv
from medassay.spans import Link, Reading, Span

TRUST = 0.8
"""Below this probability the model gives way to a rule with an explicit cue."""

_REACH = 300
"""Characters a cue reaches at most; in running text a clause ends long before."""

_NEARBY = 60
"""Characters between a margin and its verdict in the next clause: `Deep margin, excision. - Negative`."""

_AFTER_FIRST = 2
"""Characters by which a result before its marker counts as farther than one after it."""

_MOST_CUES = 12
"""Cues looked at on each side of an entity: keeps a text that is nothing but cues linear."""

_BOUNDARY = re.compile(
    r"""[;\u2022]|\n\s*\n|\n(?=\s*(?:[-*#\u2022]|\d+[.)]|[A-Z]))|(?<=\s)[-\u2013](?=\s?[A-Z])|:"""
    r"""|[.?!](?=["')\]]*\s+["'(\[]?[A-Z0-9*#-])|[.?!]["')\]]*\s*$"""
)
_OPEN_WORD = named_pattern("cannot end a sentence")
_LIST = named_pattern("entity list")
_MARKER_LIST = named_pattern("marker list")
_CLOSES_LIST = named_pattern("closes a list")
_MARGIN = named_pattern("margin entity")
_HER2 = named_pattern("her2")
_TWO_PLUS = named_pattern("score of two")
_AMPLIFIED = named_pattern("amplification")
_ADJACENT = re.compile(r"[\s:?.)\"'\u2013-]{0,6}")
"""Punctuation alone, between an entity and a cue that answers it."""
_HEADS_CLAUSE = named_pattern("heads clause")
_ENDS = re.compile(r"\s{0,40}(?:[.;,()\n]|$)")
"""The end of a clause, right after a cue."""
_LABEL = re.compile(r"[^.;\n]{0,40}:\s*")
"""The rest of a field's label, between an entity in it and its value."""


@dataclass(frozen=True, slots=True)
class RuledAssertion:
    """What the rules say of one entity; `cue` is where they found it said, None where nothing was said."""

    assertion: str
    cue: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class _Cue:
    """A cue in a text and what it does to entities after it (`next`) and before it (`prev`)."""

    start: int
    end: int
    next: str | None
    prev: str | None


_PRESENT = RuledAssertion("present", None)


def decide_assertions(text: str, spans: Sequence[Span], reading: Reading) -> list[str]:
    """The assertion of every span: present, absent or possible.

    The model's view stands unless it is unsure (`TRUST`) and the text holds an explicit cue, or a marker's
    result is named as equivocal or pending; where the model gives none, the rules decide alone.
    """
    ruled = by_rule(text, spans, reading.links)
    if not reading.assertions:
        return [verdict.assertion for verdict in ruled]
    return [
        verdict.assertion
        if verdict.cue is not None and (sure < TRUST or (span.type == "marker" and verdict.assertion == "possible"))
        else label
        for span, verdict, (label, sure) in zip(spans, ruled, reading.assertions, strict=True)
    ]


def by_rule(text: str, spans: Sequence[Span], links: Sequence[Link] = ()) -> list[RuledAssertion]:
    """The rules' verdict on every span; sites, descriptors, modifiers and grades are always present."""
    verdicts = [_PRESENT] * len(spans)
    bounds = _boundaries(text, spans)
    results = _results(spans, links, bounds)
    kinds: dict[str, list[int]] = {"any": [], "margin": [], "marker": []}
    for i, span in enumerate(spans):
        if i in results:
            verdicts[i] = _by_result(text, span, [spans[j] for j in results[i]])
        elif span.type == "marker":
            kinds["marker"].append(i)
        elif span.type in ("diagnosis", "finding"):
            kinds["margin" if _MARGIN.search(text[span.start : span.end]) else "any"].append(i)
    for of, chosen in kinds.items():
        if chosen:
            chosen.sort(key=lambda i: spans[i].start)
            clauses = _Clauses(text, bounds, of, [spans[i] for i in chosen])
            for i, verdict in zip(chosen, clauses.verdicts()):
                verdicts[i] = verdict
    return verdicts


@lru_cache(maxsize=50_000)
def absent_cue(text: str, words: tuple[int, int]) -> tuple[int, int] | None:
    """The cue that says that what the words [start, end) name is absent; None where none says so."""
    ruled = by_rule(text, [Span(*words, "finding", 1.0)])[0]
    return ruled.cue if ruled.assertion == "absent" else None


def denied(text: str, words: tuple[int, int]) -> bool:
    """Whether a cue outside the words [start, end) themselves says that they do not hold."""
    cue = absent_cue(text, words)
    return cue is not None and (cue[1] <= words[0] or cue[0] >= words[1])


def _boundaries(text: str, spans: Sequence[Span]) -> list[int]:
    """Where a clause ends: a full stop that closes a sentence, a semicolon, a bullet, a new paragraph, a colon.

    A full stop after a word that cannot end a sentence ("negative for. MALIGNANCY") is OCR; one inside an
    entity is part of it.
    """
    inside = sorted((span.start, span.end) for span in spans)
    starts = [start for start, _ in inside]
    boundaries = []
    for match in _BOUNDARY.finditer(text):
        at = match.start()
        k = bisect_left(starts, at + 1) - 1
        if k >= 0 and at < inside[k][1]:
            continue
        if text[at] in ".?!" and _OPEN_WORD.search(text, max(0, at - 8), at):
            continue
        boundaries.append(at)
    return boundaries


class _Clauses:
    """The clauses of a text, with the cues for one kind of entity and the entities of that kind."""

    def __init__(self, text: str, bounds: list[int], of: str, targets: Sequence[Span]) -> None:
        self.text = text
        self.bounds = bounds
        self.of = of
        self.targets = targets
        self.cues = list(_scanner(of).cues(text))
        self.starts = [cue.start for cue in self.cues]

    def verdicts(self) -> list[RuledAssertion]:
        """One for each target: its own words, else the nearest cue that reaches it, before or after."""
        count = len(self.targets)
        before: list[_Cue | None] = [None] * count
        after: list[_Cue | None] = [None] * count
        for i in range(count):
            before[i] = self._before(i, before[i - 1] if i else None)
        for i in reversed(range(count)):
            after[i] = self._after(i, after[i + 1] if i + 1 < count else None)
        return [self._choose(*each) for each in zip(self.targets, before, after)]

    def _choose(self, target: Span, before: _Cue | None, after: _Cue | None) -> RuledAssertion:
        own = self._own(target)
        if own is not None:
            return own
        if before is not None and after is not None:
            # In "No X is seen" the affirming word after X belongs to the cue before it.
            nearer = after.start - target.end < target.start - before.end
            if after.prev != "present" and (before.next == "present" or nearer):
                before = None
            else:
                after = None
        if before is not None and before.next is not None:
            return RuledAssertion(before.next, (before.start, before.end))
        if after is not None and after.prev is not None:
            return RuledAssertion(after.prev, (after.start, after.end))
        return _PRESENT

    def _own(self, target: Span) -> RuledAssertion | None:
        """A cue that holds the target ("not INVOLVED"), or for a margin stands in it ("free margins")."""
        at = max(0, bisect_left(self.starts, target.start) - 1)
        for cue in self.cues[at : at + 3]:
            holds = cue.start < target.start < cue.end
            if holds or (self.of == "margin" and target.start <= cue.start and cue.end <= target.end):
                effect = cue.prev or cue.next
                if effect in ("absent", "possible", "present"):
                    return RuledAssertion(effect, (cue.start, cue.end))
        return None

    def _before(self, i: int, earlier: _Cue | None) -> _Cue | None:
        """The cue before target `i` that governs it; `earlier` governs the target before."""
        target = self.targets[i]
        floor = self.targets[i - 1].end if i else 0
        at = bisect_left(self.starts, target.start)
        for cue in reversed(self.cues[max(0, at - _MOST_CUES) : at]):
            if cue.end > target.start:
                continue
            if cue.start < floor or self._apart(cue.end, target.start):
                break
            if cue.next == "none":
                continue
            return cue if cue.next in ("absent", "possible", "present") else None
        if earlier is None or self._apart(floor, target.start) or not self._listed(floor, target.start):
            return None
        return earlier if self._list_goes_on(floor, target) else None

    def _after(self, i: int, later: _Cue | None) -> _Cue | None:
        """The cue after target `i` that governs it; `later` governs the target after."""
        target = self.targets[i]
        ceiling = self.targets[i + 1].start if i + 1 < len(self.targets) else len(self.text)
        at = bisect_left(self.starts, target.end)
        for cue in self.cues[at : at + _MOST_CUES]:
            if cue.start >= ceiling:
                break
            if cue.next == cue.prev == "none":
                continue
            if self._apart(target.end, cue.start) and not self._answers(target, cue):
                break
            return cue if cue.prev in ("absent", "possible", "present") else None
        if later is None or self._apart(target.end, ceiling) or not self._listed(target.end, ceiling):
            return None
        return later

    def _apart(self, start: int, end: int) -> bool:
        """Whether a clause ends between two places, or they are too far from one another."""
        at = bisect_left(self.bounds, start)
        return end - start > _REACH or (at < len(self.bounds) and self.bounds[at] < end)

    def _answers(self, target: Span, cue: _Cue) -> bool:
        """Whether a cue at the head of the next clause is about the target: `Necrosis: Absent`."""
        if cue.start - target.end > _NEARBY:
            return False
        between = self.text[target.end : cue.start]
        if _ADJACENT.fullmatch(between):
            return self.of == "margin" or "." not in between or _ENDS.match(self.text, cue.end) is not None
        if self.of == "margin":
            return bool(_HEADS_CLAUSE.search(between))
        return bool(_LABEL.fullmatch(between))

    def _listed(self, start: int, end: int) -> bool:
        """Whether two neighbouring targets are items of one list, with no cue or stop between them."""
        at = bisect_left(self.starts, start)
        if at < len(self.starts) and self.starts[at] < end and self.cues[at].next != "none":
            return False
        return bool((_MARKER_LIST if self.of == "marker" else _LIST).match(self.text, start, end))

    def _list_goes_on(self, floor: int, target: Span) -> bool:
        """A comma alone continues a list only where an `or` or `and` closes it."""
        link = self.text[floor : target.start]
        if self.of == "marker" or _CLOSES_LIST.search(link):
            return True
        at = bisect_left(self.bounds, target.end)
        end = min(self.bounds[at] if at < len(self.bounds) else len(self.text), target.end + _REACH)
        return bool(_CLOSES_LIST.search(self.text, target.end, end))


Effect = tuple[str | None, str | None]
"""What a cue does to entities after it and before it."""


class _Scanner:
    """Finds the cues for one kind of entity. Of two that begin at the same place the one of more words wins.

    A place where a cue may begin is found first and its first letter tells which few to try: several times faster
    than one expression over all cues, which tries each of them everywhere.
    """

    def __init__(self, effects: Mapping[str, Mapping[str, str]]) -> None:
        by_letter: dict[str, list[str]] = {}
        signs: list[str] = []
        for cue in sorted(effects, key=lambda cue: (-cue.count(" "), -len(cue))):
            letters = _first_letters(cue)
            for letter in sorted(letters):
                by_letter.setdefault(letter, []).append(cue)
            if not letters:
                signs.append(cue)
        begins = rf"(?<!\w)[{''.join(sorted(by_letter))}]"
        self.start = expression("|".join([begins, *map(_group, signs)]))
        self.signs = [_effect(effects[cue]) for cue in signs]
        self.tried: dict[str, tuple[re.Pattern[str], list[Effect]]] = {}
        for letter, cues in by_letter.items():
            entry = expression("|".join(map(_group, cues))), [_effect(effects[cue]) for cue in cues]
            self.tried[letter] = self.tried[letter.upper()] = entry

    def cues(self, text: str) -> Iterator[_Cue]:
        """The cues of a text in order, never overlapping."""
        start = self.start.search(text)
        while start:
            if start.lastindex:
                at = start.end()
                yield _Cue(start.start(), at, *self.signs[start.lastindex - 1])
            else:
                at = start.end()
                pattern, effects = self.tried.get(start[0], (None, []))
                cue = pattern.match(text, start.start()) if pattern else None
                if cue and cue.lastindex:
                    at = cue.end()
                    yield _Cue(cue.start(), at, *effects[cue.lastindex - 1])
            start = self.start.search(text, at)


@lru_cache(maxsize=4)
def _scanner(of: str) -> _Scanner:
    effects: dict[str, dict[str, str]] = {}
    for row in read_tsv("assertion.tsv"):
        if row["of"] == of:
            effects.setdefault(row["cue"], {})[row["governs"]] = row["effect"]
    return _Scanner(effects)


def _effect(governs: Mapping[str, str]) -> Effect:
    return governs.get("next") or governs.get("both"), governs.get("prev") or governs.get("both")


def _first_letters(cue: str) -> set[str]:
    """Letters or digits a cue can begin with; none for a cue that begins with a sign."""
    if cue.startswith("(?:"):
        return {choice[0].lower() for choice in cue[3 : cue.index(")")].split("|")}
    return {cue[0].lower()} if cue[0].isalnum() else set()


def _group(cue: str) -> str:
    """A cue as a group of the expression: white space may hold a stray full stop, words are whole."""
    spaced = cue.replace(" ?", r"[\s.]{0,40}").replace(" ", r"[\s.]{1,40}")
    return rf"({spaced})(?!\w)"


@lru_cache(maxsize=1)
def _result_words() -> dict[str, re.Pattern[str]]:
    """For each assertion, the words of a result that mean it."""
    cues: dict[str, list[str]] = {"absent": [], "possible": [], "present": []}
    for row in read_tsv("assertion.tsv"):
        if row["of"] == "result":
            cues[row["effect"]].append(row["cue"].replace(" ?", r"[\s.]{0,40}").replace(" ", r"[\s.]"))
    return {effect: expression(rf"(?<![\w.])(?:{'|'.join(words)})(?![\w.%])") for effect, words in cues.items()}


def _results(spans: Sequence[Span], links: Sequence[Link], bounds: list[int]) -> dict[int, list[int]]:
    """The modifiers that tell each marker's result: those the relation model joined to it.

    Where it joined none in the whole text, the nearest modifier of the marker's clause.
    """
    results: dict[int, list[int]] = {}
    for link in links:
        if link.type == "marker_modifier":
            results.setdefault(link.head, []).append(link.tail)
    if results:
        return results
    modifiers = sorted((span.start, span.end, i) for i, span in enumerate(spans) if span.type == "modifier")
    for i, span in enumerate(spans):
        if span.type != "marker" or not modifiers:
            continue
        at = bisect_left(modifiers, (span.start, span.end, i))
        # A result stands after its marker more often than before it: at equal distance the later one wins.
        near = [(start - span.end, j) for start, _, j in modifiers[at : at + 1]]
        near += [(span.start - end + _AFTER_FIRST, j) for _, end, j in modifiers[max(0, at - 1) : at]]
        for _, j in sorted(near):
            first, last = sorted((span, spans[j]), key=lambda each: each.start)
            k = bisect_left(bounds, first.end)
            if last.start - first.end <= _REACH and (k == len(bounds) or bounds[k] >= last.start):
                results[i] = [j]
                break
    return results


def _by_result(text: str, marker: Span, results: Sequence[Span]) -> RuledAssertion:
    """A marker's assertion from the words of its results."""
    words = _result_words()
    stated: dict[str, tuple[int, int]] = {}
    for result in results:
        where = (result.start, result.end)
        phrase = text[result.start : result.end]
        effect = next((effect for effect in ("possible", "absent", "present") if words[effect].search(phrase)), None)
        if effect == "absent" and _AMPLIFIED.search(phrase.lower()):
            return RuledAssertion("absent", where)  # the amplification test decides an equivocal stain
        if effect is not None:
            stated.setdefault(effect, where)
        if _TWO_PLUS.search(phrase) and _HER2.search(text, marker.start, marker.end):
            stated.setdefault("possible", where)
    for effect in ("possible", "present", "absent"):
        if effect in stated:
            return RuledAssertion(effect, stated[effect])
    return RuledAssertion("present", (results[0].start, results[0].end))
