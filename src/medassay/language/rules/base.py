"""The contract of a rule: it compares two statements, and may compare the parts of one."""

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

    @abstractmethod
    def same_subject(self, verdict: RuleVerdict, premise: Report, hypothesis: Report) -> bool:
        """Whether a contradiction between two parts of one report is surely about one thing.

        A report speaks of several lesions, specimens, sites and measured things: `no tumour in the adrenal gland` does
        not deny the renal carcinoma, and two sizes are mostly the sizes of two things.
        """

    def within(self, report: Report) -> Iterator[RuleVerdict]:
        """Verdicts on the parts of one statement; by default none. Both spans are in the same text."""
        return iter(())
