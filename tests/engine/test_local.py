"""The local engine: order, batches, and what is measured how often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from medassay.cases import Case, Row
from medassay.engine import load_engine
from medassay.engine.local import Local, run, score_cases
from medassay.engine.placement import checkpoint_every
from medassay.engine.store import Store
from medassay.errors import MedassayError, UnknownName
from medassay.metrics.base import Metric
from medassay.metrics.registry import load_metric, load_metrics
from medassay.scores import Score


class Counting(Metric):
    """The candidate as a number; remembers the batches it was given."""

    name = "counting"
    summary = "the number in the text"
    defined = "here"
    needs = frozenset({"candidate"})
    bounds = (None, None)

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[str]] = []

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        self.batches.append([case.candidate for case in cases])
        return [Score(float(case.candidate)) for case in cases]


def rows(texts: Sequence[str]) -> list[Row]:
    return [Row(i, Case(str(i), text)) for i, text in enumerate(texts)]


def test_order_is_kept_across_batches_and_bad_rows() -> None:
    stream = rows([str(i) for i in range(10)])
    stream[4] = Row(4, None, "broken")
    metric = Counting()
    batches = list(run(stream, [metric], batch=3))
    assert [len(batch) for batch in batches] == [3, 3, 3, 1]
    flat = [scored for batch in batches for scored in batch]
    assert [scored.scores["counting"].value for scored in flat if scored.row.case] == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert flat[4].scores == {}
    assert flat[4].row.problem == "broken"


def test_a_batch_is_as_long_as_the_slowest_metric_takes() -> None:
    assert [len(batch) for batch in run(rows(["1"] * 130), [Counting(), *load_metrics("rouge1")])] == [64, 64, 2]
    assert [checkpoint_every(metric) for metric in load_metrics("rouge1,bertscore,logic")] == [1024, 32, 16]


def test_one_row_that_breaks_does_not_lose_the_others() -> None:
    scores = score_cases([case for row in rows(["1", "x", "3"]) if (case := row.case)], [Counting()])["counting"]
    assert [score.value for score in scores] == [1.0, None, 3.0]
    assert scores[1].failed == "ValueError: could not convert string to float: 'x'"


def test_a_wrong_number_of_scores_is_a_failure_of_the_metric() -> None:
    class Short(Counting):
        def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
            return []

    (score,) = score_cases([Case("1", "1")], [Short()])["counting"]
    assert score.failed == "ValueError: returned 0 scores for 1 case"


def test_with_a_store_equal_texts_are_measured_once_and_in_equal_slices(tmp_path: Path) -> None:
    first, second = [str(i) for i in range(64)], [str(i) for i in range(64, 70)]
    texts = ["0", *first, "3", *second, "0"]
    metric = Counting()
    with Store(tmp_path / "s") as store:
        (batch,) = run(rows(texts), [metric], store, batch=100)
    assert [scored.scores["counting"].value for scored in batch] == [float(text) for text in texts]
    assert metric.batches == [first, second]
    # A run that was cut after the first slice goes on with the very same second slice.
    again = Counting()
    with Store(tmp_path / "t") as store:
        store.put(again, [Case("", text) for text in first], [Score(float(text)) for text in first])
        list(run(rows(texts), [again], store, batch=100))
    assert again.batches == metric.batches[1:]


def test_engines_by_name() -> None:
    assert load_engine("local").name == "local"
    with pytest.raises(UnknownName, match=r"no engine 'rya'; did you mean 'ray'\?"):
        load_engine("rya")
    with pytest.raises(MedassayError, match="add --engine ray"):
        load_engine("local", address="somewhere:6379")


@pytest.mark.parametrize("workers", [0, 2])
def test_memory_does_not_grow_with_the_rows(workers: int) -> None:
    """Rows are read as results are taken: no more than a few batches are ever under way."""
    read = taken = most = 0

    def source() -> Iterator[Row]:
        nonlocal read, most
        for number in range(1, 2_001):
            read += 1
            most = max(most, read - taken)
            yield Row(number, Case(str(number), f"text {number}", ("text",)))

    for batch in Local(workers).score(source, [load_metric("rouge1")], None, batch=8):
        taken += len(batch)
    assert taken == 2_000
    assert most <= 8 * (2 * workers + 3)
