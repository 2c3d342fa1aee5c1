"""A ledger as a person reads it: text and a table."""

from __future__ import annotations

import pytest

from medassay.language.ledger import CANDIDATE, REFERENCE, Ledger, Texts, Verdict
from medassay.language.ledger_view import counts_text, describe, label, ledger_html, ledger_text
from medassay.language.statements import Statement
from medassay.spans import Check


def verdict(of: str, chances: tuple[float, float, float], text: str = "She has fever<39") -> Verdict:
    against = REFERENCE if of == CANDIDATE else CANDIDATE
    return Verdict(of, Statement(text, 0, len(text), ""), against, Check(chances, 0, 3, "value", 0.9))


WRONG = verdict(CANDIDATE, (0.0, 0.1, 0.9))
MISSING = verdict(REFERENCE, (0.1, 0.9, 0.0), "She has a cough")
LEDGER = Ledger((WRONG, MISSING), texts=Texts("She has fever<39.", "She has no fever. She has a cough."))


@pytest.mark.parametrize(
    ("of", "chances", "expected"),
    [
        (CANDIDATE, (1.0, 0.0, 0.0), "supported"),
        (CANDIDATE, (0.0, 0.0, 1.0), "wrong"),
        (CANDIDATE, (0.0, 1.0, 0.0), "unsupported"),
        (REFERENCE, (1.0, 0.0, 0.0), "stated"),
        (REFERENCE, (0.0, 0.0, 1.0), "misstated"),
        (REFERENCE, (0.0, 1.0, 0.0), "missing"),
    ],
)
def test_a_verdict_in_a_word(of: str, chances: tuple[float, float, float], expected: str) -> None:
    assert label(verdict(of, chances)) == expected


def test_kind_and_severity_are_named_unless_it_is_supported() -> None:
    assert describe(WRONG) == "wrong (value, critical)"
    assert describe(verdict(CANDIDATE, (1.0, 0.0, 0.0))) == "supported"


def test_the_counts_in_a_line() -> None:
    assert counts_text(LEDGER.counts) == (
        "1 statement: 0 supported, 1 wrong, 0 unsupported; 1 expected: 1 missing; 2 critical"
    )


def test_the_worst_problems_with_the_words_that_decide() -> None:
    assert ledger_text(LEDGER).splitlines()[1:] == [
        "  wrong (value, critical): She has fever<39",
        "      reference: “She”",
        "  missing (value, critical): She has a cough",
    ]
    assert repr(LEDGER) == ledger_text(LEDGER)


def test_a_long_list_is_cut_and_counted() -> None:
    many = Ledger(tuple(verdict(CANDIDATE, (0.0, 1.0, 0.0), f"Statement {i}") for i in range(10)))
    assert ledger_text(many).splitlines()[-1] == "  and 2 more"


def test_the_table_is_escaped() -> None:
    page = ledger_html(LEDGER)
    assert "<39" not in page and "She has fever&lt;39" in page and page.count("<tr>") == 3
