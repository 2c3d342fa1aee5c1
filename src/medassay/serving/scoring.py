"""`POST /score`: read the request in bounded memory, score its cases, and write the answer.

This is plain ASGI, because for small texts the layers of the framework take as long as the scores. A request that
exceeds the capacity is refused before it is read.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import to_json
from starlette.responses import Response

from medassay.cases import Case
from medassay.columns import clean
from medassay.errors import MedassayError
from medassay.scores import Score
from medassay.serving.batching import Batcher, Closing, Overloaded
from medassay.serving.limits import Lease, Limits, MemoryBudget
from medassay.serving.scorer import Scorer

log = logging.getLogger("medassay.serve")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_AT_ONCE = 2**16
"""Bytes of an answer that are handed over without waiting for the client to read them."""


class ScoreRequest(BaseModel):
    """Texts to score: lists of equal length."""

    model_config = ConfigDict(extra="forbid")

    candidates: Annotated[list[str], Field(min_length=1, description="The texts to be judged.")]
    references: Annotated[
        list[str | list[str] | None] | None, Field(description="What each is judged against; a list for several.")
    ] = None
    sources: Annotated[list[str | None] | None, Field(description="What each was written from.")] = None


class Refused(Exception):
    """The request is not answered with scores. close: the rest of its body is not waited for."""

    def __init__(
        self, status: int, message: str, *, after: int | None = None, close: bool = False, **more: Any
    ) -> None:
        super().__init__(message)
        self.status, self.after, self.close, self.more = status, after, close, more


class JsonAnswer(Response):
    """An answer of JSON that counts as held until the client has it."""

    def __init__(self, status: int, content: bytes, lease: Lease, *more: tuple[bytes, bytes]) -> None:
        self.status_code, self.body, self.background, self.lease = status, content, None, lease
        length = str(len(content)).encode()
        self.raw_headers = [(b"content-type", b"application/json"), (b"content-length", length), *more]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; where it is long, come back when it has been read."""
        try:
            start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            await send(start)
            if len(self.body) <= _AT_ONCE:
                await send({"type": "http.response.body", "body": self.body})
                return
            await send({"type": "http.response.body", "body": self.body, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            self.lease.resize(0)


class Scoring:
    """Answers requests for scores. key: what clients must show. Its batcher is given once the event loop runs."""

    def __init__(self, scorer: Scorer, limits: Limits, key: str | None) -> None:
        self.limits, self.key = limits, key
        self.signatures = {metric.name: str(metric.signature) for metric in scorer.metrics}
        self.held = MemoryBudget(limits.held)
        self.batcher: Batcher

    async def answer(self, scope: Scope, receive: Receive) -> JsonAnswer:
        """The answer to a request, whatever it is."""
        lease = Lease(self.held)
        try:
            content = await self._scores(scope, receive, lease)
            lease.resize(len(content))
            return JsonAnswer(200, content, lease)
        except Refused as error:
            refused = error
        except Overloaded as error:
            refused = Refused(429, str(error), after=error.after)
        except Closing:
            refused = Refused(503, "the server is being stopped", after=10)
        except MedassayError as error:
            log.error("%s", error)
            refused = Refused(500, str(error))
        except Exception as error:
            log.error("/score failed: %s", type(error).__name__)  # no text, no value
            refused = Refused(500, "something went wrong on the server")
        except BaseException:  # cancelled: nobody will send an answer
            lease.resize(0)
            raise
        return _refusal(refused, lease)

    async def _scores(self, scope: Scope, receive: Receive, lease: Lease) -> bytes:
        headers = dict(scope["headers"])
        if self.key is not None and not has_key(headers.get(b"authorization", b""), self.key):
            raise Refused(401, "the header Authorization: Bearer KEY is missing or wrong")
        if not headers.get(b"content-type", b"").startswith(b"application/json"):
            raise Refused(415, "the body must be JSON, with content-type: application/json")
        self.batcher.has_room()
        cases = read_cases(await self._body(headers, receive, lease), self.limits)
        scores_by_metric = await self.batcher.score(cases)
        answer = {name: [_plain(score) for score in scores] for name, scores in scores_by_metric.items()}
        return to_json({"scores": answer, "signatures": self.signatures})

    async def _body(self, headers: dict[bytes, bytes], receive: Receive, lease: Lease) -> bytes:
        """The body. Its bytes are held from the moment they are announced, or else as they come."""
        announced = headers.get(b"content-length", b"")
        if announced.isdigit():
            self._take(int(announced), lease, close=False)
        pieces: list[bytes] = []
        seen, more = 0, True
        try:
            async with asyncio.timeout(self.limits.arrival_seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "the body was cut off", close=True)
                    pieces.append(message.get("body", b""))
                    more = message.get("more_body", False)
                    seen += len(pieces[-1])
                    if seen > lease.bytes:
                        self._take(seen, lease, close=True)
        except TimeoutError:
            seconds = self.limits.arrival_seconds
            raise Refused(408, f"the request did not arrive within {seconds:g} seconds", close=True) from None
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _take(self, size: int, lease: Lease, *, close: bool) -> None:
        if size > self.limits.body:
            raise Refused(413, f"the request is larger than {self.limits.body:,} bytes; send several", close=True)
        if not lease.fits(size):
            after = self.batcher.after()
            message = f"too many bytes are waiting; ask again in {after} s"
            raise Refused(429, message, after=after, close=close)
        lease.resize(size)


def _plain(score: Score) -> dict[str, Any]:
    parts = score.parts
    return {
        "value": score.value,
        "unscored": score.unscored,
        "failed": score.failed,
        "parts": parts if type(parts) is dict else dict(parts),
    }


def _refusal(refused: Refused, lease: Lease) -> JsonAnswer:
    content = json.dumps({"message": str(refused), **refused.more}, ensure_ascii=False).encode()
    lease.resize(len(content))
    headers = [(b"retry-after", str(refused.after).encode())] if refused.after is not None else []
    if refused.close:
        headers.append((b"connection", b"close"))
    return JsonAnswer(refused.status, content, lease, *headers)


def has_key(header: bytes, key: str) -> bool:
    """Whether the header `Authorization` has the key."""
    return hmac.compare_digest(header.removeprefix(b"Bearer "), key.encode())


def read_cases(body: bytes, limits: Limits) -> list[Case]:
    """A request's cases; as in a file, control characters become spaces."""
    request = _checked(body)
    number = len(request.candidates)
    if number > limits.request:
        raise Refused(413, f"{number:,} texts in one request; the limit is {limits.request:,}. Send several requests")
    for what, values in (("references", request.references), ("sources", request.sources)):
        if values is not None and len(values) != number:
            raise Refused(422, f"{number} candidates but {len(values)} {what}")
    references = [_references(given) for given in request.references or [None] * number]
    if (many := sum(map(len, references))) > limits.references:
        raise Refused(413, f"{many:,} references in one request; the limit is {limits.references:,}")
    sources = [clean(text or "") or None for text in request.sources or [None] * number]
    given = zip(request.candidates, references, sources)
    return [
        Case(str(row), clean(candidate), several, source, row=row)
        for row, (candidate, several, source) in enumerate(given, 1)
    ]


def _references(given: str | Sequence[str] | None) -> tuple[str, ...]:
    if isinstance(given, str):
        return (clean(given),) if given and not given.isspace() else ()
    return tuple(clean(text) for text in given or () if text and not text.isspace())


def _checked(body: bytes) -> ScoreRequest:
    try:
        return ScoreRequest.model_validate_json(body)
    except ValidationError:
        pass  # perhaps only a lone surrogate, which the fast reader refuses
    try:
        plain = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "the body is not JSON") from None
    try:
        return ScoreRequest.model_validate(plain)
    except ValidationError as error:
        # Where and what, never the value itself: it may be a patient's.
        problems = [
            {"where": [str(part) for part in problem["loc"]], "problem": problem["msg"]}
            for problem in error.errors(include_url=False, include_input=False)[:20]
        ]
        raise Refused(422, "the request is not in the expected form", problems=problems) from None
