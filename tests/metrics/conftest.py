"""A WordNet dictionary of five synonym sets, in WordNet's own file format; a checker that compares words."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from ..language.checker_double import WordChecker, installed

# How long an example takes is the machine's affair.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# part of speech → synonym sets
MEANINGS = {
    "noun": [["tumour", "tumor", "neoplasm"], ["growth", "tumor"], ["heart_attack", "infarction"]],
    "verb": [["see", "observe"]],
    "adj": [["big(a)", "large"], ["benign(ip)", "harmless"]],
    "adv": [],
}
EXCEPTIONS = {"noun": "tumorz tumor\n", "verb": "saw see\n", "adj": "", "adv": ""}
LETTER = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}


@pytest.fixture
def dictionary(tmp_path: Path) -> Path:
    """The folder that holds it; nltk's reader can open it too."""
    for pos, sets in MEANINGS.items():
        data, places = "  1 a made dictionary\n", {}
        for words in sets:
            offset = len(data)
            listed = " ".join(f"{word} 0" for word in words)
            data += f"{offset:08d} 00 {LETTER[pos]} {len(words):02x} {listed} 000 | a meaning\n"
            for word in words:
                places.setdefault(word.split("(")[0], []).append(offset)
        lines = [
            f"{word} {LETTER[pos]} {len(at)} 0 {len(at)} 0 {' '.join(f'{o:08d}' for o in at)}  \n"
            for word, at in sorted(places.items())
        ]
        (tmp_path / f"data.{pos}").write_text(data)
        (tmp_path / f"index.{pos}").write_text("  1 a made dictionary\n" + "".join(lines))
        (tmp_path / f"{pos}.exc").write_text(EXCEPTIONS[pos])
    (tmp_path / "lexnames").write_text("00\tall\t1\n")
    return tmp_path


@pytest.fixture
def nltk_reader(dictionary: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """nltk's reader of the made dictionary."""
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def map_wn(self, version: str = "wordnet") -> None:
            """No release to map to: that would take a sense index, which is no part of a dictionary."""

    monkeypatch.setattr(nltk.data, "path", [*nltk.data.path, str(dictionary)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Reader(nltk.data.FileSystemPathPointer(str(dictionary)), None)


@pytest.fixture
def checker() -> Iterator[WordChecker]:
    """A checker that compares words, behind every metric that holds a ledger."""
    double = WordChecker()
    with installed(double):
        yield double
