"""Made-up ratings and answers that several tests share."""

from __future__ import annotations

from medassay.human.events import Event, NewEvent
from medassay.human.plan import Item, Unit
from medassay.human.protocols import load_protocol
from medassay.human.protocols.base import WordCounts
from medassay.human.ratings import Rating, Ratings, with_derived

FACTS = load_protocol("fact-counting")
UNITS = [
    Unit("c1", "src", "ref one", (Item("a", "text a", {"group": "x", "recall": 9}), Item("b", "=b()", {}))),
    Unit("c2", "src", "ref two", (Item("a", "text", {}), Item("b", "text", {}))),
]


def rate(case: str, system: str, who: str, *, fine: int = 1, **counts: float) -> Rating:
    """One rating; `fine` is how many facts this annotator makes of one."""
    raw = {name: value * fine if name != "coherence" else value for name, value in counts.items()}
    return Rating(case, system, who, with_derived(FACTS, raw, WordCounts(10, 10)))


def two_annotators() -> Ratings:
    """Two people who judge alike; one splits every fact in two."""
    rows = []
    for who, fine in (("anna", 1), ("ben", 2)):
        rows.append(rate("c1", "a", who, fine=fine, R=4, G=4, RG=4, C=4, coherence=1))
        rows.append(rate("c1", "b", who, fine=fine, R=4, G=3, RG=1, C=2, coherence=0.5))
        rows.append(rate("c2", "a", who, fine=fine, R=5, G=4, RG=3, C=4, coherence=1))
        rows.append(rate("c2", "b", who, fine=fine, R=5, G=2, RG=0, C=2, coherence=0))
    return Ratings(FACTS, rows)


def put(event: str, value: float = 3, question: str = "R", slot: str = "case") -> NewEvent:
    """An answer to one question."""
    return NewEvent(event, "set", {"slot": slot, "question": question, "value": value})


def marked(name: str, slot: str = "1", kind: str = "fact", flags: tuple[str, ...] = (), start: int = 0) -> Event:
    """A recorded highlight of five characters."""
    payload = {"mark": name, "slot": slot, "type": kind, "start": start, "end": start + 5, "flags": list(flags)}
    return Event("e" + name, "mark", payload)


def answered(event: str, slot: str, question: str, value: float | None) -> Event:
    """A recorded answer to one question."""
    return Event(event, "set", {"slot": slot, "question": question, "value": value})
