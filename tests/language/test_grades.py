"""Grades as values: what is read, and what agrees with what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.language.grades import Grade, compare_grades, normalise_grade
from medassay.language.results import read_result

READ = [
    ("Fuhrman grade 3/4", "fuhrman 3/4"),
    ("Fuhrman nuclear grade of 2 out of 4", "fuhrman 2/4"),
    ("Nuclear grade: High", "nuclear_grade high"),
    ("Gleason's score 7 (4+3)", "gleason 4+3"),
    ("3+3=6", "gleason 3+3"),
    ("Gleason pattern 4: 60%", "gleason_pattern 4 60"),
    ("grade group 3", "grade_group 3"),
    ("Nottingham grade III (of III)", "nottingham 3/3"),
    ("Nottingham score is 6/9", "nottingham_score 6/9"),
    ("tubule formation: 3", "component tubule formation 3"),
    ("FIGO grade II", "figo_grade 2"),
    ("FIGO stage illc", "stage iiic"),
    ("WHO grade IV", "who 4"),
    ("pT1c pNO pMX", "tnm T1c N0 MX"),
    ("T3aN2Mx", "tnm T3a N2 MX"),
    ("pN1mi(sn)", "tnm N1mi"),
    ("ptis", "tnm Tis"),
    ("poorly-differentiated", "differentiation poorly"),
    ("high-grade", "grade high"),
    ("G3", "grade 3"),
    ("2.3 x 2.0 x 1.1 cm", "size 23 mm"),
    ("less than 0.1 cm", "size <1 mm"),
    ("5.1cm", "size 51 mm"),
    ("0/12", "count 0/12"),
    ("one of four", "count 1/4"),
    ("VI/XVIII", "count 6/18"),
    ("13 of. 22", "count 13/22"),
    ("4 mf/10 hpf", "rate 4/10 hpf"),
    ("tumor volume: 80%", "percent tumor volume 80 %"),
    ("30 to 40%", "percent 35 %"),
    ("mild", "severity mild"),
]


@pytest.mark.parametrize(("text", "expected"), READ, ids=[r[0] for r in READ])
def test_reading(text: str, expected: str) -> None:
    assert str(normalise_grade(text)) == expected


@pytest.mark.parametrize("text", ["", "the", "to", "carcinoma", "2+", "positive", "(sn)"])
def test_what_is_no_grade(text: str) -> None:
    assert normalise_grade(text) is None


MEET = [
    ("1.5 cm", "15 mm", "equal"),
    ("Gleason 3+4", "Gleason's score 7 (3+4)", "equal"),
    ("pT3", "pT3a", "compatible"),
    ("pT2", "pT3", "conflict"),
    ("pT2 N0", "pN1", "conflict"),
    ("pT2", "pN1", "unrelated"),
    ("poorly differentiated", "grade 3", "compatible"),
    ("high grade", "well differentiated", "conflict"),
    ("Gleason's score 7 (4+3)", "Grade group 3", "compatible"),
    ("Gleason's score 7 (4+3)", "Grade group 2", "conflict"),
    ("Gleason 3+4", "Gleason 4+3", "conflict"),
    ("Gleason score 7", "Gleason 3+4=7", "compatible"),
    ("<0.1 cm", "0.5 mm", "compatible"),
    ("<0.1 cm", "5 mm", "conflict"),
    ("0/12", "0/3", "compatible"),
    ("1/12", "0/12", "conflict"),
    ("2.1 cm", "2.8 cm", "conflict"),
    ("5 cm", "0/2", "unrelated"),
    ("tubule formation: 3", "mitoses: 1", "unrelated"),
    ("mild", "marked", "conflict"),
    ("WHO grade IV", "grade 4", "compatible"),
]


def grade(text: str) -> Grade:
    found = normalise_grade(text)
    assert found is not None, text
    return found


@pytest.mark.parametrize(("a", "b", "expected"), MEET, ids=[f"{m[0]} | {m[1]}" for m in MEET])
def test_meeting(a: str, b: str, expected: str) -> None:
    assert compare_grades(grade(a), grade(b)) == compare_grades(grade(b), grade(a)) == expected
    assert grade(a).same_kind(grade(b)) == (expected != "unrelated")
    assert grade(a).agrees(grade(b)) == (expected in ("equal", "compatible"))


@given(st.sampled_from([r[0] for r in READ]))
def test_a_grade_equals_itself(text: str) -> None:
    assert compare_grades(grade(text), grade(text)) == "equal"


@given(st.text(alphabet="0123456789 .+/x%<>cmpTNMGI()ofgradelsn-", max_size=40))
def test_any_text_can_be_read(text: str) -> None:
    found = normalise_grade(text)
    assert found is None or str(found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("strongly positive", "strong positive"),
        ("FOCALLY POSITIVE", "focal positive"),
        ("no staining", "negative"),
        ("not amplified", "negative"),
        ("do not overexpress", "negative"),
        ("equivocal", "equivocal"),
        ("2+", "equivocal"),
        ("3+", "strong positive"),
        ("(-)", "negative"),
        ("pending", "pending"),
        ("90%", "positive 90%"),
        ("0%", "negative 0%"),
        ("retained", "retained"),
    ],
)
def test_results_of_markers(text: str, expected: str) -> None:
    assert str(read_result(text)) == expected
