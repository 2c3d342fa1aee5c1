"""Requests are gathered into batches, and refused where the queue is full."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("fastapi")
from tests.serving.sample import Gated

from medassay import Case, Scorer
from medassay.serving.batching import Batcher, Closing, Overloaded


def test_small_requests_are_gathered_into_batches() -> None:
    metric = Gated()

    async def many() -> list[float | None]:
        batcher = Batcher(Scorer(metric), capacity=1000, batch=50, batch_wait=0.001)
        batcher.start()
        asked = [asyncio.create_task(batcher.score([Case("1", "x" * (k + 1))])) for k in range(100)]
        while batcher.taken < 100:
            await asyncio.sleep(0)
        metric.gate.set()
        answers = await asyncio.gather(*asked)
        await batcher.close()
        assert batcher.taken == batcher.waiting == 0
        return [answer["gated"][0].value for answer in answers]

    assert asyncio.run(many()) == [float(k + 1) for k in range(100)]
    assert sum(metric.batches) == 100 and max(metric.batches) == 50 and len(metric.batches) <= 6


def test_more_than_there_is_room_for_is_refused_and_the_rest_is_answered() -> None:
    metric = Gated()

    async def flood() -> None:
        batcher = Batcher(Scorer(metric), capacity=10, batch=4, batch_wait=0.001)
        batcher.start()
        asked = [asyncio.create_task(batcher.score([Case("1", "ab")])) for _ in range(10)]
        while batcher.taken < 10:
            await asyncio.sleep(0)
        with pytest.raises(Overloaded) as refused:
            await batcher.score([Case("1", "ab")])
        assert refused.value.after >= 1
        closing = asyncio.create_task(batcher.close())
        await asyncio.sleep(0)
        with pytest.raises(Closing):
            await batcher.score([Case("1", "ab")])
        metric.gate.set()
        await closing
        assert [answer["gated"][0].value for answer in await asyncio.gather(*asked)] == [2.0] * 10

    asyncio.run(flood())


def test_a_request_larger_than_the_room_is_taken_when_nothing_waits() -> None:
    metric = Gated()
    metric.gate.set()

    async def one() -> int:
        batcher = Batcher(Scorer(metric), capacity=3, batch=2, batch_wait=0)
        batcher.start()
        answer = await batcher.score([Case(str(i), "ab") for i in range(7)])
        await batcher.close()
        return len(answer["gated"])

    assert asyncio.run(one()) == 7
