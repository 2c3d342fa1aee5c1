"""What diagnoses look like: profiles of morphology and markers, and how well a description fits each.

`lexicons/profiles.tsv` holds typical findings and stains of some hundred diagnoses. `Findings` reads a
description once; `fit` then tells how much of it speaks for a diagnosis and how much against it. Typical
patterns have exceptions: a fit is evidence for research and quality assurance, never a diagnosis.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import lru_cache

from medassay.language.assertion import absent_cue
from medassay.language.lexicon import read_tsv, rule_weights
from medassay.language.stains import Stain, read_stains
from medassay.language.terms import fold, forms, words

Feature = tuple[tuple[str, ...], ...]
"""Words that must all stand in one sentence; each a tuple of beginnings, one of which must match."""

_WEIGHTS = rule_weights("profile")
_WORD = re.compile(r"[a-z0-9]+(?:[-/][a-z0-9]+)*")
_SENTENCE = re.compile(r"(?<=[a-z)\]])\.\s+(?=[A-Z])|\n")
"""Where a sentence ends, roughly: features are looked for in one."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One diagnosis: names, where it arises, and what speaks for and against it."""

    name: str
    names: tuple[str, ...]
    organs: frozenset[str]
    family: str
    behaviour: str
    positive: frozenset[str]
    negative: frozenset[str]
    features: tuple[Feature, ...]
    foreign: tuple[Feature, ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """How a description meets a profile: weights of evidence (0 and up; 3 and more is a good deal).

    morphology, stains: what speaks for it; foreign, conflicts: what speaks against it.
    """

    morphology: float = 0.0
    stains: float = 0.0
    foreign: float = 0.0
    conflicts: float = 0.0

    @property
    def balance(self) -> float:
        """Evidence for less evidence against."""
        against = _WEIGHTS["evidence against"]
        return self.morphology + self.stains - against * self.foreign - against * self.conflicts


@dataclass(slots=True)
class Findings:
    """What a description says.

    sentences: the words of each sentence with their places. begun: for each sentence, where the first word with
    each known beginning stands. stains: the result of each marker.
    """

    text: str
    sentences: list[list[tuple[str, int, int]]] = field(default_factory=list)
    begun: list[dict[str, tuple[int, int]]] = field(default_factory=list)
    stains: dict[str, Stain] = field(default_factory=dict)


@lru_cache(maxsize=1)
def profiles() -> tuple[Profile, ...]:
    """Every profile, in the order of the file."""
    rows = []
    for row in read_tsv("profiles.tsv"):
        names = (row["name"], *(alias for alias in row["aliases"].split("|") if alias))
        rows.append(
            Profile(
                row["name"], names, frozenset(row["organs"].split("/")), row["family"], row["behaviour"],
                frozenset(row["positive"].split()), frozenset(row["negative"].split()),
                _features(row["features"]), _features(row["foreign"]),
            )
        )  # fmt: skip
    return tuple(rows)


def _features(cell: str) -> tuple[Feature, ...]:
    """The features of a cell: `;` between features, spaces between words, `/` between wordings."""
    return tuple(
        tuple(tuple(plain(beginning) for beginning in word.split("/")) for word in part.split())
        for part in cell.split(";")
        if part.strip()
    )


@lru_cache(maxsize=100_000)
def plain(word: str) -> str:
    """A word in lower case and American spelling, so that beginnings compare."""
    word = fold(word)
    for british, american in forms("spelling in profiles").items():
        word = word.replace(british, american)
    return word


@lru_cache(maxsize=1)
def _rarity() -> dict[str, float]:
    """How telling each beginning is: the fewer profiles use it, the more."""
    used: dict[str, set[str]] = {}
    for profile in profiles():
        for feature in profile.features:
            for alternatives in feature:
                for beginning in alternatives:
                    used.setdefault(beginning, set()).add(profile.name)
    count = len(profiles())
    return {beginning: math.log(count / len(owners)) / math.log(count) for beginning, owners in used.items()}


@lru_cache(maxsize=20_000)
def read_findings(text: str) -> Findings:
    """Read a description once, for any number of profiles."""
    findings = Findings(text)
    start = 0
    for match in [*_SENTENCE.finditer(text), None]:
        end = match.start() + 1 if match else len(text)
        lowered = fold(text[start:end])
        if len(lowered) != end - start:
            lowered = text[start:end].lower()
        findings.sentences.append([(plain(m[0]), start + m.start(), start + m.end()) for m in _WORD.finditer(lowered)])
        start = end
    findings.begun = [_beginnings(sentence) for sentence in findings.sentences]
    for stain in read_stains(text):
        findings.stains.setdefault(stain.marker, stain)
    return findings


@lru_cache(maxsize=1)
def _vocabulary() -> frozenset[str]:
    """Every beginning that a feature of a profile asks for."""
    features = (feature for profile in profiles() for feature in (*profile.features, *profile.foreign))
    return frozenset(beginning for feature in features for word in feature for beginning in word)


@lru_cache(maxsize=1)
def _longest_beginning() -> int:
    return max(map(len, _vocabulary()), default=0)


def _beginnings(sentence: list[tuple[str, int, int]]) -> dict[str, tuple[int, int]]:
    known = _vocabulary()
    longest = _longest_beginning()
    begun: dict[str, tuple[int, int]] = {}
    for word, start, end in sentence:
        for part in (word, *word.split("-")[1:]):
            for length in range(1, min(len(part), longest) + 1):
                if part[:length] in known:
                    begun.setdefault(part[:length], (start, end))
    return begun


def fit(findings: Findings, profile: Profile) -> Fit:
    """How well a description fits a diagnosis."""
    rarity = _rarity()
    morphology = foreign = 0.0
    for feature in profile.features:
        at = _find(findings, feature)
        if at is None:
            continue
        weight = 1.0 + sum(
            max(rarity.get(beginning, _WEIGHTS["common word"]) for beginning in word) for word in feature
        )
        if _denied(findings.text, at):
            foreign += 1.0
        else:
            morphology += weight
    for feature in profile.foreign:
        negated = feature[0] == ("no",)
        at = _find(findings, feature[1:] if negated else feature)
        if at is not None and _denied(findings.text, at) == negated:
            foreign += 1.0
    agree = sum(1 for m in profile.positive if _says(findings, m, "positive"))
    agree_not = sum(1 for m in profile.negative if _says(findings, m, "negative"))
    conflicts = sum(1.0 for m in profile.positive if _says(findings, m, "negative"))
    conflicts += sum(1.0 for m in profile.negative if _says(findings, m, "positive"))
    return Fit(morphology, agree + _WEIGHTS["negative stain"] * agree_not, foreign, conflicts)


def _says(findings: Findings, marker: str, result: str) -> bool:
    stain = findings.stains.get(marker)
    if stain is None:
        return False
    if marker == "P53":
        return stain.result in (("mutant", "positive") if result == "positive" else ("wildtype",))
    return stain.result == result


def _find(findings: Findings, feature: Feature) -> tuple[int, int] | None:
    """Where a feature stands: from its first to its last word, in the first sentence that has them all."""
    for begun in findings.begun:
        spans = []
        for alternatives in feature:
            at = next((begun[beginning] for beginning in alternatives if beginning in begun), None)
            if at is None:
                break
            spans.append(at)
        else:
            return min(a for a, _ in spans), max(b for _, b in spans)
    return None


def _denied(text: str, feature: tuple[int, int]) -> bool:
    """Whether a finding is said to be absent, by a cue before it or close behind it."""
    cue = absent_cue(text, feature)
    if cue is None:
        return False
    between = text[feature[1] : cue[0]]
    return cue[0] < feature[1] or (len(between) <= 25 and "," not in between)


@lru_cache(maxsize=1)
def _by_name() -> tuple[dict[frozenset[str], int], frozenset[str]]:
    """Profiles by the lemmas of their names, and all those lemmas."""
    named: dict[frozenset[str], int] = {}
    for i, profile in enumerate(profiles()):
        for name in profile.names:
            named.setdefault(frozenset(words(name)), i)
    return named, frozenset(word for form in named for word in form)


@lru_cache(maxsize=50_000)
def named(text: str) -> Profile | None:
    """The profile whose name the text holds; of several the one with the most words.

    >>> named("Features are those of a renal oncocytoma.").name
    'oncocytoma'
    """
    names, vocabulary = _by_name()
    given = frozenset(word for word in words(text) if word in vocabulary)
    best: tuple[int, int] | None = None
    for form, index in names.items():
        if form <= given and (best is None or len(form) > best[0]):
            best = (len(form), index)
    return None if best is None else profiles()[best[1]]


@lru_cache(maxsize=1)
def _organ_words() -> tuple[dict[str, tuple[str, ...]], dict[str, frozenset[str]]]:
    rows = list(read_tsv("organs.tsv"))
    words_ = {row["organ"]: tuple(row["words"].split("|")) for row in rows}
    return words_, {row["organ"]: frozenset(part for part in row["kin"].split("|") if part) for row in rows}


@lru_cache(maxsize=20_000)
def organs(text: str) -> frozenset[str]:
    """The organs that a text names, with those that share their lesions.

    >>> sorted(organs("Renal mass, left kidney"))
    ['kidney']
    """
    known, kin = _organ_words()
    lowered = " ".join(word for sentence in read_findings(text).sentences for word, _, _ in sentence)
    tokens = set(lowered.split())
    named_organs = {
        organ
        for organ, beginnings in known.items()
        if any(_is_named(beginning, lowered, tokens) for beginning in beginnings)
    }
    return frozenset(named_organs | {other for organ in named_organs for other in kin[organ]})


def _is_named(beginning: str, text: str, tokens: set[str]) -> bool:
    return (" " in beginning and beginning in text) or any(token.startswith(beginning) for token in tokens)


@lru_cache(maxsize=1)
def _index() -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Profiles by the beginnings of the first word of each feature, and by their markers."""
    by_word: dict[str, list[int]] = {}
    by_marker: dict[str, list[int]] = {}
    for number, profile in enumerate(profiles()):
        for beginning in {beginning for feature in profile.features for beginning in feature[0]}:
            by_word.setdefault(beginning, []).append(number)
        for marker in profile.positive | profile.negative:
            by_marker.setdefault(marker, []).append(number)
    return by_word, by_marker


def _candidates(findings: Findings) -> list[Profile]:
    """The profiles for which anything in a description can speak."""
    by_word, by_marker = _index()
    numbers = {number for begun in findings.begun for beginning in begun for number in by_word.get(beginning, ())}
    numbers |= {number for marker in findings.stains for number in by_marker.get(marker, ())}
    return [profiles()[number] for number in sorted(numbers)]


@lru_cache(maxsize=5_000)
def ranking(text: str) -> tuple[tuple[float, Profile], ...]:
    """The diagnoses that a description fits best, by the balance of evidence, the best first; only those above 0.

    A diagnosis of another organ than those named loses two points of evidence.
    """
    findings = read_findings(text)
    where = organs(text)
    scored = []
    for profile in _candidates(findings):
        balance = fit(findings, profile).balance
        if where and "any" not in profile.organs and not profile.organs & where:
            balance -= _WEIGHTS["other organ"]
        if balance > 0:
            scored.append((balance, profile))
    return tuple(sorted(scored, key=lambda entry: (-entry[0], entry[1].name))[:12])


def compatible(a: Profile, b: Profile) -> bool:
    """Whether two profiles may be one disease under two names: one name inside the other, of like behaviour."""
    if a is b:
        return True
    if a.behaviour != b.behaviour or a.family != b.family:
        return False
    forms = [[frozenset(words(name)) for name in profile.names] for profile in (a, b)]
    return any(x <= y or y <= x for x in forms[0] for y in forms[1] if x and y)
