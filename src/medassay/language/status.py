"""Whether margins, lymph nodes and named structures are involved by tumour or free of it, read by rule.

`Deep margin involved`, `0/6 nodes`, `the ureter is negative`, `pN0`, `tumour is present at the bronchial
margin` become `Status` records: what (margin, node, or a site), which one, involved or free. The words are
data: `lexicons/status.tsv`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from medassay.language.lexicon import expression, named_pattern, plain_words, read_tsv
from medassay.language.numbers import NUMBER_WORDS, ROMAN, TO_MILLIMETRES


@dataclass(frozen=True, slots=True)
class Status:
    """One statement about a margin, a node group or a structure.

    topic: margin, node, or the structure's name. names: which margin or node group; empty where none is
    named. every: whether it speaks of all of them. involved: whether tumour is there. [start, end): clause.
    """

    topic: str
    names: frozenset[str]
    every: bool
    involved: bool
    start: int
    end: int
    positive: float | None = None
    total: float | None = None


@lru_cache(maxsize=1)
def _words() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    table: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for row in read_tsv("status.tsv"):
        table.setdefault(row["kind"], []).append((row["value"], expression(row["pattern"], before=r"(?<![\w-])")))
    return table


_CLAUSE = named_pattern("status clause")
_OF = named_pattern("nodes of nodes")
_NUMBERS = {word: number for number, word in enumerate(NUMBER_WORDS)} | {"none": 0, "no": 0}
_EVERY = named_pattern("every")
_FREE_AFTER = named_pattern("free after a count")
_SOME = named_pattern("some nodes")
_ONE = named_pattern("one node")
_SINGLE = named_pattern("single node")
_WHOLE = named_pattern("all nodes")
_N0 = named_pattern("n0")
_N_POSITIVE = named_pattern("n1 to n3")


@lru_cache(maxsize=20_000)
def read_status(text: str) -> tuple[Status, ...]:
    """Every margin and node statement of a text.

    >>> [(s.topic, sorted(s.names), s.involved) for s in read_status("Deep margin involved; 0/6 nodes.")]
    [('margin', ['deep'], True), ('node', [], False)]
    """
    statuses: list[Status] = []
    start = 0
    ends = [(match.start(), match.end()) for match in _CLAUSE.finditer(text)] + [(len(text), len(text))]
    subject, names, linked = "", frozenset[str](), False
    for end, after in ends:
        clause = text[start:end]
        if clause.strip():
            anew = _ANEW.match(clause) is not None
            statuses += _read(clause, start, "" if anew else subject, frozenset() if anew else names, linked=linked)
            topic = _topic(clause)
            if topic:
                subject, names = topic, _named(clause, topic) or (names if linked and topic == subject else frozenset())
            if text[end : end + 1] == "." or _OTHERS.search(clause):
                subject, names = "", frozenset()
        linked = text[end : end + 2].lstrip()[:1] in (":", "(")
        start = after
    return tuple(statuses)


def _topic(clause: str) -> str:
    for topic, pattern in _words()["topic"]:
        if pattern.search(clause):
            return topic
    return ""


def _read(clause: str, offset: int, subject: str, before: frozenset[str], *, linked: bool = False) -> list[Status]:
    """The statuses of one clause; one that names no topic, or follows a colon, goes on about the one before it."""
    topics = [topic for topic, pattern in _words()["topic"] if pattern.search(clause)]
    if len(topics) > 1 and _LIST.search(clause):
        return _each(clause, offset)
    topic = topics[0] if topics else subject
    if not topic:
        return _by_stage(clause, offset)
    if _DISTANT.search(clause):
        return []
    goes_on = not topics or (linked and topic == subject)
    names = _named(clause, topic) or (before if goes_on else frozenset())
    count = _OF.search(clause) if topic == "node" else None
    if count is not None:
        positive = float(_value(count["v"]))
        total = float(_value(count["of"]))
        if positive <= total:
            if _FREE_AFTER.search(clause, count.end()):
                positive = total - positive
            every = positive == 0
            return [Status(topic, names, every, positive > 0, offset, offset + len(clause), positive, total)]
    if topic == "margin" and _OTHERS.search(clause):
        return []
    involved = _verdict(clause, topic)
    if involved is False and "radial" in names and _within(clause, _RADIAL):
        involved = True
    if involved is None:
        return _by_stage(clause, offset)
    every = bool(_EVERY.search(clause)) and not names
    single = not names and topic == "node" and _ONE.search(clause)
    some = _SOME.search(clause) and (not names or _OTHERS.search(clause) or _SINGLE.search(clause))
    if involved is False and (single or some) and not _WHOLE.search(clause):
        return []  # some are free: the others may or may not be
    return [Status(topic, names, every, involved, offset, offset + len(clause))]


def _named(clause: str, topic: str) -> frozenset[str]:
    """Which margins or node groups a clause names: those of the lexicon, levels, and any other telling word."""
    known = _words()[f"{topic}_name"]
    names = {value for value, pattern in known if pattern.search(clause)}
    if topic == "node":
        names |= {f"level {_level(match[1])}" for match in _LEVEL.finditer(clause)}
    for match in _QUALIFIED[topic].finditer(clause):
        for word in match[1].lower().split(" and "):
            if word and word not in _PLAIN and not any(pattern.search(word) for _, pattern in known):
                names.add(word)
    return frozenset(names)


_OTHERS = named_pattern("other parts")
_DISTANT = named_pattern("distant")
_QUALIFIED = {"node": named_pattern("named nodes"), "margin": named_pattern("named margins")}
_PLAIN = plain_words("part unspecific")
"""Words before `node` or `margin` that do not tell which one."""
_ANEW = named_pattern("new subject")
_LEVEL = named_pattern("node level")


def _level(written: str) -> str:
    return str(ROMAN.get(written.upper(), written))


_LIST = named_pattern("status list")


def _each(clause: str, offset: int) -> list[Status]:
    """A clause about nodes and margins, one item of its list at a time; an item without a verdict has the first's."""
    if _OTHERS.search(clause):
        return []
    statuses: list[Status] = []
    start = 0
    for match in [*_LIST.finditer(clause), None]:
        end = match.start() if match else len(clause)
        statuses += _read(clause[start:end], offset + start, "", frozenset())
        start = match.end() if match else end
    return statuses


def _value(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS[word.lower()]


def _by_stage(clause: str, offset: int) -> list[Status]:
    """Node status told by the N category alone."""
    for pattern, involved in ((_N0, False), (_N_POSITIVE, True)):
        match = pattern.search(clause)
        if match:
            return [Status("node", frozenset(), not involved, involved, offset + match.start(), offset + match.end())]
    return []


_NOT_FREE = named_pattern("not free")
_RADIAL = 1.0
"""Millimetres: a circumferential margin this near to tumour counts as involved."""
_DISTANCE = named_pattern("distance")
_BEYOND = named_pattern("more than")


def _within(clause: str, limit: float) -> bool:
    """Whether the one distance that a clause tells is at most `limit` millimetres."""
    distance = _DISTANCE.search(clause)
    if distance is None or _BEYOND.search(clause):
        return False
    return float(distance["v"]) * TO_MILLIMETRES[distance["unit"].lower()] <= limit


def _verdict(clause: str, topic: str) -> bool | None:
    """True where tumour is there, False where it is not, None where the clause does not say."""
    if any(pattern.search(clause) for _, pattern in _words()["doubt"]):
        return None
    if _NOT_FREE.search(clause):
        return True
    for verdict, involved in (("free", False), ("involved", True)):
        if any(about == topic and pattern.search(clause) for about, pattern in _words()[verdict]):
            return involved
    return None


def compare_status(premise: Status, hypothesis: Status) -> str:
    """`same`, `apart` or `open` for two statements on one topic.

    Different names are different things, unless one speaks of all. One involved node is compatible with
    another free one: only a statement about the same named group, or about all, can be denied.
    """
    if premise.topic != hypothesis.topic:
        return "open"
    named = premise.names and hypothesis.names
    if named and not (premise.names <= hypothesis.names or hypothesis.names <= premise.names):
        return "open"
    if premise.involved == hypothesis.involved:
        covers = premise.names == hypothesis.names or (premise.every and not premise.involved)
        if not covers:
            return "open"
        return "same" if _counts_agree(premise, hypothesis) else "apart"
    if premise.total and hypothesis.total and premise.total != hypothesis.total:
        return "open"  # two groups of nodes, counted apart
    free, there = (premise, hypothesis) if hypothesis.involved else (hypothesis, premise)
    if free.every or (free.names and free.names <= there.names | free.names and free.names & there.names):
        return "apart"
    return "apart" if not free.names and not there.names else "open"


def _counts_agree(a: Status, b: Status) -> bool:
    if a.positive is None or b.positive is None or a.total is None or b.total is None:
        return True
    return a.positive == b.positive == 0 or (a.positive == b.positive and a.total == b.total)
