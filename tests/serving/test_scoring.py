"""Requests are read in bounded memory: what there is no room for is refused before it is read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

pytest.importorskip("fastapi")

from medassay import Case, Metric, Score, Scorer
from medassay.serving.batching import Batcher
from medassay.serving.limits import Limits
from medassay.serving.scoring import JsonAnswer, Scoring

JSON = (b"content-type", b"application/json")


class Length(Metric):
    """The candidate's length."""

    name = "length"
    summary = defined = "here"
    needs = frozenset({"candidate"})
    bounds = (0, None)

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return [Score(float(len(case.candidate))) for case in cases]


def body_of(size: int) -> bytes:
    """A request of so many bytes."""
    frame = len(json.dumps({"candidates": [""]}))
    return json.dumps({"candidates": ["x" * (size - frame)]}).encode()


def receiving(*pieces: bytes) -> Callable[[], Awaitable[dict[str, Any]]]:
    """A client that sends these."""
    left = list(pieces)

    async def receive() -> dict[str, Any]:
        piece = left.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(left)}

    return receive


async def unread() -> dict[str, Any]:
    raise AssertionError("the body was read")


async def silent() -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


async def gone() -> dict[str, Any]:
    return {"type": "http.disconnect"}


def scope(length: int | None = None) -> dict[str, Any]:
    said = [] if length is None else [(b"content-length", str(length).encode())]
    return {"type": "http", "method": "POST", "path": "/score", "headers": [JSON, *said]}


async def sent(answer: JsonAnswer) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        messages.append(message)

    await answer({}, unread, send)
    return messages


def within(limits: Limits, story: Callable[[Scoring], Awaitable[None]]) -> None:
    """Run a story against an endpoint; in the end it holds nothing."""

    async def run() -> None:
        scorer = Scorer(Length())
        scoring = Scoring(scorer, limits, None)
        scoring.batcher = Batcher(scorer, capacity=limits.capacity, batch=limits.batch, batch_wait=0)
        await story(scoring)
        await scoring.batcher.close()
        await asyncio.sleep(0)
        assert scoring.held.bytes == 0

    asyncio.run(run())


async def accepted(scoring: Scoring) -> None:
    """Wait until a request's cases are in the queue."""
    while not scoring.batcher.taken:
        await asyncio.sleep(0)


def test_bytes_of_all_requests_count_against_one_bound() -> None:
    async def story(scoring: Scoring) -> None:
        first = asyncio.create_task(scoring.answer(scope(600), receiving(body_of(600))))
        await accepted(scoring)
        assert scoring.held.bytes == 600
        refused = await scoring.answer(scope(500), unread)
        assert refused.status_code == 429 and b"too many bytes" in refused.body
        assert (b"retry-after", b"1") in refused.raw_headers
        assert (b"connection", b"close") not in refused.raw_headers  # its body is passed over, the client goes on
        await sent(refused)
        cut = await scoring.answer(scope(), receiving(b"{" * 300, b"{" * 200, b"never read"))
        assert cut.status_code == 429 and (b"connection", b"close") in cut.raw_headers
        await sent(cut)
        assert scoring.held.bytes == 600
        small = asyncio.create_task(scoring.answer(scope(300), receiving(body_of(300))))
        scoring.batcher.start()
        for task in (first, small):
            answer = await task
            assert answer.status_code == 200
            await sent(answer)

    within(Limits(body=700, held=1000), story)


def test_where_cases_have_no_room_no_body_is_read() -> None:
    async def story(scoring: Scoring) -> None:
        body = b'{"candidates": ["a", "b"]}'
        first = asyncio.create_task(scoring.answer(scope(len(body)), receiving(body)))
        await accepted(scoring)
        refused = await scoring.answer(scope(26), unread)
        assert refused.status_code == 429
        await sent(refused)
        scoring.batcher.start()
        await sent(await first)
        scoring.batcher.closing = True
        refused = await scoring.answer(scope(26), unread)
        assert refused.status_code == 503
        await sent(refused)

    within(Limits(capacity=2), story)


def test_a_request_that_is_too_large_is_not_read() -> None:
    async def story(scoring: Scoring) -> None:
        answer = await scoring.answer(scope(701), unread)
        assert answer.status_code == 413 and (b"connection", b"close") in answer.raw_headers
        await sent(answer)
        answer = await scoring.answer(scope(), receiving(b"x" * 700, b"x", b"never read"))
        assert answer.status_code == 413
        await sent(answer)
        answer = await scoring.answer(scope(5), receiving(b"x" * 700, b"x", b"never read"))  # it said less
        assert answer.status_code == 413
        await sent(answer)

    within(Limits(body=700), story)


def test_a_request_that_does_not_come_is_not_waited_for() -> None:
    async def story(scoring: Scoring) -> None:
        answer = await scoring.answer(scope(500), silent)
        assert answer.status_code == 408
        await sent(answer)
        answer = await scoring.answer(scope(500), gone)
        assert answer.status_code == 400
        await sent(answer)
        waiting = asyncio.create_task(scoring.answer(scope(500), silent))
        await asyncio.sleep(0)
        assert scoring.held.bytes == 500
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    within(Limits(arrival_seconds=0.02), story)


def test_a_long_answer_is_held_until_it_is_read() -> None:
    async def story(scoring: Scoring) -> None:
        scoring.batcher.start()
        body = json.dumps({"candidates": [str(k) for k in range(2000)]}).encode()
        answer = await scoring.answer(scope(len(body)), receiving(body))
        assert scoring.held.bytes == len(answer.body) > 2**16
        read, blocked = asyncio.Event(), asyncio.Event()

        async def send(message: Any) -> None:
            if message.get("body") == b"":
                blocked.set()
                await read.wait()  # servers wait here until what was sent before has left

        sending = asyncio.create_task(answer({}, unread, send))
        await blocked.wait()
        assert scoring.held.bytes == len(answer.body)
        read.set()
        await sending

    within(Limits(), story)


def test_references_of_a_request_are_counted() -> None:
    async def story(scoring: Scoring) -> None:
        scoring.batcher.start()
        for number, status in ((5, 200), (6, 413)):
            body = json.dumps({"candidates": ["a", "b"], "references": [["c"] * (number - 1), "d"]}).encode()
            answer = await scoring.answer(scope(len(body)), receiving(body))
            assert answer.status_code == status
            await sent(answer)

    within(Limits(references=5), story)
