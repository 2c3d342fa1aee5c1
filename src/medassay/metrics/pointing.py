"""Which sentences cost a candidate its fidelity: from the flaws of tokens to sentences a person can look at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from medassay.models.base import Matrix
from medassay.models.chunks import Unit
from medassay.models.quality import PairJudgement, Stretch

SHOWN = 6
"""Sentences shown at most."""

_SURE = 0.5
_BESIDE = 1.5
"""How far below the worst sentence's log-odds another one may lie and still be shown."""
_GOOD = 1.5
"""The log-odds of a stretch from which nothing in it is pointed at."""
_SIDES = ("reference", "candidate")


@dataclass(frozen=True, slots=True)
class Fault:
    """A sentence under suspicion: its side (0 reference, 1 candidate) and the log-odds that it holds an error."""

    side: int
    unit: Unit
    logit: float
    note: str

    def drawn(self) -> dict[str, object]:
        """As evidence: characters, the chance (0–1) that something is wrong, and in what way."""
        chance = 1.0 / (1.0 + math.exp(-self.logit))
        place = {"side": _SIDES[self.side], "start": self.unit.start, "end": self.unit.end}
        return {**place, "score": round(chance, 3), "note": self.note}


def sentences_at_fault(judged: PairJudgement, reference: str, candidate: str) -> list[dict[str, object]]:
    """The sentences that cost the score, worst first.

    Those more likely wrong than right and nearly as likely as the worst of their stretch; where there is none,
    though the text is more likely flawed than faithful, the likeliest one.
    """
    texts = (reference, candidate)
    found = [fault for stretch in judged.stretches if stretch.logit < _GOOD for fault in _of_stretch(stretch, texts)]
    found.sort(key=lambda fault: (-fault.logit, fault.side, fault.unit.start))
    sure = [fault for fault in found if fault.logit >= 0.0]
    if not sure and judged.fidelity < _SURE:
        sure = found[:1]
    return [fault.drawn() for fault in sure[:SHOWN]]


def _of_stretch(stretch: Stretch, texts: tuple[str, str]) -> list[Fault]:
    sides = (stretch.chunk.reference, stretch.chunk.candidate)
    if not all(sides):
        side = 0 if sides[0] else 1
        return [Fault(side, unit, 6.0, _note(side, alone=True)) for unit in sides[side]]
    logits = [_logits(units, flaws, text) for units, flaws, text in zip(sides, stretch.flaws, texts)]
    worst = [max(some) for some in logits]
    alone = min(worst) < 0.0
    return [
        Fault(side, unit, logit, _note(side, alone=alone))
        for side in (0, 1)
        for unit, logit in zip(sides[side], logits[side])
        if logit >= max(worst) - _BESIDE
    ]


def _note(side: int, *, alone: bool) -> str:
    """What the matter is, by whether only this side has a suspect."""
    if not alone:
        return "differs between the texts"
    return "missing from the candidate" if side == 0 else "not in the reference"


def _logits(units: Sequence[Unit], flaws: Matrix, text: str) -> list[float]:
    """The greatest log-odds of a flaw among the words of each unit; marks between words tell nothing."""
    made, at = [], 0
    for unit in units:
        some = flaws[at : at + len(unit.ids)]
        at += len(unit.ids)
        words = [float(flaw) for flaw, (a, b) in zip(some, unit.offsets) if any(map(str.isalnum, text[a:b]))]
        made.append(max(words, default=-10.0))
    return made
