"""Margins and lymph nodes: involved or free."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.language.status import compare_status, read_status


@pytest.mark.parametrize(
    ("text", "topic", "involved"),
    [
        ("The deep margin is involved.", "margin", True),
        ("Invasive tumor is transected at the lateral edge.", "margin", True),
        ("The surgical margins were uninvolved by tumor.", "margin", False),
        ("Tumour lies 0.6 mm from the inked mesorectal margin.", "margin", True),
        ("Tumour lies 4 mm from the inked deep margin.", "margin", False),
        ("Clear cell carcinoma extends to the inked parenchymal margin.", "margin", True),
        ("R0 resection.", "margin", False),
        ("The sentinel node is not free of carcinoma.", "node", True),
        ("No lymph node metastases are seen.", "node", False),
        ("Two of 13 nodes contain metastatic carcinoma.", "node", True),
        ("0/17 lymph nodes", "node", False),
        ("pT2 pN0", "node", False),
    ],
)
def test_statements_are_read(text: str, topic: str, involved: bool) -> None:
    (one,) = read_status(text)
    assert (one.topic, one.involved) == (topic, involved)


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("Margins are negative.", "Tumor is present at the bronchial resection margin.", "apart"),
        ("The posterior margin is negative.", "The anterior margin is negative.", "open"),
        ("All lymph nodes are benign.", "Two hilar lymph nodes contain metastatic carcinoma.", "apart"),
        ("Left pelvic lymph nodes show no tumor (0/4).", "Right pelvic lymph nodes: metastasis in 1/4.", "open"),
        ("Level 8 lymph node with metastasis.", "The level 11 lymph node shows no evidence of metastasis.", "open"),
        ("Portal lymph nodes were benign.", "Three of seven peripancreatic lymph nodes are positive.", "open"),
        ("The ureteral margin is free of neoplasia.", "Ureteral margin with carcinoma in situ.", "apart"),
    ],
)  # fmt: skip
def test_only_the_same_margin_or_node_can_be_denied(premise: str, hypothesis: str, expected: str) -> None:
    for one in read_status(premise):
        for other in read_status(hypothesis):
            assert compare_status(one, other) == compare_status(other, one) == expected
    assert read_status(premise) and read_status(hypothesis)


@pytest.mark.parametrize(
    "text", ["Most lymph nodes are negative.", "One sentinel node is benign.", "Margin not assessed."]
)
def test_what_speaks_of_some_only_or_of_nothing_is_left_out(text: str) -> None:
    assert read_status(text) == ()


@given(st.text(max_size=120))
def test_any_text_is_read(text: str) -> None:
    for one in read_status(text):
        assert 0 <= one.start <= one.end <= len(text)


def test_a_clause_whose_commas_part_nothing_is_read_once() -> None:
    """Nodes and margins in one clause, with a comma that no space follows: there is nothing to cut it at."""
    assert isinstance(read_status("lymph nodes,margins free"), tuple)
    assert isinstance(read_status("1,margin of lymph node 2,5"), tuple)
