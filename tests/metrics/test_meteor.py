"""METEOR against `nltk.translate.meteor_score`, with and without synonyms."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.meteor_score import single_meteor_score

from medassay.cases import Case, make_cases
from medassay.errors import MedassayError
from medassay.metrics import wordnet
from medassay.metrics.meteor import Meteor, align, tokens
from medassay.metrics.registry import load_metric
from medassay.metrics.wordnet import WordNet


class NoWordNet:
    """What nltk asks for synonyms, when there are none."""

    def synsets(self, word: str) -> list[object]:
        return []


words = st.lists(
    st.sampled_from(["the", "tumour", "tumours", "tumor", "growth", "see", "seeing", "saw", "big", ".", "3.5", "cm"]),
    min_size=1,
    max_size=14,
)


@given(candidate=words, reference=words)
def test_values_are_nltks(candidate: list[str], reference: list[str]) -> None:
    (score,) = Meteor(synonyms="no").measure([Case("1", " ".join(candidate), (" ".join(reference),))])
    want = single_meteor_score(tokens(" ".join(reference)), tokens(" ".join(candidate)), wordnet=NoWordNet())
    assert score.value == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize(
    ("candidate", "reference"),
    [
        ("the big tumour was observed", "a large neoplasm was seen"),
        ("tumor growth growth tumor", "neoplasm tumour growth"),
        ("tumor tumor growth", "growth growth tumor saw"),
        ("harmless tumours", "benign growths"),
    ],
)
def test_synonyms_are_matched_as_in_nltk(
    dictionary: Path, nltk_reader: Any, monkeypatch: pytest.MonkeyPatch, candidate: str, reference: str
) -> None:
    monkeypatch.setenv("WNSEARCHDIR", str(dictionary))
    (score,) = Meteor(synonyms="yes").score(make_cases([candidate], [reference]))
    want = single_meteor_score(reference.split(), candidate.split(), wordnet=nltk_reader)
    assert score.value == pytest.approx(want, abs=1e-12)
    (without,) = Meteor(synonyms="no").score(make_cases([candidate], [reference]))
    assert (score.value or 0) > (without.value or 0)


def test_by_hand() -> None:
    # 3 of 3 and 3 of 4 words match, in chunks "no tumour" and "seen": P = 1, R = .75,
    # F = .75 / (.9 + .1 · .75), penalty = .5 · (2/3)³
    (score,) = Meteor(synonyms="no").score(make_cases(["no tumour seen"], ["No tumours are seen"]))
    assert dict(score.parts) == pytest.approx({"precision": 1, "recall": 0.75, "penalty": 0.5 * (2 / 3) ** 3})
    assert score.value == pytest.approx(0.75 / 0.975 * (1 - 0.5 * (2 / 3) ** 3))


def test_alignment_takes_the_last_free_word() -> None:
    assert align(["a", "b", "a"], ["a", "a", "a", "b"], None) == [(0, 1), (1, 3), (2, 2)]


def test_nothing_in_common_is_zero() -> None:
    assert Meteor(synonyms="no").score(make_cases(["one"], ["two"]))[0].value == 0.0


def test_words_parted_at_a_line_end_are_one() -> None:
    assert tokens("Adeno-\ncarcinoma, 1.5 cm.") == ["adenocarcinoma", ",", "1.5", "cm", "."]


def test_the_signature_says_which_modules_ran(dictionary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordnet, "installed", lambda: None)
    monkeypatch.setattr("medassay.metrics.meteor.installed", lambda: None)
    assert load_metric("meteor").signature.startswith("meteor|modules:exact+stem|alpha:0.9|beta:3.0|gamma:0.5|")
    with pytest.raises(MedassayError, match="wordnet-base"):
        Meteor(synonyms="yes")
    monkeypatch.setattr("medassay.metrics.meteor.installed", lambda: WordNet(dictionary))
    assert "|modules:exact+stem+synonym|wordnet:" in load_metric("meteor").signature
    assert "|modules:exact+stem|" in load_metric("meteor(synonyms=no)").signature


def test_travels_to_other_processes_with_its_dictionary(dictionary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WNSEARCHDIR", str(dictionary))
    metric = Meteor(synonyms=True)
    cases = make_cases(["a big tumour"], ["a large growth"])
    metric.score(cases)
    assert pickle.loads(pickle.dumps(metric)).score(cases) == metric.score(cases)


@pytest.mark.parametrize("wrong", ["meteor(alpha=x)", "meteor(synonyms=perhaps)"])
def test_wrong_settings_are_refused(wrong: str) -> None:
    with pytest.raises(MedassayError):
        load_metric(wrong)
