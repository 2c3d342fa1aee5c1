"""What the metrics that count over a ledger share: the texts of a case, the counts, and the evidence.

A ledger (`language/ledger.py`) is made once per case, whatever metrics are asked for. Counts come twice: *hard*, each
statement as its likeliest verdict, and *expected*, the sum of its probabilities.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from medassay.cases import Case
from medassay.language.checks import TEMPLATE, is_template
from medassay.language.ledger import CANDIDATE, CRITICAL, REFERENCE, SOURCE, Ledger, Texts, Verdict, distinct, joined
from medassay.language.ledger_maker import MOST_STATEMENTS, LedgerMaker, unjudgeable
from medassay.language.lexicon import statement_words
from medassay.metrics.base import Metric
from medassay.metrics.porter import stem
from medassay.metrics.scoring import over_references
from medassay.models import load
from medassay.scores import Score

SUPPORTED = "supported"

_WORD = re.compile(r"[^\W_]+(?:[-.'’/][^\W_]+)*")
_LONGEST_WORD = 60
"""Characters of a word that are looked at: a longer one is no word."""
_LISTED = 6
"""Phrases that a note quotes; the evidence has the span of every word."""


@lru_cache(maxsize=8)
def ledger_maker(models: str) -> LedgerMaker:
    """The one maker of ledgers of this process for these models, so that metrics share what it keeps."""
    return LedgerMaker(load("checker", models))


@dataclass(frozen=True, slots=True)
class Counts:
    """How many statements of a text another one supports, does not state, contradicts.

    critical: those of the last two whose error is critical. Whole numbers where hard, sums of probabilities where
    expected.
    """

    statements: int
    supported: float
    not_stated: float
    contradicted: float
    critical: float

    def rate(self, number: float) -> float:
        """A number of statements as a share of all; 0 where there are none."""
        return number / self.statements if self.statements else 0.0


@dataclass(frozen=True, slots=True)
class Tally:
    """The verdicts on the distinct statements of one text. A statement that is repeated counts once."""

    verdicts: tuple[Verdict, ...]

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> Tally:
        """Of verdicts in the order of the text: the first of equal statements counts."""
        return cls(tuple(distinct(verdicts)))

    def __bool__(self) -> bool:
        return bool(self.verdicts)

    def wrong(self) -> list[Verdict]:
        """The verdicts that are not `supported`."""
        return [verdict for verdict in self.verdicts if verdict.check.verdict != SUPPORTED]

    def hard(self) -> Counts:
        """Each statement as its likeliest verdict."""
        names = [verdict.check.verdict for verdict in self.verdicts]
        critical = sum(is_critical(verdict) for verdict in self.wrong())
        supported, not_stated, contradicted = map(names.count, (SUPPORTED, "not_stated", "contradicted"))
        return Counts(len(names), supported, not_stated, contradicted, critical)

    def expected(self) -> Counts:
        """Each statement as its probabilities."""
        checks = [verdict.check for verdict in self.verdicts]
        supported, not_stated, contradicted = (sum(check.probabilities[i] for check in checks) for i in range(3))
        critical = sum((1.0 - check.probabilities[0]) * check.critical for check in checks)
        return Counts(len(checks), supported, not_stated, contradicted, critical)


@dataclass(frozen=True, slots=True)
class Tallies:
    """The counts of one case.

    against: `reference`, or `source` where there is no reference. candidate: the candidate's statements against that
    text. grounded: the candidate's statements against reference and source together. expected: the statements of that
    text (of a source: the clinical ones) against the candidate. passages: verdicts on whole passages, of a metric that
    asks for them.
    """

    against: str
    candidate: Tally
    grounded: Tally
    expected: Tally
    passages: tuple[Verdict, ...] = ()

    @classmethod
    def of(cls, ledger: Ledger, against: str, passages: tuple[Verdict, ...] = ()) -> Tallies:
        """From a ledger."""
        return cls(
            against,
            Tally.of(ledger.select(CANDIDATE, against)),
            Tally.of(joined(verdicts) for verdicts in ledger.candidate()),
            Tally.of(ledger.expected()),
            passages,
        )


class LedgerMetric(Metric):
    """A metric that is arithmetic over the ledger of a case.

    models: where the role `checker` comes from. counts: whether the value is made of `expected` or of `hard` counts;
    both are among the parts. references: with several references, the `best` one's score counts, or the `mean`.
    """

    needs = frozenset({"candidate"})
    reads = frozenset({"reference", "source"})

    def __init__(
        self,
        *,
        models: str = "embedded",
        counts: Literal["expected", "hard"] = "expected",
        references: Literal["best", "mean"] = "best",
    ) -> None:
        super().__init__(references=references)
        self.models, self.counts = models, counts
        self.model_name = load("checker", models).name
        self.roles = (("checker", models),)

    def settings(self) -> Mapping[str, object]:
        return {"models": self.model_name, "counts": self.counts, "refs": self.references}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        texts_by_case = [texts_of(case) for case in cases]
        problems = {pair: unjudgeable(pair) for of_case in texts_by_case for pair in of_case}
        ready = [pair for pair, problem in problems.items() if problem is None]
        ledgers = ledger_maker(self.models).ledgers(ready)
        tallies = {
            pair: (ledger, Tallies.of(ledger, against_of(pair), passages))
            for pair, ledger, passages in zip(ready, ledgers, self.passages(ready))
        }
        scores = []
        for of_case in texts_by_case:
            single = [
                self._score(pair, *tallies[pair]) if pair in tallies else Score.none(problems[pair] or "")
                for pair in of_case
            ]
            scores.append(single[0] if len(single) == 1 else over_references(self, single))
        return scores

    def _score(self, texts: Texts, ledger: Ledger, tallies: Tallies) -> Score:
        score = self.count(tallies)
        if score.value is None:
            return score if tallies.candidate else Score.none(_nothing_stated(texts.candidate))
        return Score(score.value, parts=score.parts, evidence=self.evidence(texts, ledger, tallies))

    def evidence(self, texts: Texts, ledger: Ledger, tallies: Tallies) -> dict[str, Any]:
        """What the value rests on: the statements that are not supported, quoted, and what was cut."""
        quoted = [quote(verdict, texts) for verdict in self.quoted(tallies)]
        if not tallies.candidate:
            span = {"side": CANDIDATE, "start": 0, "end": len(texts.candidate), "score": 0.0}
            quoted.insert(0, {**span, "note": _nothing_stated(texts.candidate)})
        cut = [f"{name}: its first {MOST_STATEMENTS:,} statements were judged" for name in ledger.cut]
        return {**({"cut": cut} if cut else {}), **({"sentences": quoted} if quoted else {})}

    @abstractmethod
    def count(self, tallies: Tallies) -> Score:
        """The value and its parts; unscored where these tallies allow none."""

    def passages(self, texts: Sequence[Texts]) -> list[tuple[Verdict, ...]]:
        """Verdicts on whole passages of each case, for a metric that needs them."""
        return [()] * len(texts)

    def quoted(self, tallies: Tallies) -> list[Verdict]:
        """The verdicts that the evidence shows: those of either side that are not `supported`."""
        return [*tallies.grounded.wrong(), *tallies.expected.wrong()]

    def chosen(self, tally: Tally) -> Counts:
        """The counts that the value is made of."""
        return tally.hard() if self.counts == "hard" else tally.expected()


def texts_of(case: Case) -> list[Texts]:
    """The texts of a case, one for each reference; one without a reference where there is none."""
    source = case.source if case.has("source") else None
    references = [text for text in case.references if text and not text.isspace()]
    return [Texts(case.candidate, text, source) for text in references] or [Texts(case.candidate, None, source)]


def against_of(texts: Texts) -> str:
    """The text that says what the candidate should state."""
    return REFERENCE if texts.reference is not None else SOURCE


def _nothing_stated(candidate: str) -> str:
    what = TEMPLATE if is_template(candidate) else "has no statement"
    return f"candidate {what}: it states nothing"


def is_critical(verdict: Verdict) -> bool:
    """Whether the error, if there is one, is critical."""
    return verdict.check.critical >= CRITICAL


def quote(verdict: Verdict, texts: Texts) -> dict[str, Any]:
    """A verdict as evidence: where the statement stands, what is wrong with it, and the words that decide."""
    check = verdict.check
    words = " ".join(getattr(texts, verdict.against)[check.start : check.end].split())
    severity = "critical" if is_critical(verdict) else "minor"
    unsupported = unsupported_words(verdict, texts) if verdict.of == CANDIDATE and check.verdict != SUPPORTED else []
    if check.verdict == "contradicted":
        note = f"contradicted by the {verdict.against} ({check.kind}, {severity})"
        note += f": “{words}”" if words else ""
    elif verdict.of == CANDIDATE:
        note = f"not stated in the {verdict.against} ({check.kind}, {severity})"
        note += f": not borne out: {_listed(texts.candidate, unsupported)}" if unsupported else ""
    else:
        note = f"missing from the candidate ({check.kind}, {severity})"
    return {
        "side": verdict.of,
        "start": verdict.statement.start,
        "end": verdict.statement.end,
        "score": round(check.probabilities[0], 3),
        "note": note,
        "text": verdict.statement.text,
        "against": verdict.against,
        "verdict": check.verdict,
        "p": [round(p, 3) for p in check.probabilities],
        "by": [check.start, check.end],
        "kind": check.kind,
        "severity": severity,
        **({"words": [list(span) for span in unsupported]} if unsupported else {}),
    }


def unsupported_words(verdict: Verdict, texts: Texts) -> list[tuple[int, int]]:
    """The words of a candidate's statement that neither reference nor source has in any form, as spans.

    Function words (`the`, `is`) are skipped. Empty where every word is there and it is their order,
    or a negation, that is not borne out.
    """
    start, end = verdict.statement.start, verdict.statement.end
    known = _stems(texts.reference or "") | _stems(texts.source or "")
    empty = statement_words("function")
    return [
        (start + word.start(), start + word.end())
        for word in _WORD.finditer(texts.candidate[start:end])
        if word[0].lower() not in empty and _stem(word[0]) not in known
    ]


@lru_cache(maxsize=256)
def _stems(text: str) -> frozenset[str]:
    return frozenset(_stem(word[0]) for word in _WORD.finditer(text))


def _stem(word: str) -> str:
    return stem(word.lower()[:_LONGEST_WORD])


def _listed(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The words in quotation marks, neighbours as one phrase; the first few of many."""
    phrases: list[tuple[int, int]] = []
    for start, end in spans:
        if phrases and text[phrases[-1][1] : start].isspace():
            phrases[-1] = phrases[-1][0], end
        else:
            phrases.append((start, end))
    more = f" and {len(phrases) - _LISTED} more" if len(phrases) > _LISTED else ""
    return ", ".join(f"“{' '.join(text[a:b].split())}”" for a, b in phrases[:_LISTED]) + more
