from __future__ import annotations

import pytest

from medassay.models.hub_relations import mark


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ((0, 1), (2, 3), "[E1]a[/E1] [E2]b[/E2] c"),
        ((2, 3), (0, 1), "[E2]a[/E2] [E1]b[/E1] c"),
        ((0, 3), (2, 3), "[E1]a [E2]b[/E2][/E1] c"),
        ((2, 3), (2, 5), "a [E2][E1]b[/E1] c[/E2]"),
        ((0, 2), (2, 5), "[E1]a [/E1][E2]b c[/E2]"),
    ],
)
def test_markers_stand_right_whichever_comes_first(one: tuple[int, int], two: tuple[int, int], expected: str) -> None:
    assert mark("a b c", one, two) == expected
