"""The embedded likelihood role: contracts that hold whatever the weights are, and what it was trained to tell apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.models import load
from medassay.models.base import LikelihoodModel
from medassay.models.graphs import HOME, ModelSet
from medassay.models.likelihood import BUDGET, CELLS, Source, Stretch, row_batches, stretches

REPORT = "Right kidney, nephrectomy: clear cell renal cell carcinoma, 4.2 cm, limited to the kidney. Margins are free. "


@pytest.fixture(scope="module")
def role() -> LikelihoodModel:
    if not (HOME / "manifest.json").is_file() or "likelihood" not in ModelSet(HOME).manifest["roles"]:
        pytest.skip("the embedded set has no likelihood model in this checkout")
    return load("likelihood")


@given(length=st.integers(0, 400), room=st.integers(2, 60), share=st.floats(0, 0.5))
def test_every_token_of_a_target_is_counted_once(length: int, room: int, share: float) -> None:
    context = int(room * share)
    rows = list(stretches(0, length, room, context))
    counted = [k for row in rows for k in range(row.counted, row.last)]
    assert counted == list(range(length))
    assert all(0 <= row.first <= row.counted and row.last - row.first <= room for row in rows)
    assert all(row.counted - row.first == context for row in rows[1:])


@given(st.lists(st.tuples(st.integers(1, 250), st.integers(1, 4000)), max_size=60))
def test_batches_are_bounded_and_hold_every_row_once(shapes: list[tuple[int, int]]) -> None:
    rows = [Stretch(i, 0, 0, target) for i, (target, _) in enumerate(shapes)]
    made = list(row_batches(rows, [source for _, source in shapes]))
    assert sorted(i for batch in made for i in batch) == list(range(len(shapes)))
    for batch in made:
        target, source = (max(shapes[i][k] for i in batch) for k in (0, 1))
        assert len(batch) == 1 or len(batch) * target <= BUDGET
        assert len(batch) == 1 or len(batch) * target * source <= CELLS


def test_a_stretch_sees_the_windows_that_share_most_with_it() -> None:
    # Frame token 9 and four windows of two; token 5 is everywhere and tells nothing.
    source = Source(np.array([9, 1, 5, 2, 5, 3, 5, 4, 5]), np.zeros((9, 1)), [(1, 3), (3, 5), (5, 7), (7, 9)])
    assert source.seen_by([3, 5], most=20).tolist() == list(range(9))
    assert source.seen_by([3, 5], most=3).tolist() == [0, 5, 6]
    assert source.seen_by([4, 2, 5], most=5).tolist() == [0, 3, 4, 7, 8]


def test_logs_are_of_the_texts_tokens_and_need_no_company(role: LikelihoodModel) -> None:
    pairs = [
        (REPORT, REPORT),
        ("", REPORT),
        (REPORT, "margins  are\nFREE"),
        (REPORT * 20, REPORT),
        (REPORT, REPORT * 8),
    ]
    together = role.token_logs([*pairs, pairs[0]])
    np.testing.assert_array_equal(together[0].logs, together[-1].logs)
    for pair, logs in zip(pairs, together):
        assert len(logs.logs) == len(logs.offsets) and np.all(logs.logs <= 1e-4) and np.all(np.isfinite(logs.logs))
        np.testing.assert_allclose(role.token_logs([pair])[0].logs, logs.logs, atol=2e-3)
    assert [pairs[2][1][a:b] for a, b in together[2].offsets] == ["margins", "are", "FREE"]
    means = role.log_likelihood(pairs)
    np.testing.assert_allclose(means, [one.logs.mean() for one in together[:5]], atol=1e-5)


def test_no_token_gives_no_number(role: LikelihoodModel) -> None:
    assert np.isnan(role.log_likelihood([(REPORT, "")])[0])
    assert np.isnan(role.log_likelihood([("", " \n")])[0])
    assert role.log_likelihood([]).shape == (0,)


@pytest.mark.parametrize(
    "text", ["\x00\x01", "😀👩‍⚕️", "سرطان الثدي", "tumor \ud800 of the breast", "ＣＤ２０", "x" * 3000]
)
def test_hostile_texts_have_a_likelihood(role: LikelihoodModel, text: str) -> None:
    for pair in ((text, REPORT), (REPORT, text)):
        logs = role.token_logs([pair])[0]
        assert np.all(np.isfinite(logs.logs)) and all(0 <= a <= b <= len(pair[1]) for a, b in logs.offsets)


def test_the_place_of_a_wrong_word_is_where_the_likelihood_falls(role: LikelihoodModel) -> None:
    wrong = REPORT.replace("4.2", "7.9").replace("Right", "Left")
    logs = role.token_logs([(REPORT, wrong)])[0]
    worst = sorted(range(len(logs.logs)), key=lambda k: logs.logs[k])[:3]
    assert {wrong[slice(*logs.offsets[k])] for k in worst} <= {"Left", "7", "9"}


def test_a_long_source_is_read_to_its_end(role: LikelihoodModel) -> None:
    filler = "The remaining sections show unremarkable parenchyma without further findings. " * 900
    fact = "Melanoma was found in the sentinel node."
    first, last, absent = role.log_likelihood([(fact + " " + filler, fact), (filler + fact, fact), (filler, fact)])
    assert min(first, last) > absent + 1
