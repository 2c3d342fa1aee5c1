"""Finders of medical words: the own one, functions, spaCy pipelines, and what is wrong with a setting."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.errors import MedassayError
from medassay.language.finders import finder


def test_the_own_finder_is_named_by_its_releases() -> None:
    find, name = finder("linker")
    assert find("No pain.") == [(3, 7)]
    assert name.startswith("linker@")


def test_a_finder_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_finder.py").write_text("def find(text):\n    return [(4, 8), (0, 2)]\nword = 3\n")
    monkeypatch.chdir(tmp_path)
    find, name = finder("py:own_finder:find")
    assert find("a tumour here") == [(0, 2), (4, 8)]
    assert name.startswith("py:own_finder:find@")
    with pytest.raises(ValueError, match="span \\(4, 8\\) for a text of 1 characters"):
        find("a")
    with pytest.raises(MedassayError, match="is a int, not a function"):
        finder("py:own_finder:word")


def test_a_spacy_pipeline(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    pipeline.add_pipe("entity_ruler").add_patterns([{"label": "FINDING", "pattern": "mass"}])
    pipeline.to_disk(tmp_path / "ruler")
    find, name = finder(f"spacy:{tmp_path / 'ruler'}")
    assert find("A mass, a mass.") == [(2, 6), (10, 14)]
    assert name.startswith("spacy-") and ":ruler-" in name


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nobody", "none of linker"),
        ("py:no_such_module:find", "cannot be imported"),
        ("medcat:pack.zip", "pip install medcat|cannot be opened"),
        ("spacy:no_such_pipeline", "pip install spacy|is not there"),
    ],
)
def test_what_is_wrong_is_said(spec: str, message: str) -> None:
    with pytest.raises(MedassayError, match=message):
        finder(spec)
