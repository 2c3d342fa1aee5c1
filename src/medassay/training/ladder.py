"""Material for `fidelity`: for one reference, candidates that are faithful, wrong in one place, or unrelated.

Every shortcut gets its control. Verbatim text may be right (a copy, a harmless edit) or wrong (one error);
reworded text likewise; short texts and long ones (several sets joined, one of them wrong); additions and
omissions anywhere, not only at the end; each text of a set serves as reference and as candidate.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from medassay.errors import InputError
from medassay.language.sentences import sentences
from medassay.study.changes import change, kinds
from medassay.training.cross import PairItem, PairTexts

FAITHFUL, FLAWED, UNRELATED = (3.0, 0.95), (1.0, 0.3), (0.0, 0.02)
"""Level in the order, and the share a score should come near."""

_ERRORS = ("negation", "laterality", "grade", "measurement", "marker", "drug", "diagnosis", "site")
_HARMLESS = tuple(name for name, kind in kinds().items() if kind.harm == "none")


@dataclass(frozen=True, slots=True)
class LadderSet:
    """Texts that say the same, and texts that are wrong in one place."""

    id: str
    kind: str
    faithful: tuple[str, ...]
    """The text itself first, then its paraphrases."""
    wrong: tuple[str, ...] = ()
    """Rewordings with one error."""
    edited_wrong: tuple[str, ...] = ()
    """The text itself with one error."""
    edited_right: tuple[str, ...] = ()
    """The text itself with one harmless edit."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate for a reference: its rung; `edit`: it is the reference but for the places that differ."""

    text: str
    rung: tuple[float, float]
    edit: bool = False


@dataclass(slots=True)
class Group:
    """A reference and its candidates."""

    reference: str
    candidates: list[Candidate] = field(default_factory=list)


def read_sets(path: Path) -> list[LadderSet]:
    """Sets of a JSONL file: `text`, `paraphrase_a`, `paraphrase_b`, `error` and, if there, `verbatim_error`, `near`.

    Rows of `reference`, `kind`, `candidate` (one variant a row) are read too.
    """
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except ValueError as error:
                raise InputError(f"{path}: line {number} is not JSON ({error})") from error
    if rows and "candidate" in rows[0]:
        return _by_reference(rows)
    return [
        LadderSet(
            str(row["id"]),
            row.get("kind", ""),
            (row["text"], row["paraphrase_a"], row["paraphrase_b"]),
            (row["error"],) if row.get("error") else (),
            (row["verbatim_error"],) if row.get("verbatim_error") else (),
            (row["near"],) if row.get("near") else (),
        )
        for row in rows
    ]


def _by_reference(rows: Sequence[dict[str, str]]) -> list[LadderSet]:
    groups: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault(row["id"], []).append(row)
    made = []
    for key, some in groups.items():
        right = [row["candidate"] for row in some if row["kind"].startswith("paraphrase")]
        wrong = [row["candidate"] for row in some if not row["kind"].startswith("paraphrase")]
        made.append(LadderSet(key, "pathology", (some[0]["reference"], *right), (), tuple(wrong)))
    return made


def _rule_error(text: str, chooser: random.Random, others: Sequence[str], rewordings: Sequence[str]) -> str | None:
    """One error in `text` by rule.

    A statement may be lost, taken from another text, or said again wrongly (in the words of a rewording or its
    own) beside the right one; a number may be off by a digit; any other kind of change may be made in place.
    """
    roll = chooser.random()
    if roll < 0.10:
        return _without(text, chooser)
    if roll < 0.20:
        return _with(text, chooser.choice(others), chooser) if others else None
    if roll < 0.33:
        return _beside(text, text if roll < 0.265 else chooser.choice(rewordings or [text]), chooser)
    if roll < 0.37:
        made = change(text, "invention", chooser.randrange(10**6))
        return _moved(text, made, chooser) if isinstance(made, str) else None
    if roll < 0.48:
        return _digit(text, chooser)
    first = ["negation"] if roll < 0.62 else []
    for kind in [*first, *chooser.sample(_ERRORS, len(_ERRORS))]:
        made = change(text, kind, chooser.randrange(10**6))
        if isinstance(made, str):
            return made
    return None


def _beside(text: str, rewording: str, chooser: random.Random) -> str | None:
    """A statement of the rewording, made wrong, stands beside the right one: the text contradicts itself."""
    parts = [rewording[a:b].strip() for a, b in sentences(rewording)]
    for part in chooser.sample(parts, len(parts)):
        for kind in ("negation", *chooser.sample(_ERRORS, len(_ERRORS))):
            made = change(part, kind, chooser.randrange(10**6))
            if isinstance(made, str):
                return _placed(text, made, chooser)
    return None


def _digit(text: str, chooser: random.Random) -> str | None:
    """One digit of one number is another: 42 for 52."""
    places = [match.start() for match in re.finditer(r"\d", text)]
    if not places:
        return None
    at = chooser.choice(places)
    return text[:at] + chooser.choice([d for d in "123456789" if d != text[at]]) + text[at + 1 :]


def _moved(text: str, made: str, chooser: random.Random) -> str:
    """What a rule added at the end goes to any sentence boundary: the end must tell nothing."""
    added = made[len(text.rstrip()) :].strip(" .") + "."
    return _placed(text, added, chooser)


def _placed(text: str, added: str, chooser: random.Random) -> str:
    cut = chooser.choice([0, *(end for _, end in sentences(text))])
    return f"{text[:cut].rstrip()} {added} {text[cut:].lstrip()}".strip()


def _with(text: str, other: str, chooser: random.Random) -> str | None:
    parts = [other[a:b] for a, b in sentences(other) if 3 <= len(other[a:b].split()) <= 25]
    return _placed(text, chooser.choice(parts).strip(), chooser) if parts else None


def _without(text: str, chooser: random.Random) -> str | None:
    spans = [(a, b) for a, b in sentences(text) if len(text[a:b].split()) >= 3]
    if len(spans) < 2:
        made = change(text, "omission", chooser.randrange(10**6))
        return made if isinstance(made, str) else None
    a, b = chooser.choice(spans)
    return f"{text[:a].rstrip()} {text[b:].lstrip()}".strip()


def _harmless(text: str, chooser: random.Random, rewordings: Sequence[str] = ()) -> str | None:
    """A harmless edit: form, abbreviations, order of sentences, a sentence said twice (in other words too)."""
    roll = chooser.random()
    parts = [text[a:b].strip() for a, b in sentences(text)]
    if roll > 0.8 and rewordings:
        other = chooser.choice(rewordings)
        again = [other[a:b].strip() for a, b in sentences(other)]
        return _placed(text, chooser.choice(again), chooser) if again else None
    if roll < 0.25 and len(parts) > 1:
        chooser.shuffle(parts)
        return " ".join(parts)
    if roll < 0.35 and len(parts) > 1:
        return _placed(text, chooser.choice(parts), chooser)
    for kind in chooser.sample(_HARMLESS, len(_HARMLESS)):
        made = change(text, kind, chooser.randrange(10**6))
        if isinstance(made, str):
            return made
    return None


def groups(sets: Sequence[LadderSet], seed: int, joined: int = 0) -> list[Group]:
    """Groups of all references of the sets, and `joined` long ones made of two to five sets of one kind."""
    chooser = random.Random(seed)
    by_kind: dict[str, list[LadderSet]] = {}
    for one in sets:
        by_kind.setdefault(one.kind, []).append(one)
    made = [group for one in sets for group in _of_set(one, by_kind[one.kind], chooser)]
    for _ in range(joined):
        company = by_kind[chooser.choice(list(by_kind))]
        made.append(_joined(chooser.sample(company, min(len(company), chooser.randint(2, 5))), company, chooser))
    return made


def _of_set(one: LadderSet, company: Sequence[LadderSet], chooser: random.Random) -> Iterator[Group]:
    for place, reference in enumerate(one.faithful):
        others = [text for text in chooser.choice(company).faithful if text not in one.faithful]
        group = Group(reference, [Candidate(reference, FAITHFUL, True)])
        add = group.candidates.append
        for text in one.faithful:
            if text != reference:
                add(Candidate(text, FAITHFUL))
        for text in one.wrong:
            add(Candidate(text, FLAWED))
        if place == 0:
            for text in one.edited_wrong:
                add(Candidate(text, FLAWED, True))
            for text in one.edited_right:
                add(Candidate(text, FAITHFUL, True))
        rewordings = [text for text in one.faithful if text != reference]
        for edit in (_harmless(reference, chooser, rewordings), _harmless(reference, chooser, rewordings)):
            if edit and edit != reference:
                add(Candidate(edit, FAITHFUL, True))
        for _ in range(2):
            edit = _rule_error(reference, chooser, others, rewordings)
            if edit and " ".join(edit.split()) != " ".join(reference.split()):
                add(Candidate(edit, FLAWED, True))
            base = chooser.choice(rewordings or [reference])
            edit = _rule_error(base, chooser, others, [text for text in one.faithful if text != base])
            if edit and edit != base:
                add(Candidate(edit, FLAWED, base == reference))
        if others:
            add(Candidate(chooser.choice(others), UNRELATED))
        yield group


def _joined(some: Sequence[LadderSet], company: Sequence[LadderSet], chooser: random.Random) -> Group:
    """A long reference of several sets: faithful and flawed long candidates, one flaw in one of the parts."""

    def pick(one: LadderSet, skip: str | None = None) -> str:
        return chooser.choice([text for text in one.faithful if text != skip])

    firsts = [pick(one) for one in some]
    group = Group(" ".join(firsts))
    add = group.candidates.append
    add(Candidate(group.reference, FAITHFUL, True))
    for _ in range(2):
        parts = [pick(one, first) for one, first in zip(some, firsts)]
        if chooser.random() < 0.5:
            chooser.shuffle(parts)
        add(Candidate(" ".join(parts), FAITHFUL))
    others = [text for other in chooser.sample(company, min(3, len(company))) for text in other.faithful[:1]]
    for verbatim in (True, True, False, False):
        parts = list(firsts) if verbatim else [pick(one, first) for one, first in zip(some, firsts)]
        at = chooser.randrange(len(parts))
        if not verbatim and some[at].wrong and chooser.random() < 0.7:
            parts[at] = chooser.choice(some[at].wrong)
        else:
            text = _rule_error(parts[at], chooser, others, some[at].faithful)
            if text is None:
                continue
            parts[at] = text
        add(Candidate(" ".join(parts), FLAWED, verbatim))
    far = [one for one in company if one not in some]
    if far:
        add(Candidate(" ".join(pick(one) for one in chooser.sample(far, min(len(far), len(some)))), UNRELATED))
    return group


def bundle(group: Group, texts: PairTexts) -> list[PairItem]:
    """The pairs of a group, tokenised; edits know where they differ."""
    made = []
    for one in group.candidates:
        if one.edit:
            made.append(texts.edited(group.reference, one.text, one.rung, wrong=one.rung == FLAWED))
        else:
            made.append(texts.pair(group.reference, one.text, one.rung))
    return made
