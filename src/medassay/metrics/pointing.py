"""Which sentences cost a candidate its fidelity: from the flaws of tokens to sentences a person can look at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from medassay.models.base import Matrix
from medassay.models.chunks import Unit
from medassay.models.quality import PairJudgement, Stretch

SHOWN = 6
"""Sentences shown at most."""

_SURE = 0.5
_SIDES = ("reference", "candidate")


def sentences_at_fault(judged: PairJudgement) -> list[dict[str, object]]:
    """Sentences with the chance (0–1) that something in them is wrong, missing or invented, worst first.

    Those above one half; where none is, though the text is more likely wrong than right, the likeliest one.
    """
    found = [one for stretch in judged.stretches for one in _of_stretch(stretch)]
    found.sort(key=lambda one: (-float(str(one["score"])), str(one["side"]), int(str(one["start"]))))
    sure = [one for one in found if float(str(one["score"])) >= _SURE]
    if not sure and judged.fidelity < 0.5:
        sure = found[:1]
    return sure[:SHOWN]


def _of_stretch(stretch: Stretch) -> list[dict[str, object]]:
    sides = (stretch.chunk.reference, stretch.chunk.candidate)
    if not all(sides):
        side = 0 if sides[0] else 1
        note = "missing from the candidate" if side == 0 else "not in the reference"
        return [_said(side, unit, 1.0, note) for unit in sides[side]]
    chances = [_chances(units, flaws) for units, flaws in zip(sides, stretch.flaws)]
    made = []
    for side in (0, 1):
        other = max(chances[1 - side], default=0.0)
        for unit, chance in zip(sides[side], chances[side]):
            if other >= _SURE:
                note = "differs between the texts"
            else:
                note = "missing from the candidate" if side == 0 else "not in the reference"
            made.append(_said(side, unit, chance, note))
    return made


def _said(side: int, unit: Unit, chance: float, note: str) -> dict[str, object]:
    return {"side": _SIDES[side], "start": unit.start, "end": unit.end, "score": round(chance, 3), "note": note}


def _chances(units: Sequence[Unit], flaws: Matrix) -> list[float]:
    """The greatest chance of a flaw among each unit's tokens; 0 for those that were not read."""
    made, at = [], 0
    for unit in units:
        some = flaws[at : at + len(unit.ids)]
        at += len(unit.ids)
        made.append(float(1.0 / (1.0 + np.exp(-float(some.max())))) if len(some) else 0.0)
    return made
