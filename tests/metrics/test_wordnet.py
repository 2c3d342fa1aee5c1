"""Reading WordNet's files, with nltk's reader as the judge."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from medassay.errors import MedassayError
from medassay.metrics import wordnet
from medassay.metrics.wordnet import WordNet


@pytest.mark.parametrize(
    ("word", "others"),
    [
        ("tumor", {"tumour", "neoplasm", "growth"}),
        ("tumors", {"tumour", "tumor", "neoplasm", "growth"}),  # by ending
        ("tumorz", {"tumour", "tumor", "neoplasm", "growth"}),  # by the list of exceptions
        ("saw", {"see", "observe"}),
        ("big", {"large"}),  # its marker (a) is no part of it
        ("bigger", set()),  # bigg, bigge: not in the dictionary
        ("infarction", set()),  # heart_attack is not one word
        ("unknown", set()),
        ("", set()),
    ],
)
def test_synonyms(dictionary: Path, word: str, others: set[str]) -> None:
    assert WordNet(dictionary).synonyms(word) == others | {word}


def test_synonyms_are_nltks(dictionary: Path, nltk_reader: Any) -> None:
    ours = WordNet(dictionary)
    for word in ["tumours", "tumor", "growths", "observing", "observed", "larger", "largest", "harmless", "x"]:
        lemmas = chain.from_iterable(synset.lemma_names() for synset in nltk_reader.synsets(word))
        assert ours.synonyms(word) == {lemma for lemma in lemmas if "_" not in lemma} | {word}


def test_where_it_is_found(dictionary: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WNSEARCHDIR", str(dictionary))
    found = wordnet.installed()
    assert found is not None and found.folder == dictionary
    home = tmp_path / "home"
    home.mkdir()
    (home / "dict").symlink_to(dictionary)
    monkeypatch.setenv("WNSEARCHDIR", "")
    monkeypatch.setenv("WNHOME", str(home))
    found = wordnet.installed()
    assert found is not None and found.folder == home / "dict"


def test_the_release_is_named(dictionary: Path) -> None:
    assert len(WordNet(dictionary).version) == 8  # a hash: the files name no release
    data = dictionary / "data.noun"
    data.write_text("  1 WordNet 3.1 Copyright\n")
    assert WordNet(dictionary).version == "3.1"


def test_a_damaged_dictionary_is_named(dictionary: Path) -> None:
    (dictionary / "data.noun").write_text("cut short")
    with pytest.raises(MedassayError, match=r"data\.noun: not a readable WordNet"):
        WordNet(dictionary).synonyms("tumor")
    (dictionary / "index.verb").unlink()
    with pytest.raises(MedassayError, match=r"index\.verb"):
        WordNet(dictionary).synonyms("see")
