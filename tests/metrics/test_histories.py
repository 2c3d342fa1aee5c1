"""False histories: enough of them, of the report's organ, false for it, the same every time."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.cases import Case
from medassay.errors import InputError
from medassay.metrics.histories import choose, histories, leaning, organ_of


def test_the_table_is_rich_and_sound() -> None:
    table = histories()
    assert len(table) >= 60
    assert len({one.id for one in table}) == len(table) == len({one.text for one in table})
    organs = {one.organ for one in table}
    assert len(organs) >= 20
    for organ in organs:
        assert {one.leans for one in table if one.organ == organ} == {"malignant", "benign"}
    for one in table:
        assert organ_of(one.organ) == one.organ or one.organ == "any"
        assert one.text.endswith(".") and 60 <= len(one.text) <= 240, one.id


@pytest.mark.parametrize(
    ("report", "organ", "leans"),
    [
        ("Colon, biopsy: invasive adenocarcinoma.", "colon", "benign"),
        ("Colonic mucosa without dysplasia or carcinoma.", "colon", "malignant"),
        ("Breast, core biopsy: fibroadenoma.", "breast", "malignant"),
        ("Lung, lobectomy: squamous cell carcinoma.", "lung", "benign"),
        ("Unremarkable tissue.", "any", "malignant"),
    ],
)
def test_matched_to_the_organ_and_against_the_report(report: str, organ: str, leans: str) -> None:
    for seed in range(20):
        found = choose(Case("1", report), report, seed)
        assert (found.organ, found.leans) == (organ, leans)
        assert not found.suggests.search(report)


def test_never_what_the_reference_says() -> None:
    case = Case("1", "Lung tissue.", ("Squamous cell carcinoma; small cell carcinoma; adenocarcinoma.",))
    for seed in range(20):
        assert choose(case, case.candidate, seed).leans == "benign"


def test_an_organ_column_wins_over_the_text() -> None:
    case = Case("1", "Adenocarcinoma of the colon.", extra={"organ": "Prostate"})
    assert choose(case, case.candidate).organ == "prostate"


def test_the_same_case_and_seed_get_the_same_history() -> None:
    case = Case("7", "Skin: seborrheic keratosis.")
    assert len({choose(case, case.candidate, 3).id for _ in range(5)}) == 1
    assert len({choose(case, case.candidate, seed).id for seed in range(30)}) > 1


def test_a_denied_malignancy_is_benign() -> None:
    assert leaning("Negative for malignancy.") == "benign"
    assert leaning("No dysplasia. Adenocarcinoma is present.") == "malignant"


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.tsv"
    path.write_text("id\torgan\tleans\tsuggests\thistory\na\tany\tbenign\tscar\tOnly a scar is expected.\n")
    case = Case("1", "Carcinoma.")
    assert choose(case, case.candidate, version=str(path)).id == "a"
    with pytest.raises(InputError, match="none would be false"):
        choose(case, "A scar.", version=str(path))
    path.write_text("id\thistory\na\tb\n")
    histories.cache_clear()
    with pytest.raises(InputError, match="needs the columns"):
        histories(str(path))
    with pytest.raises(InputError, match="no table"):
        histories("histories-99")
