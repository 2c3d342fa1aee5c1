"""Messages for users: shortened texts, near names, and the command that installs an extra."""

from __future__ import annotations

import pytest

from medassay.errors import MedassayError, MissingExtra, nearest, shortened


@pytest.mark.parametrize(("length", "expected"), [(5, "abcde"), (4, "abc…")])
def test_a_long_text_is_cut_to_its_beginning(length: int, expected: str) -> None:
    assert shortened("abcde", length) == expected


def test_a_near_name_is_offered_in_any_case() -> None:
    assert nearest("ROGUE1", ["rouge1", "bleu"]) == "; did you mean 'rouge1'?"
    assert nearest("quality", ["rouge1", "bleu"]) == ""
    assert nearest("x", []) == ""


def test_a_missing_extra_names_its_command() -> None:
    error = MissingExtra("Reading slides", "slides")
    assert isinstance(error, MedassayError)
    assert str(error) == "Reading slides needs the extra 'slides': pip install 'medassay[slides]'"
