"""The contract of a rule: it compares two statements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from medassay.language.graph import Report
from medassay.language.lexicon import rule_weights
from medassay.language.rules.verdict import RuleVerdict


class Rule(ABC):
    """One way in which two statements can agree or exclude one another.

    name: its rows of `rule_weights.tsv`, which say how sure each of its verdicts is.
    """

    name: ClassVar[str]

    def __init__(self) -> None:
        self.weights = rule_weights(self.name)

    @abstractmethod
    def compare(self, premise: Report, hypothesis: Report) -> Iterator[RuleVerdict]:
        """Every verdict of this rule on two statements; none where they hold nothing that it can compare."""
