"""The stemmer against nltk's, on a vocabulary grown from every ending it knows."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from medassay.metrics import porter
from medassay.metrics.porter import stem

PEER = PorterStemmer()
RULES = (*porter._STEP_2, *porter._STEP_3, *porter._STEP_4)
ENDINGS = [suffix for suffix, _ in RULES]
ENDINGS += ["ed", "ing", "eed", "ied", "ies", "sses", "ss", "s", "y", "ll", "e"]
ENDINGS += ["logi", "ion", "sion", "tion", "at", "bl", "iz", "atting", "ssing"]
STEMS = ["b", "tr", "y", "ay", "toy", "syz", "tum", "carcin", "differ", "inflam", "hist", "oper"]
STEMS += ["rel", "happ", "d", "l", "z", "controll", "fil", "hop", "x1", "é"]


def test_every_ending_on_every_kind_of_stem() -> None:
    words = {a + b + c for a, b, c in product(["", *STEMS], ENDINGS, ["", *ENDINGS])}
    assert len(words) > 50_000
    assert [w for w in words if stem.__wrapped__(w) != PEER.stem(w)] == []


def test_irregular_words() -> None:
    words = [*porter._IRREGULAR, *porter._IRREGULAR.values(), "", "a", "as", "SKIES", "İs"]
    assert [stem(word) for word in words] == [PEER.stem(word) for word in words]


@given(st.text(alphabet="aeiouylsztdngbm0é'", max_size=12))
def test_any_word(word: str) -> None:
    assert stem(word) == PEER.stem(word)
