"""The ledger of a case: every statement with its verdict and the words that decide it.

People who judge a generated text go through it statement by statement and ask whether it is borne out, contradicted,
or nowhere to be found, and through the reference and ask whether each statement is there (Ben Abacha et al. 2023,
section 3). The ledger is that table, made by the role `checker`. It is computed once per case, whatever metrics are
asked for. For research and quality assurance, not for clinical decisions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from medassay.language.checks import NOT_ENGLISH, is_template, looks_english
from medassay.language.mentions import mentions
from medassay.language.numbers import numbers
from medassay.language.sentences import sentences
from medassay.language.statements import Statement, split
from medassay.language.symmetry import both_ways
from medassay.models.base import CheckerModel
from medassay.spans import INVENTION_KINDS, VERDICTS, Check

CANDIDATE, REFERENCE, SOURCE = "candidate", "reference", "source"

CERTAIN = 0.8
"""Probability from which a verdict is clear: a statement that the reference supports is not looked for in the source as
well, one that is supported or contradicted is not judged by its sentence, and a sentence supports its parts."""

MOST_STATEMENTS = 2_000
"""Statements of one text that are judged; a longer text is judged as far as that and the ledger says so."""

LONGEST_SENTENCE = 600
"""Characters of a sentence that is judged whole."""

SHORTEST_PASSAGE, LONGEST_PASSAGE, READ_TOGETHER = 240, 900, 1800
"""Characters of a passage, at least and at most, and of a text and a passage that are read together."""

CRITICAL = 0.5
"""Probability from which an error is called critical, not minor."""

COUNTS = (
    "statements", "supported", "contradicted", "not_stated", "expected", "missed", "misstated", "critical",
)  # fmt: skip
"""What `Ledger.counts` counts."""

_KEPT = 512


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


class LedgerMaker:
    """Makes ledgers with one checker; the last few hundred are kept."""

    def __init__(self, checker: CheckerModel) -> None:
        self.checker = checker
        self.kept: OrderedDict[Texts, Ledger] = OrderedDict()

    def ledgers(self, cases: Sequence[Texts]) -> list[Ledger]:
        """The ledger of each case."""
        distinct = list(dict.fromkeys(cases))
        known = {case: ledger for case in distinct if (ledger := self.kept.get(case)) is not None}
        fresh = [case for case in distinct if case not in known]
        known.update(zip(fresh, self._make(fresh)))
        self.kept.update((case, known[case]) for case in fresh)
        while len(self.kept) > _KEPT:
            self.kept.popitem(last=False)
        return [known[case] for case in cases]

    def passages(self, cases: Sequence[Texts]) -> list[tuple[Verdict, ...]]:
        """Verdicts on the texts of each case in passages instead of statements: the candidate's against the reference
        (without one, the source), and the reference's against the candidate. None where the candidate states nothing.

        A passage is one or more whole sentences, as many as the checker reads together with the other text.
        """
        asked = [list(_passage_questions(case)) for case in cases]
        return [tuple(verdicts) for verdicts in self._judge(cases, asked)]

    def _make(self, cases: Sequence[Texts]) -> list[Ledger]:
        verdicts = self._judge(cases, [list(_questions(case)) for case in cases])
        verdicts = [_without_candidate(case, own) for case, own in zip(cases, verdicts)]
        verdicts = [both_ways(own) for own in self._with_sentences(cases, verdicts)]
        from_source = self._judge(cases, [list(_source_questions(case, own)) for case, own in zip(cases, verdicts)])
        return [
            Ledger(tuple(_ordered([*own, *more])), _cut(case), case)
            for case, own, more in zip(cases, verdicts, from_source)
        ]

    def _with_sentences(self, cases: Sequence[Texts], verdicts: Sequence[list[Verdict]]) -> list[list[Verdict]]:
        """Judge the whole sentences of statements that are not clearly supported: what is part of a supported
        sentence is supported, however it was cut."""
        wholes = [[_sentence(case, verdict) for verdict in own] for case, own in zip(cases, verdicts)]
        asked = [list(dict.fromkeys(filter(None, questions))) for questions in wholes]
        answers = self._judge(cases, asked)
        checks = [dict(zip(questions, own)) for questions, own in zip(asked, answers)]
        return [
            [
                verdict if question is None else _as_part(verdict, known[question])
                for verdict, question in zip(own, questions)
            ]
            for own, questions, known in zip(verdicts, wholes, checks)
        ]

    def _judge(self, cases: Sequence[Texts], asked: Sequence[Sequence[_Question]]) -> list[list[Verdict]]:
        """All questions of all cases at once."""
        pairs = [
            (getattr(case, against), statement.text)
            for case, questions in zip(cases, asked)
            for _, statement, against in questions
        ]
        checks = iter(self.checker.check(pairs) if pairs else ())
        return [
            [
                Verdict(of, statement, against, next(checks).in_words(getattr(case, against)))
                for of, statement, against in questions
            ]
            for case, questions in zip(cases, asked)
        ]


_Question = tuple[str, Statement, str]


@lru_cache(maxsize=256)
def statements_of(text: str) -> tuple[Statement, ...]:
    """The statements of a text; a template (headings and placeholders alone) states nothing."""
    return () if is_template(text) else tuple(split(text))


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


def unjudgeable(texts: Texts) -> str | None:
    """Why no ledger can be made of a case, or None."""
    if texts.reference is None and texts.source is None:
        return "no reference and no source; it needs one of them"
    for side in (CANDIDATE, REFERENCE, SOURCE):
        if not looks_english(getattr(texts, side) or ""):
            return f"{side} {NOT_ENGLISH}"
    against = SOURCE if texts.reference is None else REFERENCE
    return None if statements_of(getattr(texts, against)) else f"no statement found in the {against}"


def _questions(case: Texts) -> Iterator[_Question]:
    against = REFERENCE if case.reference is not None else SOURCE
    text = getattr(case, against)
    if text is None:
        return
    for statement in statements_of(case.candidate)[:MOST_STATEMENTS]:
        yield CANDIDATE, statement, against
    for statement in statements_of(text)[:MOST_STATEMENTS]:
        if against == REFERENCE or is_clinical(statement.text):
            yield against, statement, CANDIDATE


def _passage_questions(case: Texts) -> Iterator[_Question]:
    other = case.source if case.reference is None else case.reference
    if other is None or not statements_of(case.candidate):
        return
    against = SOURCE if case.reference is None else REFERENCE
    for passage in _passages(case.candidate, len(other)):
        yield CANDIDATE, passage, against
    if case.reference is not None:
        for passage in _passages(case.reference, len(case.candidate)):
            yield REFERENCE, passage, CANDIDATE


def _passages(text: str, other: int) -> Iterator[Statement]:
    """Sentences, joined as long as a passage has room beside a text of `other` characters."""
    most = max(SHORTEST_PASSAGE, min(LONGEST_PASSAGE, READ_TOGETHER - other))
    start = end = -1
    for first, last in _sentences_of(text)[:MOST_STATEMENTS]:
        if start >= 0 and last - start > most:
            yield Statement(" ".join(text[start:end].split()), start, end, "")
            start = first
        start, end = first if start < 0 else start, last
    if start >= 0:
        yield Statement(" ".join(text[start:end].split()), start, end, "")


def _source_questions(case: Texts, verdicts: Sequence[Verdict]) -> Iterator[_Question]:
    if case.source is None or case.reference is None:
        return
    for verdict in verdicts:
        if verdict.of == CANDIDATE and verdict.check.probabilities[0] < CERTAIN:
            yield CANDIDATE, verdict.statement, SOURCE


def _sentence(case: Texts, verdict: Verdict) -> _Question | None:
    """The question about the whole sentence of a statement; None where it need not be asked.

    That is where the statement is clearly supported or contradicted: a sentence whose words are there in another order
    ("tender on the medial, not on the lateral side") may look supported where none of its parts is.
    """
    supported, _, contradicted = verdict.check.probabilities
    if verdict.of == SOURCE or max(supported, contradicted) >= CERTAIN or not statements_of(case.candidate):
        return None
    text = getattr(case, verdict.of)
    spans = _sentences_of(text)
    at = bisect_right(spans, (verdict.statement.start, len(text))) - 1
    start, end = spans[max(at, 0)]
    whole = " ".join(text[start:end].split())
    if len(whole) > LONGEST_SENTENCE or len(whole.rstrip(" .;,")) <= len(verdict.statement.text):
        return None
    return verdict.of, Statement(whole, start, end, verdict.statement.section), verdict.against


@lru_cache(maxsize=256)
def _sentences_of(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(sentences(text)) or ((0, len(text)),)


def _as_part(verdict: Verdict, whole: Verdict) -> Verdict:
    """The verdict on a statement of a sentence: as supported as the sentence where that is clearly supported."""
    supported, not_stated, contradicted = verdict.check.probabilities
    better = whole.check.probabilities[0]
    if better < CERTAIN or better <= supported:
        return verdict
    left = (1.0 - better) / (1.0 - supported)
    probabilities = (better, not_stated * left, contradicted * left)
    return replace(verdict, check=replace(verdict.check, probabilities=probabilities))


def _without_candidate(case: Texts, verdicts: list[Verdict]) -> list[Verdict]:
    """Where the candidate states nothing, nothing is stated by it, whatever the checker reads in its headings."""
    if statements_of(case.candidate):
        return verdicts
    return [replace(verdict, check=_not_stated(verdict.check)) for verdict in verdicts]


def _not_stated(check: Check) -> Check:
    kind = check.kind if check.kind in INVENTION_KINDS else "other"
    return Check((0.0, 1.0, 0.0), 0, 0, kind, check.critical)


def _ordered(verdicts: Sequence[Verdict]) -> list[Verdict]:
    order = {(CANDIDATE, REFERENCE): 0, (CANDIDATE, SOURCE): 1, (REFERENCE, CANDIDATE): 2, (SOURCE, CANDIDATE): 2}
    return sorted(verdicts, key=lambda verdict: order[verdict.of, verdict.against])


def _cut(case: Texts) -> tuple[str, ...]:
    sides = (CANDIDATE, REFERENCE if case.reference is not None else SOURCE)
    return tuple(side for side in sides if len(statements_of(getattr(case, side) or "")) > MOST_STATEMENTS)


def is_clinical(text: str) -> bool:
    """Whether a statement of a dialogue names something clinical or a number, so that a note should have it."""
    return bool(mentions(text)) or bool(numbers(text))
