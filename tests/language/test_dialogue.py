"""Turns of a dialogue."""

from __future__ import annotations

from medassay.language.dialogue import turns


def test_a_turn_is_what_one_speaker_says() -> None:
    text = "Doctor: Good morning. Any fever?\nGuest_family: No.  "
    assert [(turn.speaker, text[turn.start : turn.end]) for turn in turns(text)] == [
        ("Doctor", "Good morning. Any fever?"),
        ("Guest_family", "No."),
    ]


def test_headings_are_no_speakers() -> None:
    assert turns("Allergies: none. Medications: aspirin. Family history: negative. Surgeries: none.") == []
    assert turns("No dialogue at all.") == []
