"""Mentions: where a text names something medical, found without a model.

The longest run of words that is a name in the terminology (MONDO, UBERON, CL, HPO and our lexicons, or one that
the user brings), in any order and spelling that `terms` folds, plus words of clinical notes that no list has
(by `lexicons/clinical.tsv`, among it the endings of drug names). Time is linear in the text. For measuring
texts, not for coding them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from medassay.language.lexicon import read_tsv
from medassay.language.terminology import NOTE_KINDS, terminology
from medassay.language.terms import LATERALITY, fold, lemma, lemma_tables

LONGEST = 7
"""Words of a name, fillers not counted; the few longer names are found by their parts."""

_WORD = re.compile(r"[^\W_]+(?:['’`][^\W_]{1,2}\b)?")
_POSSESSIVE = re.compile(r"['’`].*")
_PLAIN = re.compile(r"[^a-z0-9]+")
_STOP = re.compile(r"[.;:!?()\[\]\n]")
"""What keeps two words from belonging to one name."""
_NOT_MEDICAL = ("SOCIAL:", "KIN:")


@dataclass(frozen=True, slots=True)
class Mention:
    """Characters [start, end) of a text that name a concept; `id` is empty for clinical words without one."""

    start: int
    end: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class _Word:
    start: int
    end: int
    lemma: str
    acronym: bool
    joins: bool
    """Whether it may belong to one name with the word before it: no full stop, bracket or line end between."""


@dataclass(frozen=True, slots=True)
class Names:
    """Every name by its normal form; the words that occur in names; what may not or may stand alone.

    rows: from the normal form of a name to a place in `ids` and `labels`.
    """

    rows: Mapping[str, int]
    ids: Sequence[str]
    labels: Sequence[str]
    vocabulary: frozenset[str]
    common: frozenset[str]
    short: frozenset[str]
    clinical: frozenset[str]
    endings: tuple[str, ...]
    phrases: dict[str, list[tuple[tuple[str, ...], str]]]
    fillers: frozenset[str]
    markers: Mapping[str, int]


@lru_cache(maxsize=1)
def _names() -> Names:
    store = terminology()
    rows: dict[str, int] = {}
    for letter in reversed(NOTE_KINDS):
        rows.update((form[1:], row) for form, row in store.index.items() if form[0] == letter)
    markers = {form[1:]: row for form, row in store.index.items() if form[0] == "K" and len(form) > 3}
    return names_of(rows, store.ids, store.names, markers)


def names_of(
    rows: Mapping[str, int], ids: Sequence[str], labels: Sequence[str], markers: Mapping[str, int] | None = None
) -> Names:
    """What `mentions` needs to find the names of a terminology; `rows` has them in the form of `terms.key`."""
    listed: dict[str, list[str]] = {}
    for entry in read_tsv("clinical.tsv"):
        listed.setdefault(entry["kind"], []).extend(word.strip() for word in entry["words"].split("|"))
    _, fillers, phrases, _ = lemma_tables()
    by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for phrase in sorted(phrases, key=lambda text: (-len(text.split()), text)):
        parts = tuple(phrase.split())
        by_first.setdefault(parts[0], []).append((parts, phrases[phrase]))
    words = [*listed["symptom"], *listed["procedure"], *listed["drug"]]
    return Names(
        rows=rows,
        ids=ids,
        labels=labels,
        vocabulary=frozenset(word for form in rows for word in form.split()),
        common=frozenset(listed["common"]),
        short=frozenset(listed["short"]),
        clinical=frozenset(" ".join(sorted(map(lemma, word.split()))) for word in words),
        endings=tuple(listed["ending"]),
        phrases=by_first,
        fillers=fillers,
        markers=markers or {},
    )


def mentions(text: str, names: Names | None = None) -> list[Mention]:
    """The mentions of a text, in order, never overlapping; `names` in place of medassay's own.

    >>> text = "No pain; carcinoma of the left kidney, on lisinopril."
    >>> [text[m.start : m.end] for m in mentions(text)]
    ['pain', 'carcinoma of the left kidney', 'lisinopril']
    """
    if names is not None:
        return _find(text, names)
    return list(_own(text)) if len(text) <= KEPT else _find(text, _names())


KEPT = 20_000
"""Characters: what was found in longer texts is not kept, so that memory stays bounded whatever is read."""


@lru_cache(maxsize=2048)
def _own(text: str) -> tuple[Mention, ...]:
    """By medassay's own names; kept, because several metrics of a run ask about the same text."""
    return tuple(_find(text, _names()))


def _find(text: str, names: Names) -> list[Mention]:
    words = _content(text, names)
    named: list[Mention] = []
    at = 0
    while at < len(words):
        mention, used = _longest(text, words, at, names)
        if mention is not None:
            named.append(mention)
        at += used
    return named


def medical_words(text: str) -> list[tuple[int, int]]:
    """Spans of the medical words of a text: the words of its mentions, less kin and ways of life."""
    return [(mention.start, mention.end) for mention in mentions(text) if not mention.id.startswith(_NOT_MEDICAL)]


def _longest(text: str, words: list[_Word], at: int, names: Names) -> tuple[Mention | None, int]:
    """The longest name that begins at a word, and how many words to go on by."""
    run = 1
    while at + run < len(words) and run < LONGEST and words[at + run].joins and _may_join(words[at + run].lemma, names):
        run += 1
    for length in range(run, 0, -1):
        part = words[at : at + length]
        form = " ".join(sorted({word.lemma for word in part} - _SIDES)) or part[0].lemma
        if length > 1 and part[-1].lemma in _SIDES:
            continue
        row = names.rows.get(form)
        if length == 1:
            return _single(part[0], row, names), 1
        if row is not None and " " in form:
            return Mention(part[0].start, part[-1].end, names.ids[row], names.labels[row]), length
        if form in names.clinical and " " in form:
            return Mention(part[0].start, part[-1].end, "", text[part[0].start : part[-1].end]), length
    return None, 1


_SIDES = frozenset(LATERALITY.values())


def _may_join(word: str, names: Names) -> bool:
    return word in names.vocabulary or word in _SIDES or word in _clinical_parts()


@lru_cache(maxsize=1)
def _clinical_parts() -> frozenset[str]:
    return frozenset(part for word in _names().clinical if " " in word for part in word.split())


def _single(word: _Word, row: int | None, names: Names) -> Mention | None:
    """A word alone: short ones must be acronyms or listed, everyday words do not count."""
    form = word.lemma
    if form.isdigit() or (form in names.common and not word.acronym):
        return None
    if row is None:
        row = names.markers.get(form) if word.acronym or any(c.isdigit() for c in form) else None
    if row is not None and (len(form) > 3 or word.acronym or form in names.short):
        return Mention(word.start, word.end, names.ids[row], names.labels[row])
    if form in names.clinical or (len(form) > 5 and form.endswith(names.endings)):
        return Mention(word.start, word.end, "", form)
    return None


def _content(text: str, names: Names) -> list[_Word]:
    """The words that carry meaning, phrases such as `in situ` as one, fillers left out."""
    content: list[_Word] = []
    joins = False
    pending = list(_plain_words(text))
    at = 0
    while at < len(pending):
        start, end, word, acronym, after_stop = pending[at]
        joins = joins and not after_stop
        used, replaced = 1, None
        for parts, instead in names.phrases.get(word, ()):
            if tuple(pending_word[2] for pending_word in pending[at : at + len(parts)]) == parts:
                used, replaced, end = len(parts), instead, pending[at + len(parts) - 1][1]
                break
        at += used
        if replaced == "" or (replaced is None and word in names.fillers and not acronym):
            continue
        content.append(_Word(start, end, replaced or lemma(word), acronym and used == 1, joins))
        joins = True
    return content


def _plain_words(text: str) -> Iterator[tuple[int, int, str, bool, bool]]:
    """(start, end, folded word, whether an acronym, whether a stop stands before it)."""
    shouting = text.upper() == text
    last = 0
    for match in _WORD.finditer(text):
        written, word = _folded(match[0])
        if word:
            acronym = not shouting and 2 <= len(written) <= 6 and written.upper() == written and not written.isdigit()
            yield match.start(), match.end(), word, acronym, bool(_STOP.search(text, last, match.start()))
        last = match.end()


@lru_cache(maxsize=50_000)
def _folded(match: str) -> tuple[str, str]:
    """A word without its possessive, as written and folded."""
    written = _POSSESSIVE.sub("", match)
    return written, _PLAIN.sub("", fold(written))
