"""Sections of a report and the parts of its material."""

from __future__ import annotations

import pytest

from medassay.language.sections import headings, section_at, section_kind, sections, specimens


@pytest.mark.parametrize(
    ("title", "kind"),
    [("Final Diagnosis", "diagnosis"), ("GROSS DESCRIPTION", "gross"), ("Nonsense", "")],
)
def test_headings_of_the_lexicon(title: str, kind: str) -> None:
    assert section_kind(title) == kind


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("## Final Diagnosis\nCarcinoma.", ["diagnosis"]),
        ("**Final Diagnosis:** Carcinoma.", ["diagnosis"]),
        ("FINAL DIAGNOSIS: Carcinoma.", ["diagnosis"]),
        ("Before. Microscopic description: Glands.", ["", "microscopic"]),
        ("## Something else\nText.", ["other"]),
        ("Necrosis: Present.", [""]),
        ("", []),
    ],
)
def test_what_opens_a_section(text: str, kinds: list[str]) -> None:
    assert [section.kind for section in sections(text)] == kinds


def test_the_text_under_a_heading() -> None:
    text = "Diagnosis: Carcinoma.\nComment: None."
    ((start, body, kind, title), *_) = headings(text)
    assert (start, kind, title) == (0, "diagnosis", "Diagnosis") and text[body:].startswith(" Carcinoma")


def test_the_section_of_a_character() -> None:
    text = "Diagnosis: Carcinoma.\nComment: None."
    parts = sections(text)
    section = section_at(parts, text.index("None"))
    assert section is not None and section.kind == "comment"
    assert section_at([], 3) is None


def test_a_part_ends_at_the_next_part_or_heading() -> None:
    text = "A. Kidney, left: carcinoma. B. Lymph node: benign.\nComment: None."
    parts = specimens(text)
    assert [(part.label, text[part.start : part.end].split(":")[0]) for part in parts] == [
        ("A", "A. Kidney, left"),
        ("B", "B. Lymph node"),
    ]
    assert "Comment" not in text[parts[1].start : parts[1].end]
