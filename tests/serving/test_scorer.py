"""The warm scorer: the same numbers as a run, from any thread, equal texts once."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

import medassay
from medassay import Case, Metric, Score, Scorer
from medassay.engine.base import DIED
from medassay.errors import InputError, MedassayError

TEXTS = ["Tubular adenoma.", "No tumour seen; margins clear.", "Invasive carcinoma, grade 2.", "Chronic gastritis."]


class Length(Metric):
    """The candidate's length; remembers what it measured, and in how many threads at once."""

    name = "length"
    summary = defined = "here"
    needs = frozenset({"candidate"})
    bounds = (0, None)

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.inside = self.most = 0

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.seen += [case.candidate for case in cases]
        for case in cases:
            if case.candidate == "killer":
                os.kill(os.getpid(), signal.SIGKILL)
        self.inside -= 1
        return [Score(float(len(case.candidate))) for case in cases]


@pytest.mark.parametrize("workers", [0, 2])
def test_the_numbers_are_those_of_a_run(workers: int) -> None:
    candidates, references = TEXTS * 10, (TEXTS[1:] + TEXTS[:1]) * 10
    wanted = medassay.score(candidates, references, metrics="rouge,bertscore,chrf", evidence=False)
    with Scorer("rouge,bertscore,chrf", workers=workers) as scorer:
        scorer.warm()
        found = scorer.score_batch(candidates, references)
    assert {name: list(scores) for name, scores in found.scores.items()} == {
        name: list(scores) for name, scores in wanted.scores.items()
    }
    assert found.signatures == wanted.signatures
    assert found.mean == wanted.mean


def test_equal_texts_are_measured_once_and_every_case_has_its_score() -> None:
    metric = Length()
    result = Scorer(metric).score_batch(["aa", "b", "aa", "", "b", "ccc"])
    assert [score.value for score in result["length"]] == [2, 1, 2, None, 1, 3]
    assert metric.seen == ["aa", "b", "ccc"]


def test_in_one_process_one_batch_is_measured_at_a_time() -> None:
    metric = Length()
    scorer = Scorer(metric)
    together = threading.Barrier(8)

    def one(k: int) -> list[float | None]:
        together.wait()
        return [score.value for score in scorer.score_batch([str(k) * n for n in range(1, 30)])["length"]]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(8))) == [list(range(1, 30))] * 8
    assert metric.most == 1


def test_scorers_of_one_process_do_not_disturb_one_another() -> None:
    """They share models and what these remember."""
    texts = [f"Breast: invasive carcinoma, grade {k % 3 + 1}. ER positive. Size {k} mm." for k in range(12)]
    reference = "Breast: invasive ductal carcinoma, grade 2. ER negative."
    with Scorer("hare") as one, Scorer("hare") as two, ThreadPoolExecutor(4) as pool:
        wanted = [score.value for score in one.score_batch(texts, [reference] * 12)["hare"]]
        asked = [pool.submit(scorer.score_batch, texts, [reference] * 12) for scorer in (one, two) * 3]
        for future in asked:
            assert [score.value for score in future.result()["hare"]] == wanted


def test_many_threads_share_the_workers() -> None:
    with Scorer(Length(), workers=2) as scorer, ThreadPoolExecutor(8) as pool:
        made = pool.map(lambda k: scorer.score_batch(["x" * k, "y"])["length"][0].value, range(1, 40))
        assert list(made) == list(range(1, 40))


def test_a_text_that_kills_costs_its_own_score_only() -> None:
    with Scorer(Length(), workers=2) as scorer:
        found = scorer.score_batch(["a", "killer", "bb"])["length"]
    assert [score.value if score.value is not None else score.failed for score in found] == [1, DIED, 2]


def test_awaited() -> None:
    async def both() -> list[float]:
        with Scorer("rouge1") as scorer:
            results = await asyncio.gather(
                scorer.ascore_batch(["a b"], ["a b"]), scorer.ascore_batch(["a b"], [["a c", "x"]])
            )
        return [result.mean["rouge1"] for result in results]

    assert asyncio.run(both()) == [1.0, 0.5]


def test_what_has_no_meaning_for_a_batch_is_refused() -> None:
    with pytest.raises(MedassayError, match=r"depends on the whole set .* stored distribution"):
        Scorer("z(rouge1,chrf)")
    with pytest.raises(InputError, match="2 candidates but 1 references"):
        Scorer("rouge1").score_batch(["a", "b"], ["a"])
    with Scorer("rouge1") as scorer:
        pass
    with pytest.raises(MedassayError, match="closed"):
        scorer.score_batch(["a"], ["a"])
