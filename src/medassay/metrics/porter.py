"""The Porter stemmer, as nltk runs it by default (its `NLTK_EXTENSIONS` mode).

Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with Martin Porter's later changes and
nltk's own. ROUGE and METEOR with stemming are defined by what this stemmer returns, so it is kept
identical to nltk's, without needing nltk.
"""

from __future__ import annotations

from functools import lru_cache

_IRREGULAR = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}

# Suffix and replacement; the first suffix that fits decides, whether or not its condition holds.
_STEP_2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
)
_STEP_3 = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_STEP_4 = tuple(
    (suffix, "")
    for suffix in (
        *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent"),
        *("ou", "ism", "ate", "iti", "ous", "ive", "ize"),
    )
)


@lru_cache(maxsize=2**16)
def stem(word: str) -> str:
    """The word's stem, in lower case.

    >>> stem("differentiated"), stem("biopsies"), stem("dying")
    ('differenti', 'biopsi', 'die')
    """
    low = word.lower()
    if low in _IRREGULAR:
        return _IRREGULAR[low]
    if len(word) <= 2:
        return low
    return _step_5(_step_4(_replace(_step_2(_step_1c(_step_1b(_step_1a(low)))), _STEP_3, 0)))


def _shape(word: str) -> str:
    """The word as consonants `c` and vowels `v`; a y after a consonant is a vowel."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Porter's m: how many times a vowel run is followed by a consonant run."""
    return _shape(word).count("vc")


def _ends_cvc(word: str) -> bool:
    """Porter's *o (not before w, x, y), and nltk's addition: a two-letter vc."""
    shape = _shape(word)
    return (shape.endswith("cvc") and word[-1] not in "wxy") or shape == "vc"


def _replace(word: str, rules: tuple[tuple[str, str], ...], least: int) -> str:
    """The first rule whose suffix fits, applied where the rest of the word has a measure above `least`."""
    for suffix, replacement in rules:
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            return base + replacement if _measure(base) > least else word
    return word


def _step_1a(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _step_1b(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        base = word.removesuffix(suffix)
        if base != word and "v" in _shape(base):
            return _restore_ending(base)
    return word


def _restore_ending(word: str) -> str:
    """What is left after -ed or -ing gets its e back, or loses a doubled consonant."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if word[-1] == word[-2:-1] and _shape(word).endswith("c"):
        return word if word[-1] in "lsz" else word[:-1]
    return word + "e" if _measure(word) == 1 and _ends_cvc(word) else word


def _step_1c(word: str) -> str:
    base = word[:-1]
    return base + "i" if word.endswith("y") and len(base) > 1 and _shape(base).endswith("c") else word


def _step_2(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _step_2(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replace(word, _STEP_2, 0)


def _step_4(word: str) -> str:
    if word.endswith("ion"):
        base = word[:-3]
        return base if _measure(base) > 1 and base[-1] in "st" else word
    return _replace(word, _STEP_4, 1)


def _step_5(word: str) -> str:
    base = word[:-1]
    if word.endswith("e") and (_measure(base) > 1 or (_measure(base) == 1 and not _ends_cvc(base))):
        word = base
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
