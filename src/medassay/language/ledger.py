"""The ledger of a case: every statement with its verdict and the words that decide it.

People who judge a generated text go through it statement by statement and ask whether it is borne out, contradicted,
or nowhere to be found, and through the reference and ask whether each statement is there (Ben Abacha et al. 2023,
section 3). The ledger is that table; `ledger_maker.py` makes it. For research and quality assurance, not for clinical
decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from medassay.language.statements import Statement
from medassay.spans import VERDICTS, Check

CANDIDATE, REFERENCE, SOURCE = "candidate", "reference", "source"

CRITICAL = 0.5
"""Probability from which an error is called critical, not minor."""

COUNTS = (
    "statements", "supported", "contradicted", "not_stated", "expected", "missed", "misstated", "critical",
)  # fmt: skip
"""What `Ledger.counts` counts."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one case: a candidate, and the reference and the source where there are any."""

    candidate: str
    reference: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """One statement judged against one text. of, against: `candidate`, `reference` or `source`."""

    of: str
    statement: Statement
    against: str
    check: Check

    @property
    def verdict(self) -> str:
        """`supported`, `not_stated` or `contradicted`."""
        return self.check.verdict

    @property
    def severity(self) -> str | None:
        """`critical` or `minor`; None where the statement is supported."""
        if self.verdict == "supported":
            return None
        return "critical" if self.check.critical >= CRITICAL else "minor"

    @property
    def by(self) -> tuple[int, int] | None:
        """The characters of the other text that decide; None where it states nothing."""
        decided = self.verdict != "not_stated" and self.check.end > self.check.start
        return (self.check.start, self.check.end) if decided else None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as in the file of `medassay check`; p: of supported, not stated, contradicted."""
        return {
            "of": self.of,
            "start": self.statement.start,
            "end": self.statement.end,
            "text": self.statement.text,
            "against": self.against,
            "verdict": self.verdict,
            "p": [round(chance, 4) for chance in self.check.probabilities],
            "by": None if self.by is None else list(self.by),
            "kind": None if self.verdict == "supported" else self.check.kind,
            "severity": self.severity,
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Verdict:
        """The verdict again, from `to_dict`; the section of its statement is not kept there."""
        supported, not_stated, contradicted = record["p"]
        # Rounding may have made two probabilities equal: the verdict as it was given decides.
        chances = [supported, not_stated, contradicted]
        chances[VERDICTS.index(record["verdict"])] += 1e-6
        start, end = record["by"] or (0, 0)
        check = Check(
            (chances[0], chances[1], chances[2]),
            start,
            end,
            record["kind"] or "other",
            float(record["severity"] == "critical"),
        )
        return cls(
            record["of"], Statement(record["text"], record["start"], record["end"], ""), record["against"], check
        )


@dataclass(frozen=True, slots=True)
class Ledger:
    """All verdicts of one case.

    verdicts: the candidate's statements against the reference, then, where the reference does not clearly support
    them, against the source; then the statements of the reference (of the source, where there is no reference)
    against the candidate.
    cut: names of texts that have more statements than are judged.
    texts: what was judged, to quote from.
    """

    verdicts: tuple[Verdict, ...]
    cut: tuple[str, ...] = ()
    texts: Texts = field(default=Texts(""), compare=False)

    def select(self, of: str, against: str) -> list[Verdict]:
        """The verdicts on the statements of one text against another, in the order of the text."""
        return [verdict for verdict in self.verdicts if verdict.of == of and verdict.against == against]

    def candidate(self) -> list[list[Verdict]]:
        """For each statement of the candidate its verdicts, one or two."""
        groups: dict[tuple[int, int, str], list[Verdict]] = {}
        for verdict in self.verdicts:
            if verdict.of == CANDIDATE:
                key = (verdict.statement.start, verdict.statement.end, verdict.statement.text)
                groups.setdefault(key, []).append(verdict)
        return list(groups.values())

    def expected(self) -> list[Verdict]:
        """The verdicts on what the candidate should state: the reference's statements, else the source's."""
        return [verdict for verdict in self.verdicts if verdict.against == CANDIDATE]

    def decisive(self) -> list[Verdict]:
        """For each statement of the candidate the verdict that counts, from reference and source together."""
        return [joined(group) for group in self.candidate()]

    def problems(self) -> list[Verdict]:
        """What is contradicted or not stated of the candidate, and what it misses; the worst first.

        A statement of the reference that the candidate contradicts is not among them: it is the candidate's statement
        that is wrong.
        """
        wrong = [verdict for verdict in distinct(self.decisive()) if verdict.verdict != "supported"]
        missed = [verdict for verdict in distinct(self.expected()) if verdict.verdict == "not_stated"]
        return sorted([*wrong, *missed], key=badness, reverse=True)

    @property
    def counts(self) -> dict[str, int]:
        """How many statements there are of each kind (`COUNTS`); one that is repeated counts once.

        statements: of the candidate; supported, contradicted, not_stated: of these, by reference and source together.
        expected: of the reference, else of the source; missed, misstated: of these, not stated and contradicted by
        the candidate. critical: problems (`problems`) that are critical.
        """
        own = [verdict.verdict for verdict in distinct(self.decisive())]
        expected = [verdict.verdict for verdict in distinct(self.expected())]
        critical = sum(verdict.severity == "critical" for verdict in self.problems())
        counted = (len(own), *(own.count(name) for name in ("supported", "contradicted", "not_stated")))
        counted += (len(expected), expected.count("not_stated"), expected.count("contradicted"), critical)
        return dict(zip(COUNTS, counted))

    def quote(self, verdict: Verdict) -> str:
        """The words of the other text that decide; empty where it states nothing."""
        start, end = verdict.by or (0, 0)
        return " ".join((getattr(self.texts, verdict.against) or "")[start:end].split())

    def to_dict(self) -> dict[str, Any]:
        """Plain data: `statements` and `counts`, as in the file of `medassay check`, and `cut` where texts are cut."""
        statements = [verdict.to_dict() for verdict in self.verdicts]
        return {"statements": statements, "counts": self.counts, **({"cut": list(self.cut)} if self.cut else {})}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], texts: Texts | None = None) -> Ledger:
        """The ledger again, from `to_dict`; texts: what was judged, to quote from."""
        verdicts = tuple(map(Verdict.from_dict, record["statements"]))
        return cls(verdicts, tuple(record.get("cut", ())), texts or Texts(""))

    def __repr__(self) -> str:
        from medassay.language.ledger_view import ledger_text

        return ledger_text(self)

    def _repr_html_(self) -> str:
        from medassay.language.ledger_view import ledger_html

        return ledger_html(self)


def badness(verdict: Verdict) -> tuple[bool, bool, float]:
    """What problems are ordered by: critical ones, then contradictions, then by probability."""
    contradicted = verdict.verdict == "contradicted"
    return verdict.severity == "critical", contradicted, verdict.check.probabilities[2 if contradicted else 1]


def joined(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on one statement from those against the reference and the source.

    The better support counts; a contradiction by either counts where neither supports.
    """
    best = max(verdicts, key=lambda verdict: verdict.check.probabilities[0])
    supported = best.check.probabilities[0]
    if len(verdicts) == 1 or best.check.verdict == "supported":
        return best
    decisive = max(verdicts, key=lambda verdict: verdict.check.probabilities[2])
    contradicted = min(decisive.check.probabilities[2], 1.0 - supported)
    probabilities = (supported, max(0.0, 1.0 - supported - contradicted), contradicted)
    if max(probabilities) != contradicted:
        decisive = best
    return replace(decisive, check=replace(decisive.check, probabilities=probabilities))


def distinct(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The verdicts on different statements: of equal ones the first."""
    first: dict[str, Verdict] = {}
    for verdict in verdicts:
        first.setdefault(" ".join(verdict.statement.text.lower().split()), verdict)
    return list(first.values())
