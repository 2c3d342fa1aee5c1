"""What a report comes to: a site and a diagnosis in a few words, or the organs and processes that it states."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from medassay.language.graph import Report
from medassay.language.lexicon import expression
from medassay.language.processes import group_of
from medassay.language.sentences import sentences
from medassay.language.terms import american, fold


def impression(report: Report) -> str | None:
    """The first site and the first diagnosis that a report states as present, as *colon, tubular adenoma*.

    Where no diagnosis is named, the first sentence under a diagnosis heading stands for it (*normal thymus*). None
    where either part is missing.
    """
    site = _first(report, "site")
    diagnosis = _first(report, "diagnosis") or _under_diagnosis(report)
    return f"{site}, {diagnosis}" if site and diagnosis else None


def stated_organs(report: Report, names: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The organs that a report's sites name, in the order of the text.

    names: names of each organ by its key, in American spelling.
    """
    sites = [entity.text for entity in report.entities if entity.type == "site" and entity.assertion == "present"]
    found = (organ_of(site, tuple((key, tuple(words)) for key, words in names.items())) for site in sites)
    return tuple(dict.fromkeys(organ for organ in found if organ is not None))


@lru_cache(maxsize=4096)
def organ_of(site: str, names: tuple[tuple[str, tuple[str, ...]], ...]) -> str | None:
    """The organ whose longest name occurs in a site; None where none does.

    >>> organ_of("gastric antrum", (("stomach", ("stomach", "gastric")), ("colon", ("colon",))))
    'stomach'
    """
    text = american(fold(site))
    matches = [(len(name), key) for key, words in names for name in words if _whole_words(name).search(text)]
    return max(matches)[1] if matches else None


@lru_cache(maxsize=4096)
def _whole_words(name: str) -> re.Pattern[str]:
    return expression(rf"\b{re.escape(name)}\b", capitals=True)


def stated_processes(report: Report, organ: str = "") -> tuple[str, ...]:
    """The groups of processes (`processes.GROUPS`) of a report's diagnoses, in the order of the text.

    Where no diagnosis is named, the first sentence under a diagnosis heading stands for it. The organ matters: an
    adenoma of the colon is dysplastic, one of another organ benign.
    """
    diagnoses = [e.text for e in report.entities if e.type == "diagnosis" and e.assertion == "present"]
    groups = [group_of(f"{text} of the {organ}") for text in diagnoses]
    if not any(groups) and (text := _under_diagnosis(report)):
        groups = [group_of(f"{text} of the {organ}")]
    return tuple(dict.fromkeys(group for group in groups if group is not None))


def _first(report: Report, kind: str) -> str | None:
    return next((e.text for e in report.entities if e.type == kind and e.assertion == "present"), None)


def _under_diagnosis(report: Report) -> str | None:
    for section in report.sections():
        if section.kind == "diagnosis":
            body = report.text[section.body : section.end]
            found = sentences(body)
            if found:
                return body[slice(*found[0])]
    return None
