"""Score, Signature and Result."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.api import score as score_texts
from medassay.cases import Case, make_cases
from medassay.metrics.base import Metric
from medassay.result import Result
from medassay.scores import Score, Signature

finite = st.floats(allow_nan=False, allow_infinity=False)


class Words(Metric):
    """Number of words of the candidate."""

    name = "words"
    summary = "words"
    defined = "here"
    needs = frozenset({"candidate"})
    bounds = (0.0, None)

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return [Score(float(len(case.candidate.split()))) for case in cases]


def result() -> Result:
    cases = make_cases(["a", "a b c", "", "a b"], systems=["one", "two", "one", "two"])
    return score_texts(cases, metrics=[Words()])


def test_a_score_has_a_value_or_a_reason() -> None:
    assert Score(0.5).statistics == (0.5,)
    assert Score.none("empty").value is None
    with pytest.raises(ValueError, match="exactly one of a value"):
        Score(None)
    with pytest.raises(ValueError, match="exactly one of a value"):
        Score(1.0, unscored="both")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_score_is_finite(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        Score(value)


@given(
    finite,
    st.dictionaries(st.text(max_size=5), finite, max_size=3),
    st.lists(finite, max_size=4),
    st.recursive(
        st.none() | st.booleans() | finite | st.text(max_size=5), lambda s: st.lists(s, max_size=3), max_leaves=5
    ),
)
def test_json_gives_back_an_equal_score(
    value: float, parts: dict[str, float], statistics: list[float], evidence: object
) -> None:
    score = Score(value, parts=parts, evidence={"e": evidence}, statistics=tuple(statistics))
    assert Score.from_json(score.to_json()) == score


def test_json_of_an_unscored_case() -> None:
    assert Score.from_json(Score.none("no “reference”").to_json()) == Score.none("no “reference”")


def test_signature() -> None:
    signature = Signature.build(
        "hare", {"mode": "paper", "thr": 0.7, "stem": True, "x": None, "n": 0, "one": 1}, "0.1.0"
    )
    assert signature == "hare|mode:paper|thr:0.7|stem:yes|x:none|n:0|one:1|v:0.1.0"
    assert signature.name == "hare"


def test_result_by_hand() -> None:
    made = result()
    # 1, 3, (empty), 2 words: the mean of the three that are scored is 2.
    assert made.mean == {"words": 2.0}
    assert len(made) == 4
    assert [score.value for score in made["words"]] == [1.0, 3.0, None, 2.0]
    assert made["words"][2].unscored == "empty candidate"
    one, two = made.summary("system", resamples=0)
    assert (one.group, one.value, one.n, one.unscored) == ("one", 1.0, 1, 1)
    assert (two.group, two.value, two.n, two.unscored) == ("two", 2.5, 2, 0)


def test_frames() -> None:
    made = result()
    pandas_frame, polars_frame = made.to_pandas(), made.to_polars()
    columns = ["id", "system", "words", "words.unscored", "words.failed"]
    assert list(pandas_frame.columns) == polars_frame.columns == columns
    assert polars_frame["words"].to_list() == [1.0, 3.0, None, 2.0]
    assert pandas_frame["words"].isna().tolist() == [False, False, True, False]


def test_shown_as_text_and_in_a_notebook() -> None:
    made = result()
    assert repr(made).startswith("<Result: 4 cases × 1 metrics>\n")
    assert "words" in made.table()
    html = made._repr_html_()
    assert "<table" in html
    assert "words" in html
