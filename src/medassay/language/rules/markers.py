"""Results of markers: positive against negative, and shares of stained cells."""

from __future__ import annotations

from collections.abc import Iterator

from medassay.language.graph import Report
from medassay.language.rules.base import Rule
from medassay.language.rules.verdict import CONTRADICTS, ENTAILS, Kind, RuleVerdict
from medassay.language.stains import Stain, read_stains

_SHARE = 10.0
"""Percentage points of stained cells that two readers may differ by."""

_EXCLUSIVE = ({"positive", "negative"}, {"wildtype", "mutant"})


class MarkerRule(Rule):
    """One marker with two results, or with two shares of stained cells."""

    name = "marker"

    def compare(self, premise: Report, hypothesis: Report) -> Iterator[RuleVerdict]:
        known: dict[str, Stain] = {}
        for stain in read_stains(premise.text):
            known.setdefault(stain.marker, stain)
        for stain in read_stains(hypothesis.text):
            other = known.get(stain.marker)
            if other is None:
                continue
            results = {other.result, stain.result}
            if len(results) == 2:
                if results in _EXCLUSIVE:
                    yield self._verdict(CONTRADICTS, "opposite results", other, stain)
                elif "equivocal" in results and stain.marker == "HER2":
                    yield self._verdict(CONTRADICTS, "equivocal HER2", other, stain)
            elif _shares_differ(other, stain):
                yield self._verdict(CONTRADICTS, "shares differ", other, stain)
            elif "pending" not in results:
                yield self._verdict(ENTAILS, "same result", other, stain)

    def _verdict(self, label: str, case: str, first: Stain, second: Stain) -> RuleVerdict:
        spans = (first.start, first.end), (second.start, second.end)
        return RuleVerdict(label, Kind.MARKER, *spans, self.weights[case])


def _shares_differ(first: Stain, second: Stain) -> bool:
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return False
    return first.low > second.high + _SHARE or second.low > first.high + _SHARE
