"""Statements of notes, reports and dialogues: one checkable fact each, in words that can be read alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medassay.language.statements import split


def texts(text: str) -> list[str]:
    return [statement.text for statement in split(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Denies chest pain, cough or fever.", ["Denies chest pain", "Denies cough", "Denies fever"]),
        ("She smokes and has no allergies.", ["She smokes", "She has no allergies"]),
        ("He is on aspirin and Plavix.", ["He is on aspirin", "He is on Plavix"]),
        ("He was prescribed aspirin and Plavix.", ["He was prescribed aspirin", "He was prescribed Plavix"]),
        (
            "ROS: neg for headache; cough, hemoptysis; chest pain.",
            ["Neg for headache", "Neg for cough", "Neg for hemoptysis", "Neg for chest pain"],
        ),
        ("Negative for ER; positive for p63.", ["Negative for ER", "Positive for p63"]),
        ("Sodium 133, Creatinine 0.2.", ["Sodium 133", "Creatinine 0.2"]),
        ("The testes are normal in size and shape.", ["The testes are normal in size and shape"]),
        ("Her mother died of cancer at age 59.", ["Her mother died of cancer at age 59"]),
        ("Seen on March 2, 2006.", ["Seen on March 2, 2006"]),
        ("She lives in Fayetteville, Tennessee.", ["She lives in Fayetteville, Tennessee"]),
        ("1. Hypertension. 2. Low back pain.", ["Hypertension", "Low back pain"]),
        ("The patient was born and raised in Iowa.", ["The patient was born and raised in Iowa"]),
    ],
)
def test_every_item_of_a_list_is_a_statement_with_what_governs_it(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He is a man who keeps relapsing.", ["He is a man", "The patient keeps relapsing"]),
        ("She has a sister who died young.", ["She has a sister", "A sister died young"]),
        (
            "He has diabetes, which is treated with Micronase.",
            ["He has diabetes", "Diabetes is treated with Micronase"],
        ),
        (
            "The patient is a 49-year-old female with asthma.",
            ["The patient is a 49-year-old female", "The patient has asthma"],
        ),
        (
            "There is a tubular adenoma with moderate dysplasia.",
            ["There is a tubular adenoma", "A tubular adenoma with moderate dysplasia"],
        ),
        (
            "There is a carcinoma measuring 4 cm and invading the fat.",
            ["There is a carcinoma", "A carcinoma measuring 4 cm", "A carcinoma invading the fat"],
        ),
        (
            "The margins and adrenal gland are free of tumor.",
            ["The margins are free of tumor", "Adrenal gland are free of tumor"],
        ),
        ("There is vascular and lymphatic invasion.", ["There is vascular invasion", "There is lymphatic invasion"]),
        ("On arrival, she had fever and chills.", ["On arrival, she had fever", "On arrival, she had chills"]),
        ("The patient states that she feels tired.", ["She feels tired"]),
    ],
)
def test_a_phrase_carries_what_it_speaks_of(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She does not drink or smoke.", ["She does not drink", "She does not smoke"]),
        ("He has never smoked or used drugs.", ["He has never smoked", "He has never used drugs"]),
        (
            "X-ray did not show consolidation or reveal effusion.",
            ["X-ray did not show consolidation", "X-ray did not reveal effusion"],
        ),
        (
            "No atypia or mitotic activity is observed.",
            ["No atypia is observed", "No mitotic activity is observed"],
        ),
        (
            "The patient has neither fever nor chills.",
            ["The patient has neither fever", "The patient has neither chills"],
        ),
        ("There is no mass with calcification.", ["There is no mass with calcification"]),
        ("There is no node that is palpable.", ["There is no node that is palpable"]),
        ("No fever but a dry cough.", ["No fever", "A dry cough"]),
        ("No history except for asthma and eczema.", ["No history", "Asthma", "Eczema"]),
        ("No acute distress, alert and oriented.", ["No acute distress", "Alert and oriented"]),
        (
            "A carcinoma with no metastasis and uninvolved margins.",
            ["A carcinoma", "A carcinoma with no metastasis", "A carcinoma with uninvolved margins"],
        ),
        (
            "Cells are positive for CK7 and negative for CK20.",
            ["Cells are positive for CK7", "Cells are negative for CK20"],
        ),
    ],
)
def test_a_negation_goes_with_all_that_it_governs_and_nothing_else(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ALLERGIES: none.", ["Allergies: none"]),
        ("PAST MEDICAL HISTORY:\nAsthma.\nGout.", ["Past medical history: Asthma", "Past medical history: Gout"]),
        ("ALLERGIES:,  None.,MEDICATIONS: , Aspirin.", ["Allergies: None", "Medications: Aspirin"]),
        ("Tumor: 3.2 cm, grade 2", ["Tumor: 3.2 cm", "Tumor: grade 2"]),
        ("Histologic type: ductal; Margins: negative", ["Histologic type: ductal", "Margins: negative"]),
        (
            "A. Kidney, left, nephrectomy: Carcinoma, grade 2.",
            ["Specimen: Kidney, left, nephrectomy", "Kidney, left: Carcinoma", "Kidney, left: Carcinoma, grade 2"],
        ),
        (
            "Breast, core biopsy; 1. Carcinoma (Tubule formation: 3, Mitoses: 1) 2. Ductal carcinoma in situ",
            [
                "Specimen: Breast, core biopsy",
                "Breast: Carcinoma",
                "Tubule formation: 3",
                "Mitoses: 1",
                "Breast: Ductal carcinoma in situ",
            ],
        ),
        ("Sections are negative for. malignancy.", ["Sections are negative for malignancy"]),
        ("There is a glioma, WHO Grade II.", ["There is a glioma", "A glioma, WHO Grade II"]),
        ("The stage is T1a, N0, Mx.", ["The stage is T1a, N0, Mx"]),
        ("Tumor stage: pT2b pN0 (0/60) pMX; G3 R0", ["Tumor stage: pT2b pN0 (0/60) pMX; G3 R0"]),
    ],
)
def test_headings_labels_and_specimens_are_carried(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n ",
        "**Diagnosis:**",
        "FINAL DIAGNOSIS",
        "**Patient ID:** 123\n**Date:** 2 May",
        "**Diagnosis:** [Diagnosis]",
        "Size: ___ cm",
        "Margins: N/A",
        "Electronically signed by Dr. Smith.",
        "Doctor: Hello! Patient: Hi, doctor. Doctor: Okay. Thank you so much.",
        "Doctor: How are you today? Patient: I'm fine, thank you.",
    ],
)
def test_headings_templates_administration_and_small_talk_are_no_statements(text: str) -> None:
    assert texts(text) == []


def test_only_the_part_with_a_placeholder_is_left_out() -> None:
    text = "The specimen shows a mass, measuring [size] cm, with necrosis."
    assert texts(text) == ["The specimen shows a mass", "A mass with necrosis"]


def test_an_answer_carries_its_question() -> None:
    text = "Doctor: Good morning. Any fever?\nPatient: No. My head hurts.\nDoctor: Okay. Thank you."
    statements = split(text)
    assert [(statement.text, statement.speaker) for statement in statements] == [
        ("Any fever? No.", "Patient"),
        ("My head hurts.", "Patient"),
    ]
    assert text[statements[0].start : statements[0].end] == "Any fever?\nPatient: No."


def test_a_greeting_does_not_answer_a_question() -> None:
    text = "Doctor: Good morning. You're forty, correct? Patient: Good morning, doctor. Yes, that's correct."
    assert texts(text) == ["You're forty, correct? Yes, that's correct."]


def test_offsets_are_those_of_the_words_that_state_it() -> None:
    text = "He denies fever, chills.\n**Margins:** negative"
    assert [text[statement.start : statement.end] for statement in split(text)] == [
        "He denies fever",
        "chills",
        "Margins:** negative",
    ]


def test_sections_are_named() -> None:
    text = "HISTORY OF PRESENT ILLNESS: He fell.\n## Final Diagnosis\nCarcinoma."
    assert [statement.section for statement in split(text)] == ["history of present illness", "diagnosis"]
    assert split("He fell.")[0].section == ""


WORDS = [
    "no",
    "and",
    "or",
    "but",
    "with",
    "which",
    "that",
    "except for",
    "tumor",
    "denies",
    "fever",
    "is",
    "3 cm",
    "grade",
]
MARKS = [",", ";", ".", ":", "(", ")", "[", "]", "\n", "*", "Doctor:", "A.", "1.", "Patient:", "é", "\u2028", "\x00"]


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=200), st.lists(st.sampled_from(WORDS + MARKS), max_size=40).map(" ".join)))
def test_offsets_lie_in_the_text_and_in_order(text: str) -> None:
    statements = split(text)
    assert all(0 <= statement.start < statement.end <= len(text) for statement in statements)
    assert [statement.start for statement in statements] == sorted(statement.start for statement in statements)
    assert all(statement.text.strip() for statement in statements)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "word " * 100_000,
        " " * 100_000,
        "1" * 100_000,
        "," * 100_000,
        "\n" * 100_000,
        "." * 100_000,
        "(" * 100_000,
        "[" * 100_000,
        "[" + "a" * 400_000,
        "Denies " + "fever, " * 20_000,
        "mass with " * 20_000,
        "in the leg and " * 20_000,
        "pT2; " * 20_000,
        "A: " * 30_000,
        "Doctor: Any pain? Patient: No. " * 5_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_time_is_linear_in_any_text(text: str) -> None:
    began = time.perf_counter()
    split(text)
    assert time.perf_counter() - began < 20


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Weight loss 4 kg. Brother has asthma.", ["Weight loss 4 kg", "Brother has asthma"]),
        (
            "CIN 3 with gland involvement. p16 is positive.",
            ["CIN 3", "CIN 3 with gland involvement", "p16 is positive"],
        ),
        ("Takes apixaban 2.5 mg BD. Stop amlodipine.", ["Takes apixaban 2.5 mg BD", "Stop amlodipine"]),
        ("Has not bled. 9 mm, two colours.", ["Has not bled", "9 mm", "Two colours"]),
        ("Margins are clear. pT1b pN0.", ["Margins are clear", "pT1b pN0"]),
        ("ER, PR and HER2 negative.", ["ER negative", "PR negative", "HER2 negative"]),
        ("CD5 and cyclin D1 negative; CD20 positive.", ["CD5 negative", "Cyclin D1 negative", "CD20 positive"]),
        ("Loss of MLH1, retained MSH2 and MSH6.", ["Loss of MLH1", "Retained MSH2", "Retained MSH6"]),
        ("CIN 3 extending into crypts, p16 positive.", ["CIN 3", "CIN 3 extending into crypts", "p16 positive"]),
    ],
)
def test_markers_units_and_codes(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "History of chest tightness on effort, relieved by rest, increasing in frequency.",
            [
                "History of chest tightness on effort",
                "Chest tightness on effort relieved by rest",
                "Chest tightness on effort increasing in frequency",
            ],
        ),
        (
            "Chest tightness radiating to the arm, relieved by rest.",
            ["Chest tightness radiating to the arm", "Chest tightness relieved by rest"],
        ),
        (
            "Prednisolone 30 mg for five days and doxycycline.",
            ["Prednisolone 30 mg for five days", "Doxycycline"],
        ),
        ("Low mood for two months with early waking.", ["Low mood for two months", "Low mood with early waking"]),
        (
            "She has had back pain for two years, worsening on bending.",
            ["She has had back pain for two years", "Back pain worsening on bending"],
        ),
        ("Adenoma, encapsulated and completely excised.", ["Adenoma", "Encapsulated", "Completely excised"]),
    ],
)
def test_what_is_said_of_a_complaint_goes_with_it_and_not_with_its_duration(text: str, expected: list[str]) -> None:
    assert texts(text) == expected
