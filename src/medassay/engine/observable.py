"""Cases reduced to what a slide could show, before any metric sees them (`--observable-only`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace

from medassay.cases import Case, Row
from medassay.engine.base import Source
from medassay.language.observable import observable_text
from medassay.metrics.base import Metric


@dataclass(frozen=True)
class ObservableCases:
    """A source whose candidates and references are without template text, handling and personal data."""

    source: Source

    def __call__(self) -> Iterator[Row]:
        for row in self.source():
            yield row if row.case is None else replace(row, case=observable_case(row.case))


def observable_case(case: Case) -> Case:
    """The case with the observable part of its candidate and references; its source stays whole."""
    references = tuple(text for reference in case.references if (text := observable_text(reference)))
    return replace(case, candidate=observable_text(case.candidate), references=references)


def signed_observable(metrics: Sequence[Metric]) -> list[Metric]:
    """The metrics with signatures that say what they were given."""
    signed = []
    for metric in metrics:
        changed = copy(metric)
        changed.origin = {**metric.origin, "texts": "observable"}
        signed.append(changed)
    return signed
