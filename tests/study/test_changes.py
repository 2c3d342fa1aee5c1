"""Changes by rule: each kind does what it says, changes one thing, and says when it cannot."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medassay.study.changes import CRITICAL, HARMLESS, NotMade, change, kind_of, kinds, reworded

REPORT = (
    "FINAL DIAGNOSIS: Left breast, excision: Invasive ductal carcinoma, grade 3, 2.4 cm. No lymphovascular invasion is "
    "identified. The tumor is positive for ER and HER2. The patient takes metformin."
)


@pytest.mark.parametrize(
    ("kind", "text", "options"),
    [
        ("negation", "Margins are negative for tumor.", {"Margins are positive for tumor."}),
        ("negation", "No necrosis.", {"Necrosis."}),
        ("negation", "She denies chest pain.", {"She reports chest pain."}),
        ("laterality", "LEFT KIDNEY", {"RIGHT KIDNEY"}),
        ("laterality", "Left kidney", {"Right kidney"}),
        ("laterality", "She left the hospital right away.", None),
        ("grade", "Nottingham grade 2 tumour", {"Nottingham grade 1 tumour", "Nottingham grade 3 tumour"}),
        ("grade", "Poorly differentiated.", {"Well differentiated."}),
        ("measurement", "A mass of 2.4 cm.", {"A mass of 1.2 cm.", "A mass of 4.8 cm.", "A mass of 7.2 cm."}),
        ("measurement", "Seen in room 12.", None),
        ("drug", "Takes Lisinopril daily.", None),
        ("site", "A biopsy of the stomach.", None),
        ("diagnosis", "A benign polyp.", {"A malignant polyp."}),
        ("marker", "She came to the ER.", None),
        ("headings", "**Findings:** necrosis", {"## Findings\nnecrosis"}),
        ("bullets", "One thing. Another thing.", {"- One thing.\n- Another thing."}),
        ("format", "One thing. Another thing.", {"One thing.\n\nAnother thing."}),
        ("synonym", "The tumor is seen.", {"The tumour is seen."}),
        ("abbreviation", "Known HTN.", {"Known hypertension."}),
        ("omission", "Benign", None),
    ],
)
def test_examples(kind: str, text: str, options: set[str] | None) -> None:
    made = change(text, kind)
    if options is not None:
        assert made in options
    elif kind in ("drug", "site"):
        assert isinstance(made, str) and made != text and made.split()[0] == text.split()[0]
    else:
        assert isinstance(made, NotMade) and made.reason


@pytest.mark.parametrize("kind", [kind.name for kind in kinds().values() if kind.harm == CRITICAL])
def test_every_error_is_made_in_a_report_and_leaves_most_of_it(kind: str) -> None:
    made = change(REPORT, kind)
    assert isinstance(made, str) and made != REPORT
    shared = set(made.split()) & set(REPORT.split())
    assert len(shared) >= 0.6 * len(set(REPORT.split()))


def test_contradiction_keeps_what_it_denies() -> None:
    made = change(REPORT, "contradiction")
    assert isinstance(made, str) and made.startswith(REPORT)
    assert len(made) > len(REPORT) + 10


def test_omission_takes_away_and_invention_adds_a_sentence() -> None:
    less, more = change(REPORT, "omission"), change(REPORT, "invention")
    assert isinstance(less, str) and isinstance(more, str)
    assert set(less.split()) < set(REPORT.split())
    assert more.startswith(REPORT) and more.endswith(".")


def test_a_swap_takes_a_name_the_text_does_not_hold_and_mends_the_article() -> None:
    made = change("This is an adenocarcinoma of the colon.", "diagnosis")
    assert isinstance(made, str)
    name = re.fullmatch(r"This is (an?) (.+) of the colon\.", made)
    assert name is not None and name[2] != "adenocarcinoma"
    assert (name[1] == "an") == (name[2][0] in "aeiou")


def test_the_seed_decides() -> None:
    made = {change(REPORT, "measurement", seed) for seed in range(12)}
    assert len(made) > 1
    assert change(REPORT, "measurement", 3) == change(REPORT, "measurement", 3)


def test_rewording_means_the_same_words_elsewhere() -> None:
    made = reworded(REPORT)
    assert isinstance(made, str)
    assert "tumour" in made and "LVI" not in made.replace("LVI", "", 1)
    assert isinstance(reworded("xyz"), NotMade)


def test_names_of_data_files_are_known() -> None:
    assert {kind_of(name) for name in ("Hallucination", "value", "negation", "other")} == {
        "invention",
        "measurement",
        "negation",
        "other",
    }


@given(text=st.text(max_size=80), kind=st.sampled_from(sorted(kinds())))
@settings(max_examples=150, deadline=None)
def test_any_text_is_changed_or_not_made(text: str, kind: str) -> None:
    made = change(text, kind)
    assert isinstance(made, NotMade) or made != text


@given(st.lists(st.sampled_from(REPORT.split()), min_size=1, max_size=30))
@settings(max_examples=60, deadline=None)
def test_harmless_layout_changes_keep_every_word(words: list[str]) -> None:
    text = " ".join(words)
    for kind in ("case", "format", "bullets"):
        assert kinds()[kind].harm == HARMLESS
        made = change(text, kind)
        if isinstance(made, str):
            kept = [word for word in made.lower().split() if word != "-"]
            assert kept == text.lower().split()
