"""Reports with given entities, so that what is read from them needs no model."""

from __future__ import annotations

import re

from medassay.language.assertion import by_rule
from medassay.language.concepts import link
from medassay.language.graph import Entity, Report
from medassay.language.rules import Rule
from medassay.spans import Span

_MARK = re.compile(r"<(\w+) ([^<>]*)>")


def marked(text: str) -> tuple[str, list[Span]]:
    """`No <finding necrosis>.` as a text and its spans."""
    plain, spans, at = "", [], 0
    for match in _MARK.finditer(text):
        plain += text[at : match.start()]
        spans.append(Span(len(plain), len(plain) + len(match[2]), match[1], 1.0))
        plain += match[2]
        at = match.end()
    return plain + text[at:], spans


def reading(text: str) -> Report:
    """A text with marked entities as a report; assertions by rule, concepts by the lexicons."""
    plain, spans = marked(text)
    entities = tuple(
        Entity(
            s.start, s.end, plain[s.start : s.end], s.type, ruled.assertion, 1.0, link(plain[s.start : s.end], s.type)
        )
        for s, ruled in zip(spans, by_rule(plain, spans))
    )
    return Report(plain, entities, ())


def label(rule: Rule, premise: str, hypothesis: str) -> str | None:
    """The label of the one verdict of a rule on two marked texts; None where it has none."""
    verdicts = list(rule.compare(reading(premise), reading(hypothesis)))
    assert len(verdicts) <= 1
    return verdicts[0].label if verdicts else None
