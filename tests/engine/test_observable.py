"""Cases reduced to what a slide could show."""

from __future__ import annotations

from medassay.cases import Case, Row
from medassay.engine.observable import ObservableCases, observable_case, signed_observable
from medassay.metrics.registry import load_metrics

CASE = Case("1", "Clinical history: cough.\nDiagnosis: adenocarcinoma.", ("Diagnosis: adenocarcinoma.",), source="x y")


def test_candidate_and_references_are_reduced_and_the_source_stays() -> None:
    reduced = observable_case(CASE)
    assert "cough" not in reduced.candidate and "adenocarcinoma" in reduced.candidate
    assert reduced.source == CASE.source and len(reduced.references) == 1


def test_a_reference_of_which_nothing_is_left_is_dropped() -> None:
    assert observable_case(Case("1", CASE.candidate, ("Clinical history: cough.",))).references == ()


def test_a_source_passes_bad_rows_on() -> None:
    rows = [Row(1, CASE), Row(2, None, "broken")]
    first, second = ObservableCases(lambda: rows)()
    assert first.case == observable_case(CASE) and second == rows[1]


def test_the_signature_says_so_and_the_given_metric_stays_as_it_was() -> None:
    (metric,) = load_metrics("rouge1")
    before = str(metric.signature)
    (signed,) = signed_observable([metric])
    assert str(metric.signature) == before != str(signed.signature) and "texts:observable" in str(signed.signature)
