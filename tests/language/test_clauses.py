"""A report cut into clauses, and which of them are compared."""

from __future__ import annotations

from tests.language.readings import reading

from medassay.language.clauses import clauses, described, pairs

TEXT = (
    "Invasive <diagnosis carcinoma>, <grade grade II>. ER is positive; PR is negative. It was received in formalin. "
    "No <finding necrosis> is seen."
)


def test_clauses_are_slices_of_the_report() -> None:
    report = reading(TEXT)
    cut = clauses(report)
    assert [clause.report.text for clause in cut] == [
        "Invasive carcinoma, grade II.",
        "ER is positive",
        "PR is negative.",
        "No necrosis is seen.",
    ]
    for clause in cut:
        assert report.text[clause.start : clause.end] == clause.report.text
        assert all(clause.report.text[e.start : e.end] == e.text for e in clause.report.entities)


def test_a_line_is_cut_at_its_items() -> None:
    line = "<diagnosis Adenocarcinoma>, <grade Gleason's score 7 (3+4)>, <grade grade group 2>, tumor volume: 80%"
    assert [clause.report.text for clause in clauses(reading(line))] == [
        "Adenocarcinoma",
        "Gleason's score 7 (3+4)",
        "grade group 2",
        "tumor volume: 80%",
    ]


def test_only_clauses_that_share_a_subject_are_paired() -> None:
    cut = clauses(reading("No <finding necrosis>. ER is positive. <finding Necrosis> is seen. ER is negative."))
    kinds = {(pair.premise, pair.hypothesis): pair.kind for pair in pairs(cut)}
    assert kinds == {(0, 2): "finding", (1, 3): "marker"}


def test_specimens_and_history_are_kept_apart() -> None:
    cut = clauses(
        reading(
            "A. Kidney, left: No <finding necrosis> is seen. B. Kidney, right: <finding Necrosis> is present. "
            "History of <finding necrosis> previously."
        )
    )
    assert [(clause.specimen, clause.past) for clause in cut] == [("A", False), ("B", False), ("B", True)]
    assert pairs(cut) == []


def test_only_what_was_received_is_aside_under_the_heading_of_the_specimen() -> None:
    cut = clauses(
        reading(
            "Specimen: <site bone>, <finding pale> fragments\nMatrix: <finding osteoid>\nNuclei: <finding irregular>\n"
            "Diagnosis: <diagnosis osteosarcoma>"
        )
    )
    assert [(clause.report.text, clause.past) for clause in cut] == [
        ("bone, pale fragments", True),
        ("Matrix: osteoid", False),
        ("Nuclei: irregular", False),
        ("osteosarcoma", False),
    ]
    assert {(pair.premise, pair.hypothesis) for pair in pairs(cut)} == {(1, 3), (2, 3)}


def test_listed_specimens_are_aside() -> None:
    cut = clauses(reading("Specimens:\nA. <finding Mass> of the left kidney\nB. <finding Mass> of the right kidney"))
    assert [clause.past for clause in cut] == [True, True]


def test_statements_are_held_to_a_diagnosis_without_a_name() -> None:
    cut = clauses(reading("<finding Fibrosis> is absent. Diagnosis: smooth muscle of the colon."))
    assert [(pair.premise, pair.hypothesis, pair.kind) for pair in pairs(cut)] == [(0, 1, "conclusion")]


def test_few_pairs_are_filled_up_with_the_diagnosis() -> None:
    cut = clauses(reading("There is <finding fibrosis>. ER is positive. The tumour is an <diagnosis oncocytoma>."))
    assert {(pair.premise, pair.hypothesis, pair.kind) for pair in pairs(cut)} >= {(0, 2, "conclusion")}


def test_the_published_pairs_join_findings_and_diagnoses() -> None:
    cut = clauses(reading("A <finding zellballen pattern> is seen. The diagnosis is <diagnosis pheochromocytoma>."))
    assert [(pair.premise, pair.hypothesis, pair.kind) for pair in described(cut)] == [(0, 1, "description")]


def test_a_clause_as_a_sentence() -> None:
    cut = clauses(reading("high grade <diagnosis leiomyosarcoma>; no <finding mitoses> are seen."))
    assert [clause.sentence for clause in cut] == ["High grade leiomyosarcoma.", "No mitoses are seen."]
