"""What the demonstration's scores show, in words and numbers: computed from the scores and the planted errors alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medassay.cases import Case
    from medassay.result import Result

JUDGE = "fidelity"
"""The metric whose evidence is quoted: it names every statement that the reference does not support."""

OVERLAP = "rouge1"
"""The overlap metric that the example of a misled metric is taken from."""


@dataclass(frozen=True, slots=True)
class Choice:
    """How often a metric prefers the text with the milder planted errors, of all pairs where one has milder ones."""

    metric: str
    right: int
    tied: int
    pairs: int


@dataclass(frozen=True, slots=True)
class Alarms:
    """Texts with a statement that is called contradicted and critical: of those with and without a planted critical
    error."""

    caught: int
    critical: int
    false: int
    others: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement that is called contradicted, and the words of the reference that decide."""

    case: Case
    statement: str
    words: str
    kind: str
    severity: str
    p: float


def error_severity(case: Case) -> int:
    """Of the errors planted in a text: 2 where one is critical, 1 where all are minor, 0 where there is none."""
    error = str(case.extra["error"])
    return 2 if "(critical)" in error else 1 if "(minor)" in error else 0


def worse_system(cases: Sequence[Case]) -> str:
    """The system with the graver errors."""
    total: dict[str, int] = {}
    for case in cases:
        total[case.system or ""] = total.get(case.system or "", 0) + error_severity(case)
    return max(total, key=lambda system: total[system])


def choices(result: Result) -> list[Choice]:
    """For each metric, how often it prefers the better of two texts of one case; unscored pairs are left out."""
    pairs = [
        (i, j) for i, j in _pairs(result.cases) if error_severity(result.cases[i]) != error_severity(result.cases[j])
    ]
    out = []
    for metric in result.metrics:
        right = tied = counted = 0
        for i, j in pairs:
            better, worse = (i, j) if error_severity(result.cases[i]) < error_severity(result.cases[j]) else (j, i)
            first, second = (result.scores[metric.name][k].value for k in (better, worse))
            if first is None or second is None:
                continue
            gap = (first - second) * (1 if metric.higher_is_better else -1)
            counted, right, tied = counted + 1, right + (gap > 1e-9), tied + (abs(gap) <= 1e-9)
        out.append(Choice(metric.name, right, tied, counted))
    return out


def _pairs(cases: Sequence[Case]) -> list[tuple[int, int]]:
    """The two texts of each case, by index."""
    by_id: dict[str, list[int]] = {}
    for i, case in enumerate(cases):
        by_id.setdefault(case.id, []).append(i)
    return [(rows[0], rows[1]) for rows in by_id.values() if len(rows) == 2]


def alarms(result: Result) -> Alarms:
    """How many texts have a statement that is called contradicted and critical."""
    caught = critical = false = others = 0
    for i, case in enumerate(result.cases):
        alarmed = any(finding.severity == "critical" for finding in _findings(result, i))
        if error_severity(case) == 2:
            critical, caught = critical + 1, caught + alarmed
        else:
            others, false = others + 1, false + alarmed
    return Alarms(caught, critical, false, others)


def worst_statements(result: Result, system: str, count: int = 5) -> list[Finding]:
    """The worst statements of a system: critical ones first, then by the probability of contradiction; one per case.

    A statement that is in the reference word for word is left out: it is not wrong, whatever the model says.
    """
    worst = []
    for i, case in enumerate(result.cases):
        if case.system == system:
            known = _folded(case.reference or "")
            findings = [finding for finding in _findings(result, i) if _folded(finding.statement) not in known]
            worst += sorted(findings, key=_rank)[:1]
    return sorted(worst, key=_rank)[:count]


def _folded(text: str) -> str:
    return " ".join(text.lower().split())


def _rank(finding: Finding) -> tuple[bool, float, str]:
    return (finding.severity != "critical", -finding.p, finding.case.id)


def _findings(result: Result, i: int) -> Iterator[Finding]:
    """The statements of one text that are called contradicted by the reference."""
    case = result.cases[i]
    shown: Sequence[Mapping[str, Any]] = result.scores[JUDGE][i].evidence.get("sentences", ())
    for sentence in shown:
        if sentence.get("verdict") != "contradicted" or sentence["side"] != "candidate":
            continue
        start, end = sentence["by"]
        words = (case.reference or "")[start:end] if sentence["against"] == "reference" else ""
        yield Finding(
            case, sentence["text"], " ".join(words.split()), sentence["kind"], sentence["severity"], sentence["p"][2]
        )


def misleading_overlap(result: Result) -> str:
    """The case in which the overlap metric is furthest from right, in one sentence; empty where it never is wrong."""
    scores = result.scores.get(OVERLAP)
    if scores is None:
        return ""
    gaps = []
    for i, j in _pairs(result.cases):
        better, worse = (i, j) if error_severity(result.cases[i]) < error_severity(result.cases[j]) else (j, i)
        first, second = scores[better].value, scores[worse].value
        if (
            error_severity(result.cases[worse]) == 2
            and error_severity(result.cases[better]) < 2
            and None not in (first, second)
        ):
            gaps.append((float(second or 0.0) - float(first or 0.0), better, worse))
    gap, better, worse = max(gaps, default=(0.0, 0, 0))
    if gap <= 0:
        return ""
    good, bad = result.cases[better], result.cases[worse]
    return (
        f"{bad.id} ({bad.extra['topic']}): {OVERLAP} gives {bad.system} {scores[worse].value:.2f} and {good.system} "
        f"{scores[better].value:.2f}, although the errors planted in {bad.system} are {bad.extra['error']} and in "
        f"{good.system} {good.extra['error']}."
    )


def conclusion(counted: Sequence[Choice], alarm: Alarms, system: str) -> str:
    """The conclusion in words: how often each metric prefers the better text, and how reliable the alarms are."""
    ranked = sorted((choice for choice in counted if choice.pairs), key=lambda choice: -choice.right / choice.pairs)
    good = [choice for choice in ranked if choice.right > choice.pairs / 2]
    poor = [choice for choice in ranked if choice.right <= choice.pairs / 2]
    parts = []
    if good:
        parts.append(f"The text with the milder errors is preferred in most cases by {_listed(good)}.")
    if poor:
        parts.append(f"It is not by {_listed(poor)}: these do not tell which system is safer here.")
    if alarm.critical:
        parts.append(
            f"Of {alarm.critical} texts with a planted critical error the reader marks {alarm.caught} as critically "
            f"contradicted, and so it does {alarm.false} of the {alarm.others} texts without one, which are false "
            "alarms."
        )
    parts.append(f"The errors of {system} were planted by the authors of the examples; this is no study.")
    return " ".join(parts)


def _listed(listed: Sequence[Choice]) -> str:
    return ", ".join(f"{choice.metric} ({choice.right} of {choice.pairs})" for choice in listed)
