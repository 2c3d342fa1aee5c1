"""Lead-3: the first three sentences of the source, the baseline that every summary should beat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from medassay.cases import Row, read_cases
from medassay.errors import InputError


def lead(text: str, sentences: int = 3) -> str:
    """The first sentences of a text, as they stand in it; a shorter text comes back whole.

    >>> lead("He is 61. He takes lisinopril. He is well. Return in May.")
    'He is 61. He takes lisinopril. He is well.'
    """
    from nupunkt import sent_spans

    spans = sent_spans(text)
    if not spans:
        return ""
    return text[spans[0][0] : spans[min(sentences, len(spans)) - 1][1]].strip()


def read_sources(path: str, columns: Mapping[str, str]) -> Iterator[Row]:
    """The rows of a case file that may have no candidates yet: only `source` is needed."""
    try:
        next(read_cases(path, columns))
    except InputError:
        # Read the source as if it were the candidate; a file without either is refused by name.
        instead = {**columns, "candidate": columns.get("source", "source")}
        for row in read_cases(path, {k: v for k, v in instead.items() if k != "source"}):
            case = row.case
            yield row if case is None else replace(row, case=replace(case, source=case.candidate, candidate=""))
        return
    yield from read_cases(path, columns)


def lead_rows(rows: Iterable[Row], where: str, sentences: int = 3, system: str = "lead3") -> Iterator[dict[str, Any]]:
    """A case file's rows with the baseline as candidate: one a case id, in file order."""
    seen: set[str] = set()
    for row in rows:
        if row.case is None:
            raise InputError(f"{where}, row {row.number}: {row.problem}")
        case = row.case
        if case.id in seen:
            continue
        seen.add(case.id)
        if not case.has("source"):
            raise InputError(f"{where}, row {row.number}: 'source' is empty; the baseline is taken from it")
        yield {
            "id": case.id,
            "system": system,
            "candidate": lead(case.source or "", sentences),
            "reference": case.reference or "",
            "source": case.source,
        }
