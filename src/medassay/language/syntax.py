"""The words of a sentence, what they are, and which of them govern others.

No parser is used: word lists decide (`lexicons/statements.tsv`). Every look ahead or back is bounded, so that time
stays linear in the sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate

from medassay.language.lexicon import named_pattern, statement_kinds, statement_words

AHEAD = 12
"""Words that are read ahead to see whether a clause begins."""
BACK = 40
"""Words that are read back to find what governs a list."""
CARRIED = 160
"""Characters that a part may carry from its context."""

_TOKEN = re.compile(r"\d+(?:[.,:/-]\d+)*[+%]?|\w+(?:['’/.-]\w+)*|[^\w\s]")
_ADJECTIVE = named_pattern("adjective")
_NO_KINDS: frozenset[str] = frozenset()


@dataclass(slots=True)
class Chunk:
    """Words [first, last) of a sentence that state one fact.

    kind: `clause` with a subject of its own or none, `verb` of the subject before, `item` of a list, `relative` clause,
    `phrase` that says more of what stands before it. connected: whether a comma, semicolon or coordinator stands before
    it. joined: whether "and" or "or" does. complete: whether the clause that it belongs to has a verb. prefix, suffix:
    the words that it carries to stand alone.
    """

    kind: str
    first: int
    last: int
    connected: bool = False
    joined: bool = False
    complete: bool = False
    prefix: str = ""
    suffix: str = ""


def is_adjective(word: str) -> bool:
    """Whether a word looks like an adjective or participle."""
    return _ADJECTIVE.fullmatch(word) is not None


def _in_brackets(words: list[str]) -> list[bool]:
    """Whether each word stands in brackets; a bracket that is never closed holds nothing."""
    inside = [False] * len(words)
    opened: list[int] = []
    for i, word in enumerate(words):
        if word in ("(", "["):
            opened.append(i)
        elif word in (")", "]") and opened:
            first = opened.pop()
            if not opened:
                inside[first : i + 1] = [True] * (i + 1 - first)
    return inside


class Sentence:
    """The words of the sentence at [start, end) of a text, in lower case, and what they are."""

    def __init__(self, text: str, start: int, end: int) -> None:
        marks = list(_TOKEN.finditer(text, start, end))
        known = statement_kinds()
        self.text = text
        # WHO is an organisation whose grades are named after it, not the pronoun.
        self.words = [mark[0].lower() if mark[0] != "WHO" else "w.h.o" for mark in marks]
        self.starts = [mark.start() for mark in marks]
        self.ends = [mark.end() for mark in marks]
        self._kinds = [known.get(word, _NO_KINDS) for word in self.words]
        self.shielded = _in_brackets(self.words)
        self.verbs = [self._is_verb(i) for i in range(len(self.words))]
        self._verb_count = [0, *accumulate(self.verbs)]
        content = (word[0].isalnum() and "function" not in kinds for word, kinds in zip(self.words, self._kinds))
        self._content_count = [0, *accumulate(content)]
        self._negation_count = [0, *accumulate("negation" in kinds for kinds in self._kinds)]

    def __len__(self) -> int:
        return len(self.words)

    def quote(self, first: int, last: int) -> str:
        """The words [first, last) as they stand in the text, white space folded."""
        if first >= last:
            return ""
        return " ".join(self.text[self.starts[first] : self.ends[last - 1]].split())

    def context(self, first: int, last: int) -> str:
        """The words [first, last) without punctuation at their end; where they are too many to carry, the last
        negation among them and what follows it."""
        while last > first and self.words[last - 1] in (",", ";", "."):
            last -= 1
        if first < last and self.ends[last - 1] - self.starts[first] > CARRIED:
            negations = [i for i in range(max(first, last - AHEAD), last) if self.is_any(i, "negation")]
            first = negations[-1] if negations else last
        return self.quote(first, last)

    def has_verb(self, first: int, last: int) -> bool:
        """Whether one of the words [first, last) is a finite verb."""
        return self._verb_count[last] > self._verb_count[first]

    def states(self, first: int, last: int) -> bool:
        """Whether the words [first, last) say something: a word beyond articles, pronouns and auxiliaries."""
        return first < last and self._content_count[last] > self._content_count[first]

    def is_negated(self, first: int, last: int) -> bool:
        """Whether one of the words [first, last) is a negation, so that what follows cannot be quoted without it."""
        return first < last and self._negation_count[last] > self._negation_count[first]

    def last_of(self, first: int, last: int, kind: str) -> int:
        """The last of the words [first, last), of the last `BACK` of them, that is in a word list; −1 where none is."""
        return next((i for i in range(last - 1, max(first, last - BACK) - 1, -1) if self.is_any(i, kind)), -1)

    def is_any(self, i: int, *kinds: str) -> bool:
        """Whether word `i` is in one of the word lists."""
        return 0 <= i < len(self._kinds) and not self._kinds[i].isdisjoint(kinds)

    def any_of(self, first: int, last: int, *kinds: str) -> bool:
        """Whether one of the words [first, last), of the last `BACK` of them, is in one of the word lists."""
        return any(self.is_any(i, *kinds) for i in range(max(first, last - BACK), last))

    def _is_verb(self, i: int) -> bool:
        word, before = self.words[i], self.words[i - 1] if i else ""
        if self.is_any(i, "verb"):
            return before != "to" and (not self.is_any(i - 1, "determiner") or self.is_any(i, "function"))
        if self.is_any(i, "noun or verb"):
            return self.is_any(i - 1, "subject", "adverb", "person") or before in ("who", "and", ",", "")
        if word.endswith("ed") and (before in statement_words("pronoun") or before in ("who", "patient")):
            return True
        if not self.is_any(i, "past"):
            return False
        after = self.words[i + 1] if i + 1 < len(self.words) else "."
        plain = not after[0].isalnum() or after in ("for", "that", "with") or after.endswith("ly")
        plain = plain or self.is_any(i + 1, "tight", "determiner", "adverb", "coordinator")
        follows_noun = bool(before) and before[0].isalnum() and not self.is_any(i - 1, "determiner", "tight")
        return plain and (follows_noun or before == "and")

    def item_end(self, first: int) -> int:
        """Where an item that begins at `first` ends: at a comma, a coordinator, a relative pronoun or a verb."""
        last = first
        while last < min(first + AHEAD, len(self)) and (self.shielded[last] or not self._ends_item(last)):
            last += 1
        return last

    def _ends_item(self, i: int) -> bool:
        ends = self.words[i] in (",", ";", ".") or self.words[i] in statement_words("item end")
        return ends or self.verbs[i] or self.is_any(i, "coordinator")

    def opens_clause(self, first: int) -> bool:
        """Whether a subject and its verb begin at `first`."""
        pronouns = statement_words("pronoun")
        if self.words[first].partition("'")[0] in pronouns and "'" in self.words[first]:
            return True
        nominal, adverbial = self.is_any(first, "determiner"), self.is_any(first, "tight", "opening")
        for i in range(first, min(first + AHEAD, len(self))):
            word = self.words[i]
            if self.verbs[i]:
                return i > first
            stops = word in (",", ";", ":") or word in statement_words("item end")
            stops = stops or (self.is_any(i, "coordinator") and not (nominal and word == "and"))
            if i > first and (stops or (word in pronouns and not adverbial)):
                return False
        return False

    def after_connector(self, i: int) -> tuple[int, bool]:
        """Where the words after a comma or coordinator at `i` begin, and whether "and" or "or" stands there."""
        at, joined = i, False
        while at < min(i + 4, len(self)):
            if self.words[at : at + 3] == ["as", "well", "as"]:
                at, joined = at + 3, True
            elif self.words[at : at + 2] == ["along", "with"]:
                at, joined = at + 2, True
            elif self.is_any(at, "coordinator"):
                at, joined = at + 1, joined or self.words[at] not in ("but", "yet")
            elif self.words[at] in (",", ";") or (at > i and self.words[at] == "also"):
                at += 1
            else:
                break
        return at, joined

    def after_opener(self) -> int:
        """Where the main clause begins after an adverbial and its comma ("On arrival, …"); 0 where there is none."""
        if not self.words or not (self.is_any(0, "opening") or self.words[0].endswith("ly")):
            return 0
        for i in range(1, min(AHEAD + 4, len(self) - 1)):
            if self.words[i] == "," and not self.shielded[i]:
                main = self.verbs[i + 1] or self.opens_clause(i + 1) or self.is_any(i + 1, "negation")
                return i + 1 if main or i == 1 else 0
        return 0

    def governor(self, first: int, end: int, lists_only: bool = False) -> tuple[int, bool]:
        """The last preposition, negation or verb of the words [first, end), and whether it can govern a list.

        Args:
            first: where the chunk begins.
            end: where the list's first item ends.
            lists_only: leave out what cannot govern a list.

        Returns:
            Its index, −1 where there is none, and whether it can govern a list.
        """
        for i in range(end - 1, max(first, end - BACK) - 1, -1):
            if self.shielded[i] or " ".join(self.words[i : i + 2]) in statement_words("fixed"):
                continue
            if self._governs_list(i, i == first):
                return i, True
            if self.is_any(i, "tight") and not lists_only:
                return i, False
        return -1, False

    def _governs_list(self, i: int, opens: bool) -> bool:
        word, before = self.words[i], self.words[i - 1] if i else ""
        after_verb = i > 0 and self.verbs[i - 1]
        if word == "of":
            return after_verb or self.is_any(i - 1, "noun of")
        if word == "for" and self.is_duration(i + 1):
            return False
        if word == "on":
            return after_verb or self.is_any(i - 1, "adverb")
        if word == "to":
            return before in statement_words("allergy")
        if self.is_any(i, "status"):
            return opens and word in statement_words("list result")
        after_verb = after_verb or (i > 1 and self.is_any(i - 1, "adverb") and self.verbs[i - 2])
        if after_verb and word.endswith(("ing", "ed", "given")) and not self.is_any(i + 1, "tight"):
            return True
        return self.verbs[i] or self.is_any(i, "strong", "negation")

    def is_duration(self, i: int) -> bool:
        """Whether a length of time begins at word `i`: "two weeks"."""
        return i < len(self) and named_pattern("duration").match(self.text, self.starts[i]) is not None

    def subject(self, chunk: Chunk) -> str:
        """The words before a clause's verb; empty where it has none."""
        for i in range(chunk.first, min(chunk.last, chunk.first + BACK)):
            if self.verbs[i]:
                end = i
                while end > chunk.first and self.is_any(end - 1, "adverb"):
                    end -= 1
                return self.context(chunk.first, end)
        return ""

    def object(self, chunk: Chunk) -> tuple[int, int]:
        """The words of a chunk after what governs them: what it speaks of."""
        governor, _ = self.governor(chunk.first, chunk.last, lists_only=True)
        first, last = max(governor + 1, chunk.first + (chunk.kind == "phrase")), chunk.last
        while last > first and self.words[last - 1] in (",", ";", "."):
            last -= 1
        return (first, last) if chunk.first < first < last else (chunk.first, last)

    def is_person(self, first: int, last: int) -> bool:
        """Whether the words [first, last) name the person whom a note is about."""
        return any(
            self.is_any(i, "person") or self.words[i].endswith(("year-old", "y/o")) for i in range(first, last)[:BACK]
        )
