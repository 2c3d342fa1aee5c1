"""What the demonstration says of its scores: counted from scores and planted errors."""

from __future__ import annotations

from medassay.commands import demo_findings as findings
from medassay.examples import load
from medassay.metrics.registry import load_metric
from medassay.result import Result
from medassay.scores import Score

SENTENCE = {
    "side": "candidate",
    "text": "TTF-1 negative",
    "against": "reference",
    "verdict": "contradicted",
    "p": [0.01, 0.04, 0.95],
    "by": [0, 14],
    "kind": "marker",
    "severity": "critical",
}


def result_with(values: dict[str, list[float]], evidence: dict[int, list[dict[str, object]]] | None = None) -> Result:
    """A result over the first two pathology cases with these scores, and evidence by row."""
    cases = load("pathology.csv")[:4]
    metrics = [load_metric(name) for name in values if name != "fidelity"]
    scores = {name: [Score(value) for value in column] for name, column in values.items()}
    scores["fidelity"] = [Score(0.5, evidence={"sentences": (evidence or {}).get(i, [])}) for i, _ in enumerate(cases)]
    return Result(cases=cases, metrics=metrics, scores=scores)


def test_choices_count_who_prefers_the_milder_text() -> None:
    # Rows: P01 alder (no error), P01 birch (critical), P02 alder (none), P02 birch (critical).
    result = result_with({"rouge1": [0.5, 0.9, 0.7, 0.6], "bleu": [0.3, 0.3, 0.9, 0.1]})
    assert [(c.metric, c.right, c.tied, c.pairs) for c in findings.choices(result)] == [
        ("rouge1", 1, 0, 2),
        ("bleu", 1, 1, 2),
    ]
    assert findings.worse_system(result.cases) == "birch"


def test_alarms_and_worst_statements_come_from_the_evidence() -> None:
    minor = {**SENTENCE, "severity": "minor", "p": [0.0, 0.0, 1.0], "text": "grade 3"}
    other = {**SENTENCE, "side": "reference"}
    copied = {**SENTENCE, "text": "Sigmoid COLON, polypectomy", "p": [0.0, 0.0, 1.0]}
    result = result_with({"rouge1": [0.0] * 4}, {0: [SENTENCE], 1: [minor, copied, SENTENCE], 3: [minor, other]})
    assert findings.alarms(result) == findings.Alarms(caught=1, critical=2, false=1, others=2)
    found = findings.worst_statements(result, "birch")
    assert [(f.case.id, f.statement, f.severity) for f in found] == [
        ("P01", "TTF-1 negative", "critical"),
        ("P02", "grade 3", "minor"),
    ]
    assert found[0].words == str(result.cases[1].reference)[:14]


def test_where_overlap_misleads_and_the_closing_words_are_computed() -> None:
    wrong = result_with({"rouge1": [0.5, 0.9, 0.7, 0.6]})
    assert findings.misleading_overlap(wrong).startswith("P01 (colon): rouge1 gives birch 0.90 and alder 0.50")
    assert findings.misleading_overlap(result_with({"rouge1": [0.9, 0.5, 0.9, 0.5]})) == ""
    right = findings.conclusion(
        findings.choices(result_with({"rouge1": [0.9, 0.5, 0.9, 0.5]})), findings.alarms(wrong), "birch"
    )
    assert "preferred in most cases by rouge1 (2 of 2)" in right and "It is not by" not in right
    assert "marks 0 as critically contradicted" in right
    poor = findings.conclusion(
        findings.choices(result_with({"rouge1": [0.1, 0.5, 0.1, 0.5]})), findings.alarms(wrong), "birch"
    )
    assert "It is not by rouge1 (0 of 2)" in poor and "preferred in most cases" not in poor
