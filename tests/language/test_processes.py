"""Which process a diagnosis speaks of."""

from __future__ import annotations

import pytest

from medassay.language.lexicon import read_tsv
from medassay.language.processes import GROUPS, group_of, process_of


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("Invasive ductal carcinoma of the breast", "malignant"),
        ("hemangioma", "benign"),
        ("haemangioma", "benign"),
        ("No diagnostic abnormality", "normal"),
        ("abnormal mucosa", None),
        ("carcinoma in situ of the breast", "dysplasia"),
        ("chronic active gastritis", "inflamed"),
        ("old infarct", "other"),
        ("negative for malignancy", "normal"),
        ("field", None),
    ],
)
def test_group_of_a_diagnosis(text: str, group: str | None) -> None:
    assert group_of(text) == group


def test_of_two_signs_the_first_listed_counts() -> None:
    assert process_of("normal mucosa beside a carcinoma") == "n"


def test_every_row_has_a_known_group_and_no_sign_stands_twice() -> None:
    rows = list(read_tsv("processes.tsv"))
    assert {row["group"] for row in rows} <= {*GROUPS, ""}
    signs = [row["sign"] for row in rows if row["sign"]]
    assert len(signs) == len(set(signs))
    assert all(len({row["group"] for row in rows if row["process"] == p}) == 1 for p in {r["process"] for r in rows})
