"""What a report comes to, in a few words: a site and a diagnosis."""

from __future__ import annotations

from medassay.language.graph import Report
from medassay.language.sentences import sentences


def impression(report: Report) -> str | None:
    """The first site and the first diagnosis that a report states as present, as *colon, tubular adenoma*.

    Where no diagnosis is named, the first sentence under a diagnosis heading stands for it (*normal thymus*). None
    where either part is missing.
    """
    site = _first(report, "site")
    diagnosis = _first(report, "diagnosis") or _under_diagnosis(report)
    return f"{site}, {diagnosis}" if site and diagnosis else None


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
