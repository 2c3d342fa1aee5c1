"""What a modifier says of its marker."""

from __future__ import annotations

import pytest

from medassay.language.results import Result, read_result


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("strongly and diffusely positive", Result("positive", "strong", "diffuse")),
        ("no staining", Result("negative")),
        ("2+", Result("equivocal")),
        ("30 to 40%", Result("positive", percent=35.0)),
        ("0%", Result("negative", percent=0.0)),
        ("<1%", Result("negative", percent=1.0)),
        ("lost", Result("lost")),
        ("retained", Result("retained")),
        ("pending", Result("pending")),
        ("blue", None),
        ("", None),
    ],
)
def test_results(text: str, expected: Result | None) -> None:
    assert read_result(text) == expected


def test_how_strongly_and_how_widely_is_told_of_positive_results_only() -> None:
    assert read_result("diffusely lost") == Result("lost")
