"""Results of markers: positive against negative, and shares of stained cells."""

from __future__ import annotations

from collections.abc import Iterator

from medassay.language.graph import Report
from medassay.language.lexicon import named_pattern
from medassay.language.rules.base import Rule
from medassay.language.rules.verdict import CONTRADICTS, ENTAILS, Kind, RuleVerdict
from medassay.language.stains import Stain, read_stains

_SHARE = 10.0
"""Percentage points of stained cells that two readers may differ by."""

_EXCLUSIVE = ({"positive", "negative"}, {"wildtype", "mutant"})
_OTHER_CELLS = named_pattern("other cells")
_METHOD = named_pattern("test method")
_GENE = named_pattern("gene test")


class MarkerRule(Rule):
    """One marker with two results. A marker may differ between the tumour and other cells, or between two tests."""

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

    def within(self, report: Report) -> Iterator[RuleVerdict]:
        stains = read_stains(report.text)
        yield from self._stated_twice(stains)
        for stain in stains:
            if stain.low is None or stain.high is None or stain.marker in ("KI67", "P53"):
                continue
            in_none = stain.result == "positive" and stain.high == 0
            if in_none or (stain.result == "negative" and stain.low >= 2 * _SHARE):
                yield self._verdict(CONTRADICTS, "result against its share", stain, stain)

    def same_subject(self, verdict: RuleVerdict, premise: Report, hypothesis: Report) -> bool:
        first, second = premise.text, hypothesis.text
        if (_OTHER_CELLS.search(first) is None) != (_OTHER_CELLS.search(second) is None):
            return False
        if _METHOD.search(f"{first} {second}"):
            return False
        # A second test decides an equivocal stain.
        one_test = (_GENE.search(first) is None) == (_GENE.search(second) is None)
        return one_test and verdict.weight >= self.weights["least inside one report"]

    def _stated_twice(self, stains: tuple[Stain, ...]) -> Iterator[RuleVerdict]:
        first: dict[str, Stain] = {}
        for stain in stains:
            other = first.setdefault(stain.marker, stain)
            if other is stain:
                continue
            results = {other.result, stain.result}
            if results == {"positive", "negative"} and other.start != stain.start:
                yield self._verdict(CONTRADICTS, "opposite results in one statement", other, stain)
            elif len(results) == 1:
                yield self._verdict(ENTAILS, "same result in one statement", other, stain)

    def _verdict(self, label: str, case: str, first: Stain, second: Stain) -> RuleVerdict:
        spans = (first.start, first.end), (second.start, second.end)
        return RuleVerdict(label, Kind.MARKER, *spans, self.weights[case])


def _shares_differ(first: Stain, second: Stain) -> bool:
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return False
    return first.low > second.high + _SHARE or second.low > first.high + _SHARE
