"""Contradictions held against their counterparts.

Two statements that contradict each other do so whichever is read first. The checker, asked both ways, is more often
wrong in one direction than in both: where it calls a faithful rewording contradicted, it usually finds the statement
that decides to be supported when it reads the texts the other way round. So a contradiction counts as far as both
directions say it: the geometric mean of the two probabilities, and what is taken from it goes to what the counterpart
says instead. Contradictions are rare, which is why the doubt goes to the statement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from medassay.language.ledger import Verdict

_LEAST = 1e-4


def both_ways(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts of one case, contradictions weighed against the statements that decide them.

    Args:
        verdicts: on the statements of two texts against each other, in any order.

    Returns:
        The verdicts in the same order. One that is not contradicted, or whose deciding words belong to no statement
        that was judged, is as it was.
    """
    return [_weighed(verdict, verdicts) if verdict.verdict == "contradicted" else verdict for verdict in verdicts]


def _weighed(verdict: Verdict, verdicts: Sequence[Verdict]) -> Verdict:
    check = verdict.check
    counterparts = [
        other.check.probabilities
        for other in verdicts
        if (other.of, other.against) == (verdict.against, verdict.of)
        and other.statement.start < check.end
        and check.start < other.statement.end
    ]
    if not counterparts:
        return verdict
    supported, not_stated, contradicted = max(counterparts, key=lambda p: p[2])
    own = check.probabilities
    if contradicted >= own[2]:
        return verdict
    kept = math.sqrt(own[2] * max(contradicted, _LEAST))
    freed, rest = own[2] - kept, max(supported + not_stated, _LEAST)
    probabilities = (own[0] + freed * supported / rest, own[1] + freed * not_stated / rest, kept)
    return replace(verdict, check=replace(check, probabilities=probabilities))
