"""Statements of a text: one checkable fact each, with its place and in words that can be read alone.

A statement is what a clinician counts as one fact (Ben Abacha et al. 2023, section 3): "denies chest pain, cough or
fever" is three. Sentences are cut by `coordination.py`; headings, field labels and specimen titles are carried to what
stands under them ("Allergies: none"). In a dialogue a question and its answer are one statement. Headings alone,
templates, administrative fields, signatures and small talk are no statements. Time is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Literal

from medassay.language.coordination import parts
from medassay.language.dialogue import Turn, turns
from medassay.language.lexicon import named_pattern, statement_words
from medassay.language.sections import headings, section_kind
from medassay.language.sentences import sentences

_LINE_COMMA = re.compile(r"(?<=[.;)\]]),(?=[A-Z\d])")
"""A comma that was a line break."""
_COLON_COMMA = re.compile(r"[ ,]{0,3}:[ \t]{0,3},")
"""The colon of a heading, with the comma that was the line break after it."""
_MARKUP = re.compile(r"[*`#|•·]")
_STRAY_STOP = named_pattern("stray stop")
_ITEM_LABEL = named_pattern("item label")
_FIELD = re.compile(
    r"(?:^|(?<=[;:,.(\n]))[\s(]{0,4}"
    r"(?P<label>[A-Z][^:;,.\n\[\](]{0,60}?(?:\([^)\n]{0,20}\)[^:;,.\n\[\](]{0,40}?)?)\s{0,2}:(?![\d:])"
)
"""What may be a field's label, and its colon, which is not that of a time: `Tumor size (cm):`."""
_SPECIMEN = re.compile(r"(?P<title>[A-Z][^;:.\n]{2,140}?)\s{0,3}(?P<end>[;:.])(?=\s|$)")
"""What may be a specimen's title: the words up to the first semicolon, colon or full stop."""
_NEXT_LABEL = re.compile(r"(?<=[).;])\s+\(?\d{1,2}[.)]?\s*$")
"""The number of the next item, left at the end of a sentence."""
_FULL_STOP = named_pattern("sentence end")
_REPLY = named_pattern("after a reply")
_LOWER_NAME = re.compile(r"[a-z]{1,3}[A-Z\d]")
"""A name that begins in lower case: "pT1", "p53", "mTOR"."""
_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_LONGEST_LABEL = 7
"""Words of a field's label."""

_SHORT_LINE = 400
"""Characters: a heading in capitals holds for a line of this length; in longer ones for its sentence only."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One checkable fact.

    text: in words that can be read alone. start, end: the characters [start, end) that state it. section: the kind of
    its section where the heading is known (`diagnosis`), else the heading in lower case, empty before any heading.
    speaker: who says it in a dialogue (`Patient`), else empty.
    """

    text: str
    start: int
    end: int
    section: str
    speaker: str = ""


def split(text: str) -> list[Statement]:
    """The statements of a note, a report or a dialogue, in order.

    >>> [statement.text for statement in split("ALLERGIES: None. She smokes and denies fever or chills.")]
    ['Allergies: None', 'She smokes', 'She denies fever', 'She denies chills']
    >>> [statement.text for statement in split("Doctor: Any fever? Patient: No. Doctor: Okay.")]
    ['Any fever? No.']
    """
    spoken = turns(text)
    statements = _dialogue(text, spoken) if spoken else _Note(text).statements()
    return sorted(statements, key=lambda statement: (statement.start, statement.end))


class _Note:
    """A note or report while it is read: where its sections begin, and the heading or specimen that is carried."""

    def __init__(self, text: str) -> None:
        # Copies of the same length keep the offsets: one with commas that were line breaks restored, one to quote.
        self.laid_out = _COLON_COMMA.sub(lambda m: ":".ljust(len(m[0])), _LINE_COMMA.sub("\n", text))
        self.plain = _STRAY_STOP.sub(" ", _MARKUP.sub(" ", self.laid_out))
        heads = headings(self.laid_out)
        self.section_starts = [start for start, _, _, _ in heads]
        self.section_names = [title.lower() if kind == "other" else kind for _, _, kind, title in heads]
        self.titles = {start: (body, title) for start, body, _, title in heads}
        self.heading = ""
        self.heading_start = -1
        self.carried = ""
        self.reach: Literal["text", "line", "sentence"] = "text"
        """How far what is carried holds: to the next heading, to the end of its line or of its sentence."""

    def statements(self) -> Iterator[Statement]:
        before = 0
        spans = (
            part for start, end in sentences(self.laid_out) for part in _cut(self.laid_out, start, end, _FULL_STOP)
        )
        for start, end in spans:
            if self.reach == "sentence" or (self.reach == "line" and "\n" in self.laid_out[before:start]):
                self._carry("")
            before = end
            body, title = self.titles.get(start, (0, ""))
            if body >= end:
                self._carry(title)
            elif not named_pattern("boilerplate").fullmatch(self.plain[start:end].strip()[:400]):
                yield from self._sentence(start, end)

    def _carry(self, label: str, reach: Literal["text", "line", "sentence"] = "text") -> None:
        self.carried = " ".join(_label(label).split())
        self.reach = reach

    def _open(self, label: str, start: int, stated: bool) -> None:
        """Begin what stands under a heading; stated: whether text follows it in the same line."""
        self.heading, self.heading_start = label.lower(), start
        lists = label.lower().rpartition(" ")[2] in statement_words("list heading")
        lists = lists or "\n" in self.laid_out[start : start + _SHORT_LINE]
        self._carry(label, "text" if not stated else "line" if lists else "sentence")

    def _sentence(self, start: int, end: int) -> Iterator[Statement]:
        start = yield from self._specimen(self._after_item_label(start, end), end)
        tail = _NEXT_LABEL.search(self.plain, max(start, end - 12), end)
        end = tail.start() if tail else end
        fields = [
            mark
            for mark in _FIELD.finditer(self.plain[start:end])
            if len(mark["label"].split()) <= _LONGEST_LABEL and not _is_sentence(mark["label"])
        ]
        first = fields[0].start("label") + start if fields else end
        yield from self._facts(start, first, self.carried)
        for mark, after in zip(fields, [*fields[1:], None]):
            label, body = " ".join(mark["label"].split()), start + mark.end()
            last = start + after.start("label") if after else end
            if named_pattern("administrative label").fullmatch(label):
                continue
            stated = _WORD.search(self.plain, self._after_item_label(body, last), last) is not None
            heading = _is_heading(label) or (not stated and after is None)
            if heading:
                self._open(label, start + mark.start("label"), stated)
            carried = self.carried if heading else _label(label)
            yield from self._facts(body, last, carried, start + mark.start("label"), heading)

    def _after_item_label(self, start: int, end: int) -> int:
        """Where the text after "1.", "-" or "A." begins."""
        label = _ITEM_LABEL.match(self.plain, start, end)
        return label.end() if label else start

    def _specimen(self, start: int, end: int) -> Generator[Statement, None, int]:
        """A specimen's title ("Breast, left, core biopsy;"): stated once, its site carried to what follows."""
        mark = _SPECIMEN.match(self.plain, start, end)
        title = mark["title"] if mark else ""
        procedure = named_pattern("procedure")
        if not mark or "," not in title or not procedure.search(title) or _is_sentence(title):
            return start
        if mark["end"] == "." and not procedure.search(title.rpartition(",")[2]):
            return start
        self._carry(", ".join(name for name in map(str.strip, title.split(",")) if not procedure.search(name)))
        yield self._statement(f"Specimen: {' '.join(title.split())}", mark.start("title"), mark.end("title"))
        return mark.end()

    def _facts(self, start: int, end: int, carried: str, label: int = -1, heading: bool = False) -> Iterator[Statement]:
        """The facts at [start, end) under what is carried; `label` is where its words stand, −1 where they do not."""
        template, empty = named_pattern("template"), statement_words("empty")
        for part in parts(self.plain, self._after_item_label(start, end), end):
            own = self.plain[part.start : part.end]
            text = own if template.search(part.text) else part.text
            bare = " ".join(_WORD.findall(text.lower()))
            if (
                template.search(own)
                or {bare, own.lower()} & empty
                or named_pattern("boilerplate").fullmatch(text[:400])
            ):
                continue
            if section_kind(bare) or (not carried and not any(map(str.isalpha, own))):
                continue
            begins = part.start
            if label >= 0 and (not heading or bare.partition(" ")[0] in statement_words("value")):
                begins = label
            label = -1
            yield self._statement(text if part.complete or not carried else f"{carried}: {text}", begins, part.end)

    def _statement(self, text: str, start: int, end: int) -> Statement:
        at = bisect_right(self.section_starts, start) - 1
        known = at >= 0 and self.section_starts[at] >= self.heading_start
        section = self.section_names[at] if known else self.heading
        named = _LOWER_NAME.match(text)
        return Statement(text if named else text[:1].upper() + text[1:], start, end, section)


def _is_heading(label: str) -> bool:
    """Whether a label is a heading for all that follows: in capitals."""
    return label.isupper() and len(label) > 3


def _label(label: str) -> str:
    """A label as it is carried: empty where it adds nothing, in small letters where it stands in capitals."""
    if label.lower() in statement_words("bare"):
        return ""
    return label.capitalize() if label.isupper() and len(label) > 5 else label


def _is_sentence(text: str) -> bool:
    """Whether a text has a verb."""
    verbs = statement_words("verb")
    return any(word.lower() in verbs for word in _WORD.findall(text[:400]))


def _dialogue(text: str, spoken: list[Turn]) -> Iterator[Statement]:
    """What is said in a dialogue; the first answer to a question carries the question."""
    asked: tuple[int, int] | None = None
    for turn in spoken:
        spans = [(turn.start + a, turn.start + b) for a, b in sentences(text[turn.start : turn.end])]
        first = True
        for start, end in (part for a, b in spans for part in _cut(text, a, b, _REPLY)):
            sentence = " ".join(text[start:end].split())
            talk = _small_talk(sentence)
            if sentence.endswith("?"):
                asked = (asked[0], end) if asked and asked[0] >= turn.start else (start, end)
            elif talk and talk.isdisjoint(statement_words("answer")):
                continue
            elif asked is not None and first and asked[1] <= turn.start:
                question = " ".join(text[asked[0] : asked[1]].split())
                if not (talk and _small_talk(question)):
                    yield Statement(f"{question} {sentence}", asked[0], end, "", turn.speaker)
                first = False
            elif not talk and not sentence.endswith(":"):
                yield Statement(sentence, start, end, "", turn.speaker)
                first = False
        if asked is not None and asked[0] < turn.start:
            asked = None


def _cut(text: str, start: int, end: int, where: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    for mark in where.finditer(text, start, end):
        yield start, mark.start()
        start = mark.end()
    yield start, end


def _small_talk(sentence: str) -> set[str]:
    """The phrases of a sentence that states nothing (`Okay.`, `Thank you, doctor.`); none where it states something."""
    words = [word.lower().replace("’", "'") for word in _WORD.findall(sentence)]
    known = statement_words("small talk")
    phrases: set[str] = set()
    at = 0
    while at < len(words):
        length = next((n for n in range(6, 0, -1) if " ".join(words[at : at + n]) in known), 0)
        if not length:
            return set()
        phrases.add(" ".join(words[at : at + length]))
        at += length
    return phrases
