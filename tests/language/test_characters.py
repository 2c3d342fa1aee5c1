"""Expressions over characters alone."""

from __future__ import annotations

import pytest

from medassay.language.characters import with_single_spaces, without_stops


@pytest.mark.parametrize(("phrase", "plain"), [("two - thirds", "two thirds"), ("a\n b--c", "a b c"), ("", "")])
def test_white_space_and_hyphens_are_one_space(phrase: str, plain: str) -> None:
    assert with_single_spaces(phrase) == plain


@pytest.mark.parametrize(
    ("text", "plain"),
    [("negative for. malignancy.", "negative for malignancy"), ("2.5 cm", "2.5 cm"), ("a .b", "a .b"), (". a", ". a")],
)
def test_only_stops_behind_a_word_go(text: str, plain: str) -> None:
    assert without_stops(text) == plain
