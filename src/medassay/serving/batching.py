"""Gather requests into batches, so that many small requests cost as much as one large request.

The queue is bounded by the cases in it. What does not fit is refused at once, with the time after which it is worth
asking again; nothing waits without bound.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from medassay.cases import Case
from medassay.scores import Score
from medassay.serving.scorer import Scorer

CONCURRENT_BATCHES = 2
"""Batches scored at the same time: the workers have the next while the scores of one are collected."""


class Overloaded(Exception):
    """The queue is full. after: seconds until it is worth asking again."""

    def __init__(self, after: int) -> None:
        super().__init__(f"too many cases are waiting; ask again in {after} s")
        self.after = after


class Closing(Exception):
    """The server is being stopped: what was accepted is finished, nothing more is taken."""


@dataclass
class _QueuedRequest:
    """A request in the queue."""

    cases: Sequence[Case]
    answer: asyncio.Future[dict[str, list[Score]]]


class Batcher:
    """Gathers cases of many requests for one scorer. To be used from one event loop.

    capacity: cases that may wait or be under way; more are refused. batch: cases scored together. patience: seconds
    that a batch which is not full waits for more.
    """

    def __init__(self, scorer: Scorer, *, capacity: int, batch: int, batch_wait: float) -> None:
        self.scorer, self.capacity, self.batch, self.batch_wait = scorer, capacity, batch, batch_wait
        self.queue: deque[_QueuedRequest] = deque()
        self.waiting = self.taken = 0
        self.rate = 0.0
        self.closing = False
        self.arrived = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()
        self.threads = ThreadPoolExecutor(CONCURRENT_BATCHES, thread_name_prefix="medassay-batch")
        self.loops: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to take batches from the queue."""
        self.loops = [asyncio.create_task(self._loop()) for _ in range(CONCURRENT_BATCHES)]

    def has_room(self) -> None:
        """Raise what `score` would for any request: it need not be read."""
        if self.closing:
            raise Closing
        if self.taken >= self.capacity:
            raise Overloaded(self.after())

    async def score(self, cases: Sequence[Case]) -> dict[str, list[Score]]:
        """The scores of a request's cases, by metric."""
        if self.closing:
            raise Closing
        if self.taken + len(cases) > self.capacity and self.taken:
            raise Overloaded(self.after())
        asked = _QueuedRequest(cases, asyncio.get_running_loop().create_future())
        self.queue.append(asked)
        self.waiting += len(cases)
        self.taken += len(cases)
        self.idle.clear()
        self.arrived.set()
        try:
            return await asked.answer
        finally:
            self.taken -= len(cases)
            if not self.taken:
                self.idle.set()

    def after(self) -> int:
        """Seconds until half of what is there now will be done, at the rate seen so far."""
        return min(60, max(1, math.ceil(self.taken / 2 / self.rate))) if self.rate else 1

    async def _loop(self) -> None:
        while True:
            while not self.queue:
                self.arrived.clear()
                await self.arrived.wait()
            if self.waiting < self.batch and self.taken > self.waiting:
                await asyncio.sleep(self.batch_wait)  # others are being scored: the next may gather meanwhile
            if batch := self._take():
                await self._score(batch)

    def _take(self) -> list[_QueuedRequest]:
        """Requests from the head of the queue, up to a batch of cases, at least one."""
        batch: list[_QueuedRequest] = []
        size = 0
        while self.queue and (not batch or size + len(self.queue[0].cases) <= self.batch):
            asked = self.queue.popleft()
            self.waiting -= len(asked.cases)
            if asked.answer.done():  # the client has gone
                continue
            batch.append(asked)
            size += len(asked.cases)
        return batch

    async def _score(self, batch: Sequence[_QueuedRequest]) -> None:
        cases = [case for asked in batch for case in asked.cases]
        began = time.monotonic()
        try:
            loop = asyncio.get_running_loop()
            result = await loop.run_in_executor(self.threads, self.scorer.score_cases, cases)
        except Exception as error:
            for asked in batch:
                if not asked.answer.done():
                    asked.answer.set_exception(error)
            return
        speed = len(cases) / max(time.monotonic() - began, 1e-6)
        self.rate = 0.8 * self.rate + 0.2 * speed if self.rate else speed
        start = 0
        for asked in batch:
            stop = start + len(asked.cases)
            if not asked.answer.done():
                asked.answer.set_result({name: list(scores[start:stop]) for name, scores in result.scores.items()})
            start = stop

    async def close(self) -> None:
        """Finish what was accepted; refuse what comes."""
        self.closing = True
        await self.idle.wait()
        for loop in self.loops:
            loop.cancel()
        await asyncio.gather(*self.loops, return_exceptions=True)
        self.threads.shutdown(wait=True)
