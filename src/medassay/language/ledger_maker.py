"""Ledgers made by the role `checker`: which statements are asked about, and what becomes of the answers.

A ledger is made once per case, whatever metrics are asked for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from medassay.language.checks import NOT_ENGLISH, is_template, looks_english
from medassay.language.ledger import CANDIDATE, REFERENCE, SOURCE, Ledger, Texts, Verdict
from medassay.language.mentions import mentions
from medassay.language.numbers import numbers
from medassay.language.sentences import sentences
from medassay.language.statements import Statement, split
from medassay.language.symmetry import both_ways
from medassay.models.base import CheckerModel
from medassay.spans import INVENTION_KINDS, Check

CERTAIN = 0.8
"""Probability from which a verdict is clear: a statement that the reference supports is not looked for in the source as
well, one that is supported or contradicted is not judged by its sentence, and a sentence supports its parts."""

MOST_STATEMENTS = 2_000
"""Statements of one text that are judged; a longer text is judged as far as that and the ledger says so."""

_LONGEST_SENTENCE = 600
"""Characters of a sentence that is judged whole."""

_SHORTEST_PASSAGE, _LONGEST_PASSAGE, _READ_TOGETHER = 240, 900, 1800
"""Characters of a passage, at least and at most, and of a text and a passage that are read together."""

_KEPT = 512
"""Ledgers that are kept."""

_Question = tuple[str, Statement, str]
"""Whose statement, the statement, and the text that it is held against."""


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


@lru_cache(maxsize=256)
def _statements_of(text: str) -> tuple[Statement, ...]:
    """The statements of a text; a template (headings and placeholders alone) states nothing."""
    return () if is_template(text) else tuple(split(text))


def unjudgeable(texts: Texts) -> str | None:
    """Why no ledger can be made of a case, or None."""
    if texts.reference is None and texts.source is None:
        return "no reference and no source; it needs one of them"
    for side in (CANDIDATE, REFERENCE, SOURCE):
        if not looks_english(getattr(texts, side) or ""):
            return f"{side} {NOT_ENGLISH}"
    against = SOURCE if texts.reference is None else REFERENCE
    return None if _statements_of(getattr(texts, against)) else f"no statement found in the {against}"


def _questions(case: Texts) -> Iterator[_Question]:
    against = REFERENCE if case.reference is not None else SOURCE
    text = getattr(case, against)
    if text is None:
        return
    for statement in _statements_of(case.candidate)[:MOST_STATEMENTS]:
        yield CANDIDATE, statement, against
    for statement in _statements_of(text)[:MOST_STATEMENTS]:
        if against == REFERENCE or _is_clinical(statement.text):
            yield against, statement, CANDIDATE


def _passage_questions(case: Texts) -> Iterator[_Question]:
    other = case.source if case.reference is None else case.reference
    if other is None or not _statements_of(case.candidate):
        return
    against = SOURCE if case.reference is None else REFERENCE
    for passage in _passages(case.candidate, len(other)):
        yield CANDIDATE, passage, against
    if case.reference is not None:
        for passage in _passages(case.reference, len(case.candidate)):
            yield REFERENCE, passage, CANDIDATE


def _passages(text: str, other: int) -> Iterator[Statement]:
    """Sentences, joined as long as a passage has room beside a text of `other` characters."""
    most = max(_SHORTEST_PASSAGE, min(_LONGEST_PASSAGE, _READ_TOGETHER - other))
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
    if verdict.of == SOURCE or max(supported, contradicted) >= CERTAIN or not _statements_of(case.candidate):
        return None
    text = getattr(case, verdict.of)
    spans = _sentences_of(text)
    at = bisect_right(spans, (verdict.statement.start, len(text))) - 1
    start, end = spans[max(at, 0)]
    whole = " ".join(text[start:end].split())
    if len(whole) > _LONGEST_SENTENCE or len(whole.rstrip(" .;,")) <= len(verdict.statement.text):
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
    if _statements_of(case.candidate):
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
    return tuple(side for side in sides if len(_statements_of(getattr(case, side) or "")) > MOST_STATEMENTS)


def _is_clinical(text: str) -> bool:
    """Whether a statement of a dialogue names something clinical or a number, so that a note should have it."""
    return bool(mentions(text)) or bool(numbers(text))
