"""Do two statements of one report speak of the same thing? What several rules ask before they call a contradiction."""

from __future__ import annotations

from medassay.language.assertion import absent_cue
from medassay.language.graph import Report
from medassay.language.lexicon import named_pattern
from medassay.language.rules.verdict import Characters, RuleVerdict

PART = named_pattern("margins or nodes")
IN_SITU = named_pattern("in situ lesion")
_SIDE = named_pattern("left or right")
_LIMITED = named_pattern("limited")
_NEGATION = named_pattern("negation")
_REVERSAL = named_pattern("reversal")
_TUMOUR = named_pattern("tumour")
_WHOLE_DENIAL = named_pattern("whole denial")
_FRAGMENT = named_pattern("sentence fragment")
_METASTATIC = named_pattern("metastasis")

_NEAR = 40
"""Characters around a finding within which a word such as `other` or `remaining` limits it."""


def denied(text: str, words: Characters) -> bool:
    """Whether a cue outside the words themselves says that they do not hold."""
    cue = absent_cue(text, words)
    return cue is not None and (cue[1] <= words[0] or cue[0] >= words[1])


def on_other_side(first: str, second: str) -> bool:
    """Whether one text speaks of the left alone and the other of the right alone."""
    sides = [{match[0].lower() for match in _SIDE.finditer(text)} for text in (first, second)]
    return bool(sides[0] and sides[1]) and not sides[0] & sides[1]


def is_limited(first: str, second: str) -> bool:
    """Whether either text says that it speaks of a part, or of something else."""
    return _LIMITED.search(first) is not None or _LIMITED.search(second) is not None


def is_limited_nearby(verdict: RuleVerdict, premise: Report, hypothesis: Report) -> bool:
    """Whether words near those that were compared limit them."""
    first, second = (
        text[max(0, start - _NEAR) : end + _NEAR] for text, (start, end) in _compared(verdict, premise, hypothesis)
    )
    return is_limited(first, second)


def is_negated(first: str, second: str) -> bool:
    """Whether either text holds a negation."""
    return _NEGATION.search(first) is not None or _NEGATION.search(second) is not None


def is_reversed(verdict: RuleVerdict, premise: Report, hypothesis: Report) -> bool:
    """Whether words before those that were compared, in their clause, turn them round."""
    return any(
        _REVERSAL.search(text, max(text.rfind(".", 0, start), text.rfind(";", 0, start)) + 1, start) is not None
        for text, (start, _) in _compared(verdict, premise, hypothesis)
    )


def has_same_scope(verdict: RuleVerdict, premise: Report, hypothesis: Report) -> bool:
    """Tumour as such is denied only by a statement about the whole specimen; a finding by any."""
    texts = premise.text, hypothesis.text
    compared = " ".join(text[slice(*span)] for text, span in _compared(verdict, premise, hypothesis))
    if not _TUMOUR.search(compared) and not (IN_SITU.search(compared) and PART.search(" ".join(texts))):
        return True
    for denial, other in (texts, texts[::-1]):
        if _WHOLE_DENIAL.fullmatch(denial):
            return not (PART.search(other) and _METASTATIC.search(other.lower()))
    if any(PART.search(text) or (_FRAGMENT.match(text) and _NEGATION.search(text)) for text in texts):
        return False
    # Neither names a site, so that both speak of the lesion itself.
    return not any(entity.type == "site" for report in (premise, hypothesis) for entity in report.entities)


def _compared(verdict: RuleVerdict, premise: Report, hypothesis: Report) -> tuple[tuple[str, Characters], ...]:
    return (premise.text, verdict.premise), (hypothesis.text, verdict.hypothesis)
