"""Visual hallucinations by rule: everything visible is exchanged for what cannot be meant, the rest stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.study.changes import NotMade, hallucinate, visible

REPORT = "Colon, biopsy: Adenocarcinoma with irregular glands and necrosis. Margins are free. Grade 2."


def test_what_is_visible_changes_and_the_rest_stays() -> None:
    for seed in range(20):
        made = hallucinate(REPORT, seed)
        assert isinstance(made, str)
        for gone in ("Colon", "Adenocarcinoma", "glands", " necrosis."):
            assert gone not in made.replace("sebaceous glands", "").replace("thyroid gland", "")
        assert made.endswith("Margins are free. Grade 2.")


def test_the_same_seed_gives_the_same_text() -> None:
    assert hallucinate(REPORT, 4) == hallucinate(REPORT, 4)
    assert len({hallucinate(REPORT, seed) for seed in range(10)}) > 3


def test_one_group_gives_way_to_one_other() -> None:
    known, _ = visible()
    made = hallucinate("Adenocarcinoma. Invasive adenocarcinoma. Mucinous adenocarcinoma.", 2)
    assert isinstance(made, str)
    found = {known[part.strip(" .").lower()].group for part in made.split(". ")}
    assert len(found) == 1 and found != {"glandular carcinoma"}


def test_never_what_could_be_right() -> None:
    known, pattern = visible()
    for seed in range(40):
        made = hallucinate("Tubular adenoma.", seed)
        assert isinstance(made, str)
        match = pattern.search(made)
        assert match is not None
        assert known[match[0].lower()].group not in {"benign glandular", "glandular carcinoma", "normal"}


def test_nothing_visible_is_not_made() -> None:
    assert isinstance(hallucinate("ER positive, HER2 negative."), NotMade)


def test_the_table_is_sound() -> None:
    known, _ = visible()
    groups = {one.group for one in known.values()}
    for one in known.values():
        others = {v.group for v in known.values() if v.kind == one.kind} - one.unlike - {one.group}
        assert len(others) >= 3, one.name
        assert one.unlike <= groups | {"normal"}


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    assert isinstance(hallucinate(text), str | NotMade)


@pytest.mark.parametrize("text", ["LUNG: SQUAMOUS CELL CARCINOMA.", "lung: squamous cell carcinoma."])
def test_capitals_follow(text: str) -> None:
    made = hallucinate(text)
    assert isinstance(made, str)
    assert made.isupper() == text.isupper()
