"""Fact-sized units of notes and dialogues."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.language.facts import facts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Denies fever, chills, or cough.", ["Denies fever", "Denies chills", "Denies cough"]),
        ("She smokes and has no allergies.", ["She smokes", "has no allergies"]),
        ("He has pain, but he is able to walk.", ["He has pain", "but he is able to walk"]),
        ("1. Hypertension. 2. Low back pain.", ["Hypertension", "Low back pain"]),
        ("Presently, denies chest pain.", ["Presently, denies chest pain"]),
        ("Seen on March 2, 2006.", ["Seen on March 2, 2006"]),
        ("Noncontributory.", ["Noncontributory"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_facts_of_a_note(text: str, expected: list[str]) -> None:
    assert [fact.text for fact in facts(text)] == expected


def test_an_answer_carries_its_question() -> None:
    text = "Doctor: Good morning. Any fever?\nPatient: No. My head hurts.\nDoctor: Okay. Thank you."
    found = facts(text)
    assert [fact.text for fact in found] == ["Any fever? No.", "My head hurts."]
    assert [fact.speaker for fact in found] == ["Patient", "Patient"]
    assert text[found[0].start : found[0].end] == "Any fever?\nPatient: No."


@given(st.text(max_size=200))
def test_spans_lie_in_the_text_and_in_order(text: str) -> None:
    found = facts(text)
    assert all(0 <= fact.start < fact.end <= len(text) for fact in found)
    assert [fact.start for fact in found] == sorted(fact.start for fact in found)


@given(st.lists(st.sampled_from(["fever", "chills", "cough", "rash", "nausea"]), min_size=2, max_size=5, unique=True))
def test_every_item_of_a_list_is_a_fact_with_its_verb(items: list[str]) -> None:
    assert [fact.text for fact in facts(f"Denies {', '.join(items)}.")] == [f"Denies {item}" for item in items]
