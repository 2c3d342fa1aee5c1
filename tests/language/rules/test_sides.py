"""Left against right."""

from __future__ import annotations

import pytest
from tests.language.readings import label

from medassay.language.rules import CONTRADICTS, ENTAILS
from medassay.language.rules.sides import SideRule

RULE = SideRule()


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("Left modified radical mastectomy.", "Right mastectomy specimen.", CONTRADICTS),
        ("Left kidney.", "Left renal specimen.", ENTAILS),
        ("Left adrenalectomy for cortical adenoma.", "The contralateral adrenal gland is normal in size.", None),
        ("First the left breast was removed, then the right breast.", "Right mastectomy.", None),
        ("Left kidney.", "Right hand.", None),
    ],
)
def test_sides(premise: str, hypothesis: str, expected: str | None) -> None:
    assert label(RULE, premise, hypothesis) == expected
