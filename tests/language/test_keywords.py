"""The list of keywords and how they are found."""

from __future__ import annotations

from collections import Counter

from medassay.language.keywords import keywords
from medassay.language.lexicon import read_tsv


def test_no_wording_belongs_to_two_keywords() -> None:
    wordings = [
        wording.lower().replace("-", " ")
        for row in read_tsv("keywords.tsv")
        for wording in {w.lower().replace("-", " ") for w in (row["keyword"], *row["variants"].split("|")) if w}
    ]
    assert [wording for wording, count in Counter(wordings).items() if count > 1] == []


def test_variants_case_and_hyphens() -> None:
    assert keywords("DCIS, high grade; ER positive") == keywords("DCIS, High-grade; ER positive")
    assert set(keywords("Ductal carcinoma in situ; HER-2/neu")) == {"ductal carcinoma in situ", "HER2"}


def test_a_longer_keyword_hides_those_inside_it_and_words_are_whole() -> None:
    assert set(keywords("Small cell carcinoma")) == {"small cell carcinoma"}
    assert keywords("Proliferation; erosion") == {}


def test_the_first_mention_is_kept() -> None:
    assert keywords("Necrosis, necrosis")["necrosis"] == (0, 8)
