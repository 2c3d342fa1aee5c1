"""Sentences and sections: structure by example, coverage of the text by property, linear time by counting."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.language.sections import section_at, sections, specimens
from medassay.language.sentences import sentences


def cut(text: str) -> list[str]:
    return [text[a:b] for a, b in sentences(text)]


CASES = [
    ("One sentence. Another one.", ["One sentence.", "Another one."]),
    # OCR full stops at line ends
    (
        "Lymph nodes are negative for. malignancy. No necrosis.",
        ["Lymph nodes are negative for. malignancy.", "No necrosis."],
    ),
    ("POSITIVE FOR. DESMIN AND NEGATIVE FOR SMA. BENIGN.", ["POSITIVE FOR. DESMIN AND NEGATIVE FOR SMA.", "BENIGN."]),
    ("HYSTERECTOMY AND SALPINGO-. OOPHORECTOMY.", ["HYSTERECTOMY AND SALPINGO-. OOPHORECTOMY."]),
    # abbreviations and numbers
    ("A mass of 2.3 cm. in diameter. pT2.", ["A mass of 2.3 cm. in diameter.", "pT2."]),
    ("H. pylori is not seen. No atrophy.", ["H. pylori is not seen.", "No atrophy."]),
    # specimen lists
    (
        "A. Kidney, left: carcinoma. B. Lymph node: benign.",
        ["A. Kidney, left: carcinoma.", "B. Lymph node: benign."],
    ),
    # bullets, on lines and run together
    ("Findings:\n- Necrosis\n- Mitoses, 4/10 HPF\n", ["Findings:", "- Necrosis", "- Mitoses, 4/10 HPF"]),
    ("- Fibrosis is seen. - Evidence of invasion.", ["- Fibrosis is seen.", "- Evidence of invasion."]),
    # headings
    ("**Final Diagnosis:**\nCarcinoma.", ["**Final Diagnosis:**", "Carcinoma."]),
    ("## Microscopic Description\nSheets of cells", ["## Microscopic Description", "Sheets of cells"]),
    ("Benign. FINAL DIAGNOSIS: Lipoma.", ["Benign.", "FINAL DIAGNOSIS:", "Lipoma."]),
    # a wrapped line goes on, a short one ends
    (
        "The sections show an invasive carcinoma with extension into the\nsubmucosa.\nMargins free",
        ["The sections show an invasive carcinoma with extension into the\nsubmucosa.", "Margins free"],
    ),
    ("Carcinoma - clear cell type", ["Carcinoma - clear cell type"]),
    ("", []),
    (" \n ", []),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[c[0][:30] for c in CASES])
def test_cutting(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


WORDS = st.sampled_from(
    [
        "Carcinoma",
        "no",
        "necrosis.",
        "A.",
        "-",
        "\n",
        "\n\n",
        "##",
        "**Diagnosis:**",
        "negative for.",
        "2.3 cm.",
        ":",
        "•",
    ]
)


@given(st.lists(WORDS, max_size=40).map(" ".join) | st.text(max_size=120))
def test_every_character_stands_in_one_sentence(text: str) -> None:
    spans = sentences(text)
    assert all(a < b and not text[a].isspace() and not text[b - 1].isspace() for a, b in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    inside = {i for a, b in spans for i in range(a, b)}
    assert all(c.isspace() or i in inside for i, c in enumerate(text))


@pytest.mark.parametrize("unit", ["A. ", "\n", "*", "# ", ": ", "- A. ", "Diagnosis: ", "a\n", "x"])
def test_long_repetitive_text_is_cut(unit: str) -> None:
    """Shapes that make backtracking patterns explode; a hang is the failure."""
    text = unit * (200_000 // len(unit))
    assert all(a < b for a, b in sentences(text))
    assert all(s.start < s.end for s in specimens(text))


def test_sections_of_a_generated_report() -> None:
    text = "**Histological Findings:**\n- Necrosis\n\n### Microscopy:\n- Sheets\n\n**Final Diagnosis:**\nCarcinoma"
    found = sections(text)
    assert [s.kind for s in found] == ["findings", "microscopic", "diagnosis"]
    assert text[found[2].body : found[2].end].strip() == "Carcinoma"
    assert section_at(found, text.index("Sheets")) == found[1]


def test_sections_of_running_text() -> None:
    text = "Patient X. GROSS DESCRIPTION: A kidney. COMMENT: see note. Final Diagnosis. A. Kidney: RCC"
    found = sections(text)
    assert [(s.kind, s.title) for s in found] == [("", ""), ("gross", "GROSS DESCRIPTION"), ("comment", "COMMENT")]


def test_synoptic_fields_are_no_sections() -> None:
    assert [s.kind for s in sections("Necrosis: Present. Margin: Free. **Grade:** 3")] == [""]


@given(st.lists(WORDS, max_size=30).map(" ".join))
def test_sections_cover_the_text(text: str) -> None:
    found = sections(text)
    assert all(s.start <= s.body <= s.end for s in found)
    assert all(a.end == b.start for a, b in pairwise(found))
    assert not found or found[-1].end == len(text)


def test_specimen_parts() -> None:
    text = "DIAGNOSIS: A. Kidney, left: Carcinoma. B. Lymph node, hilar: Benign. COMMENT: None."
    found = specimens(text)
    assert [(s.label, s.title) for s in found] == [("A", "Kidney, left"), ("B", "Lymph node, hilar")]
    assert text[found[1].start : found[1].end].strip() == "B. Lymph node, hilar: Benign."
    assert [s.label for s in specimens("PART 1: UTERUS, HYSTERECTOMY -. CARCINOMA. PART 2: OVARY: BENIGN.")] == [
        "1",
        "2",
    ]
