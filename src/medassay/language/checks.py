"""What keeps a text from being read as a report: it is not English, or it is only a template.

Both are decided on words alone, in one pass: the language by words that tell it (`lexicons/languages.tsv`),
a template by how much of it is placeholders (`[describe any abnormalities]`) or headings with nothing under them.
"""

from __future__ import annotations

import re
from functools import lru_cache

from medassay.language.lexicon import read_tsv

_SAMPLE = 20_000
"""Characters looked at for the language: a report that changes language later is still read."""

_FOREIGN_SCRIPT = 0.5
"""Share of letters in another script from which a text is not English; the Greek letters of markers are few."""

_TEMPLATE = 0.45
"""Share of words in placeholders from which a text is a template: filled-in reports stay below 0.36."""

_FEW_WORDS = 2
"""Least number of different telling words of a foreign language, and least placeholders of a template."""

NOT_ENGLISH, TEMPLATE = "is not English", "is only a template"
"""What `problem` says of a text."""

_WORD = re.compile(r"[^\W\d_]+")
_CONTENT = re.compile(r"[^\W_]")
_PLACEHOLDER = re.compile(r"\[[^\[\]]{2,400}\]|\{[^{}]{2,400}\}|<(?!/)[^<>]{2,400}>|_{3,}")
_MARKUP = re.compile(r"[*#|_`]+")
_HEADING = re.compile(r"(?:^|(?<=[\n.:;]))[ \t\-•]*[^\W\d_][^\n.:;]{0,60}:(?=\s|$)")
"""A label at the beginning of a line or sentence, and its colon."""


def problem(text: str) -> str | None:
    """Why a text cannot be read as an English report, or None.

    >>> problem("Lunge: Adenokarzinom der Lunge mit Lymphknotenmetastasen, keine Nekrose.")
    'is not English'
    >>> problem("Breast, core-needle biopsy; Invasive carcinoma, grade II") is None
    True
    """
    if not looks_english(text):
        return NOT_ENGLISH
    if is_template(text):
        return TEMPLATE
    return None


def looks_english(text: str) -> bool:
    """False where script or words are those of another language; a text of unknown words counts as English."""
    words = _WORD.findall(text[:_SAMPLE].lower())
    letters = sum(map(len, words))
    if not text.isascii():
        latin = sum(len(word) for word in words if word[0] < "\u0370")
        if letters and (letters - latin) / letters > _FOREIGN_SCRIPT:
            return False
    english, foreign = _telling_words()
    hits: dict[str, int] = {}
    seen: dict[str, set[str]] = {}
    known = sum(map(english.__contains__, words))
    for word in filter(foreign.__contains__, words):
        for language in foreign[word]:
            hits[language] = hits.get(language, 0) + 1
            seen.setdefault(language, set()).add(word)
    strong = (count for language, count in hits.items() if len(seen[language]) >= _FEW_WORDS)
    return max(strong, default=0) <= known


def is_template(text: str) -> bool:
    """Whether what the text says is placeholders, or headings with nothing under them.

    >>> is_template("Gross: [describe specimen]\\nDiagnosis: [insert diagnosis]")
    True
    """
    placeholders = _PLACEHOLDER.findall(text)
    if not placeholders and text.count(":") <= _FEW_WORDS:
        return False  # most texts
    rest = _MARKUP.sub("", _PLACEHOLDER.sub(" ", text))
    headings = _HEADING.findall(rest)
    left = len(_WORD.findall(rest))
    inside = sum(max(1, len(_WORD.findall(placeholder))) for placeholder in placeholders)
    if len(placeholders) >= _FEW_WORDS and inside >= _TEMPLATE * (inside + left):
        return True
    return len(headings) + len(placeholders) > _FEW_WORDS and not _CONTENT.search(_HEADING.sub(" ", rest))


@lru_cache(maxsize=1)
def _telling_words() -> tuple[frozenset[str], dict[str, tuple[str, ...]]]:
    """The words of English, and for each other word the languages it tells."""
    rows = {row["language"]: row["words"].split("|") for row in read_tsv("languages.tsv")}
    english = frozenset(rows.pop("en"))
    foreign: dict[str, tuple[str, ...]] = {}
    for language, words in rows.items():
        for word in dict.fromkeys(words):
            if word not in english:
                foreign[word] = (*foreign.get(word, ()), language)
    return english, foreign
