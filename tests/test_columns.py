"""Columns of a case file: which field each of them is, and what the others are called."""

from __future__ import annotations

import pytest

from medassay.columns import carried_columns, checked_mapping, find_column, plan_columns
from medassay.errors import InputError


def fields(header: list[str], **mapping: str) -> dict[str, str]:
    """Our field by column, `reference 1` and up for references."""
    plan = plan_columns(header, mapping)
    assert not isinstance(plan, str), plan
    return {column.name: column.field or (f"reference {column.rank}" if column.rank else "") for column in plan}


def test_case_and_spaces_do_not_matter() -> None:
    assert fields([" ID", "Candidate ", "REFERENCE", "Reference 2", "reference_03", "\ufeffSource"]) == {
        " ID": "id",
        "Candidate ": "candidate",
        "REFERENCE": "reference 1",
        "Reference 2": "reference 2",
        "reference_03": "",
        "\ufeffSource": "source",
    }


def test_the_exact_name_comes_first_and_the_other_is_carried() -> None:
    assert fields(["Candidate", "candidate"]) == {"Candidate": "", "candidate": "candidate"}
    assert "could both be 'candidate'" in str(plan_columns(["Candidate", "CANDIDATE"], {}))


def test_a_map_displaces_and_forgives_as_well() -> None:
    assert fields(["Generated", "candidate"], candidate="generated") == {"Generated": "candidate", "candidate": ""}
    assert "no column 'gen'" in str(plan_columns(["Generated"], {"candidate": "gen"}))
    with pytest.raises(InputError, match="one column cannot be two fields"):
        checked_mapping({"candidate": "x", "reference": "x"})


def test_names_that_differ_unseen_are_refused() -> None:
    assert "differ in control characters alone" in str(plan_columns(["candidate", "a\x07", "a "], {}))


def test_a_column_is_found_by_its_name() -> None:
    assert find_column("Text", ["text", "Text"]) == "Text"
    assert find_column("human score", ["Human_Score"]) == "Human_Score"
    assert find_column("text", ["TEXT", "Text"]) is None


def test_carried_columns_keep_every_value_under_a_name_of_its_own() -> None:
    extra = {"rouge1": 1, "file.rouge1": 2, "file.file.rouge1": 3, "note": 4}
    renamed = carried_columns(extra, {"rouge1"})
    assert list(renamed.values()) == [1, 2, 3, 4]
    assert list(renamed) == ["file.file.file.rouge1", "file.rouge1", "file.file.rouge1", "note"]


@pytest.mark.parametrize(
    ("header", "guess"),
    [
        (["note_id", "model", "generated_note", "gold_note", "conversation"],
         "candidate=generated_note,reference=gold_note,source=conversation,system=model,id=note_id"),
        (["id", "Reference", "Model output"], 'candidate="Model output"'),
        (["ID", "section_text", "dialogue"], "candidate=COLUMN"),
        (["output;$(reboot)", "prediction"], "candidate=prediction"),
    ],
)  # fmt: skip
def test_a_header_without_a_candidate_is_answered_with_a_guess(header: list[str], guess: str) -> None:
    told = plan_columns(header, {})
    assert isinstance(told, str)
    assert f"name yours with --map {guess}. Columns found" in told
