"""The normal form of a clinical term, so that two spellings of one thing share a key.

Case, accents, plurals, British spelling, hyphens, OCR full stops, word order and filler words do not
count; organ adjectives count as their organ (`renal` = `kidney`). What is folded is data:
`lexicons/lemmas.tsv`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from medassay.language.lexicon import expression, read_tsv

_WORD = re.compile(r"[a-z0-9]+")
_POSSESSIVE = re.compile(r"['’`]s\b|['’`]")
_BROKEN_HYPHEN = re.compile(r"(?<=\w)-\.?\s+(?=[a-z0-9])")
_GREEK = str.maketrans({"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "κ": "kappa", "λ": "lambda"})


@lru_cache(maxsize=1)
def lemma_tables() -> tuple[dict[str, str], frozenset[str], dict[str, str], re.Pattern[str]]:
    """Lemmas of single words, filler words, phrases that become one word, and one pattern of the phrases."""
    lemmas: dict[str, str] = {}
    fillers: set[str] = set()
    phrases: dict[str, str] = {}
    for row in read_tsv("lemmas.tsv"):
        variants = [variant.strip() for variant in row["variants"].split("|")]
        if row["kind"] == "filler":
            fillers.update(variants)
        elif row["kind"] == "phrase":
            phrases.update((variant, row["lemma"]) for variant in variants)
        elif row["kind"] == "word":
            lemmas.update((variant, row["lemma"]) for variant in variants)
    longest_first = sorted(phrases, key=lambda variant: (-len(variant), variant))
    pattern = expression(rf"\b(?:{'|'.join(longest_first)})\b", capitals=True)
    return lemmas, frozenset(fillers), phrases, pattern


@lru_cache(maxsize=8)
def forms(kind: str) -> dict[str, str]:
    """What stands for each variant of a kind in `lemmas.tsv`: British spellings, words for the sides."""
    rows = (row for row in read_tsv("lemmas.tsv") if row["kind"] == kind)
    return {variant: row["lemma"] for row in rows for variant in row["variants"].split("|")}


LATERALITY = forms("side")
"""Words for a side, and the side: left, right or bilateral."""


@lru_cache(maxsize=1)
def _british() -> re.Pattern[str]:
    return expression("|".join(forms("spelling")), capitals=True)


def american(text: str) -> str:
    """A text in lower case with American spelling.

    >>> american("haemangioma of the oesophagus")
    'hemangioma of the esophagus'
    """
    return _british().sub(lambda match: forms("spelling")[match[0]], text)


def fold(text: str) -> str:
    """Lower case, no accents, Greek spelled out.

    >>> fold("α-Fetoprotein, Sjögren")
    'alpha-fetoprotein, sjogren'
    """
    lowered = text.lower().translate(_GREEK)
    if lowered.isascii():
        return lowered
    return "".join(c for c in unicodedata.normalize("NFKD", lowered) if not unicodedata.combining(c))


@lru_cache(maxsize=100_000)
def lemma(word: str) -> str:
    """One word in its dictionary form.

    >>> [lemma(w) for w in ("tumours", "metastases", "biopsies", "renal", "oesophagus", "ovaries")]
    ['neoplasm', 'metastasis', 'biopsy', 'kidney', 'esophagus', 'ovary']
    """
    lemmas = lemma_tables()[0]
    listed = lemmas.get(word)
    if listed is not None:
        return listed
    single = _singular(american(word))
    return lemmas.get(single, single)


def _singular(word: str) -> str:
    if len(word) < 4:
        return word
    for ending, instead in (("mata", "ma"), ("ies", "y"), ("oses", "osis"), ("ases", "asis"), ("yses", "ysis")):
        if word.endswith(ending):
            return word[: -len(ending)] + instead
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def words(text: str) -> list[str]:
    """The lemmas of a term in their order, filler words left out.

    >>> words("Squamous cell. carcinoma in-situ of the cervix, NOS")
    ['squamous', 'carcinoma', 'insitu', 'cervix']
    """
    folded = _BROKEN_HYPHEN.sub("", _POSSESSIVE.sub("", fold(text)))
    plain = " ".join(_WORD.findall(folded))
    _, fillers, phrases, pattern = lemma_tables()
    plain = pattern.sub(lambda match: phrases[match[0]], plain)
    return [lemma(word) for word in plain.split() if word not in fillers]


@lru_cache(maxsize=50_000)
def stems(text: str) -> frozenset[str]:
    """The lemmas of a term cut to their first seven letters: koilocytes and koilocytic are one."""
    return frozenset(word[:7] for word in words(text))


def word_coverage(premise: str, hypothesis: str) -> float:
    """The share of the hypothesis's lemmas that the premise has, 0–1."""
    needed = frozenset(words(hypothesis))
    return len(needed & frozenset(words(premise))) / len(needed) if needed else 0.0


def key(text: str) -> str:
    """The set of a term's lemmas, sorted: equal for terms that differ in form alone.

    >>> key("carcinoma of the kidney, clear cell type") == key("Clear-cell renal carcinomas")
    True
    """
    return " ".join(sorted(set(words(text))))


def squeezed(text: str) -> str:
    """Letters and digits alone, for names such as markers.

    >>> squeezed("HER-2/neu"), squeezed("CD 79a")
    ('her2neu', 'cd79a')
    """
    return "".join(_WORD.findall(fold(text).replace("$", "s")))
