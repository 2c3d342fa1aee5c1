"""Which sentences of a report no slide could show."""

from __future__ import annotations

import pytest

from medassay.language.observable import observable_text, unobservable


@pytest.mark.parametrize(
    "sentence, kind",
    [
        ("The specimen is received in formalin labeled with the patient's name.", "handling"),
        ("The margins are inked blue and the specimen is serially sectioned.", "handling"),
        ("Representative sections are submitted in cassettes A1 to A4.", "handling"),
        ("The patient is a 61-year-old woman.", "patient"),
        ("Gender: F.", "patient"),
        ("Chief complaint: a mass in the breast.", "patient"),
        ("Perineural invasion: Not specified.", "template"),
        ("I attest that the above diagnosis is based upon my personal examination of the slides.", "template"),
        ("This test was not cleared by the U.S. Food and Drug Administration.", "template"),
    ],
)
def test_recognised(sentence: str, kind: str) -> None:
    assert {u.kind for u in unobservable(sentence)} == {kind}
    assert observable_text(f"Ductal carcinoma is seen.\n{sentence}\nNo necrosis.") == (
        "Ductal carcinoma is seen.\nNo necrosis."
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "Invasive ductal carcinoma, grade 2.",
        "Lymphovascular invasion: Not identified.",
        "All margins are free of tumour.",
        "The tumour cells show pleomorphic nuclei.",
        "Lymph nodes: 0/12.",
    ],
)
def test_findings_stay(sentence: str) -> None:
    assert unobservable(sentence) == []


def test_sections_of_handling_and_history_are_left_out() -> None:
    text = "Diagnosis: Adenocarcinoma.\n\nGross description: A brown mass. It is soft.\n\nClinical history: Cough."
    assert observable_text(text) == "Diagnosis: Adenocarcinoma."


def test_only_the_value_of_a_specimen_field_is_left_out() -> None:
    assert observable_text("Specimen type: Lobectomy. Histologic grade: G2.") == "Histologic grade: G2."


def test_nothing_is_left_of_a_form() -> None:
    assert observable_text("Margins: Not specified.") == "" == observable_text("")
