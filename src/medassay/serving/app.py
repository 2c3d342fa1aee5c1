"""The application: what is asked, what is answered, and how it is served. OpenAPI at /openapi.json, pages at /docs."""

from __future__ import annotations

import hmac
import json
import logging
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException

from medassay import __version__
from medassay.cases import Case, clean
from medassay.errors import InputError, MedassayError
from medassay.scorer import Scorer
from medassay.serving.batching import Batcher, Closing, Overloaded
from medassay.serving.limits import BodyLimit

log = logging.getLogger("medassay.serve")

ABOUT = "Scores of machine-written medical text. For research and quality assurance, not for clinical decisions."


@dataclass(frozen=True)
class Limits:
    """What the server takes on. room: cases waiting or under way; request: cases in one request; body: bytes."""

    room: int = 8192
    batch: int = 256
    patience: float = 0.005
    request: int = 2048
    body: int = 32 * 2**20


class Ask(BaseModel):
    """Texts to score: lists of equal length."""

    model_config = ConfigDict(extra="forbid")

    candidates: Annotated[list[str], Field(min_length=1, description="The texts to be judged.")]
    references: Annotated[
        list[str | list[str] | None] | None, Field(description="What each is judged against; a list for several.")
    ] = None
    sources: Annotated[list[str | None] | None, Field(description="What each was written from.")] = None


class Scored(BaseModel):
    """One metric's verdict on one text: a value, or the reason there is none."""

    value: float | None
    unscored: str | None
    parts: dict[str, float]


class Answer(BaseModel):
    """For each metric a verdict a text, in the order asked; and the signatures, which say what made the numbers."""

    scores: dict[str, list[Scored]]
    signatures: dict[str, str]


class Described(BaseModel):
    """A metric that this server computes."""

    name: str
    summary: str
    needs: list[str]
    parts: list[str]
    higher_is_better: bool
    bounds: tuple[float | None, float | None]
    signature: str


def create_app(scorer: Scorer, limits: Limits | None = None, *, key: str | None = None) -> FastAPI:
    """The application around a scorer, which it closes when it is stopped. key: what clients must show."""
    limits = limits or Limits()

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        batcher = Batcher(scorer, room=limits.room, batch=limits.batch, patience=limits.patience)
        batcher.start()
        app.state.batcher = batcher
        yield
        await batcher.close()
        scorer.close()

    app = FastAPI(title="medassay scores", version=__version__, description=ABOUT, lifespan=life)
    app.add_middleware(BodyLimit, most=limits.body)
    _routes(app, scorer, limits, key)
    _errors(app)
    return app


def _routes(app: FastAPI, scorer: Scorer, limits: Limits, key: str | None) -> None:
    signatures = {metric.name: str(metric.signature) for metric in scorer.metrics}
    refused: dict[int | str, dict[str, Any]] = {
        400: {"description": "the body is not JSON"},
        413: {"description": "too many texts, or too many bytes"},
        415: {"description": "the body is not said to be JSON"},
        422: {"description": "the body is JSON of another form; where is said in detail"},
        429: {"description": "too many cases are waiting; Retry-After says when to ask again"},
        503: {"description": "the server is being stopped"},
    }
    if key is not None:
        refused[401] = {"description": "the key is missing or wrong"}

    asked = {"required": True, "content": {"application/json": {"schema": Ask.model_json_schema()}}}

    @app.post("/score", response_model=Answer, responses=refused, openapi_extra={"requestBody": asked})
    async def score(request: Request) -> Response:
        """Score a batch of texts with every metric of this server."""
        if key is not None and not _shows(request, key):
            raise HTTPException(401, "the header Authorization: Bearer KEY is missing or wrong")
        cases = _cases(await _read(request), limits.request)
        batcher: Batcher = request.app.state.batcher
        found = await batcher.score(cases)
        told = {
            name: [{"value": s.value, "unscored": s.unscored, "parts": dict(s.parts)} for s in scores]
            for name, scores in found.items()
        }
        return Response(to_json({"scores": told, "signatures": signatures}), media_type="application/json")

    @app.get("/metrics")
    async def metrics() -> list[Described]:
        """The metrics that this server computes."""
        return [
            Described(
                name=metric.name,
                summary=metric.summary,
                needs=sorted(metric.needs),
                parts=list(metric.parts),
                higher_is_better=metric.higher_is_better,
                bounds=metric.bounds,
                signature=str(metric.signature),
            )
            for metric in scorer.metrics
        ]

    @app.get("/health")
    async def health(request: Request) -> JSONResponse:
        """Whether requests are taken, and how many cases wait or are being scored."""
        batcher: Batcher = request.app.state.batcher
        state = "closing" if batcher.closing else "ok"
        told = {"status": state, "version": __version__, "cases": batcher.taken, "room": limits.room}
        return JSONResponse(told, 503 if batcher.closing else 200)


async def _read(request: Request) -> Ask:
    """The body, checked. Here and not by the framework: for small texts reading and writing JSON is half the cost."""
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise HTTPException(415, "the body must be JSON, with content-type: application/json")
    body = await request.body()
    try:
        return Ask.model_validate_json(body)
    except ValidationError:
        pass  # perhaps only a lone surrogate, which the fast reader refuses
    try:
        plain = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not JSON") from None
    try:
        return Ask.model_validate(plain)
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False, include_input=False)) from None


def _shows(request: Request, key: str) -> bool:
    shown = request.headers.get("authorization", "").removeprefix("Bearer ")
    return hmac.compare_digest(shown.encode(), key.encode())


def _cases(ask: Ask, most: int) -> list[Case]:
    """The request's cases; as in a file, control characters become spaces."""
    number = len(ask.candidates)
    if number > most:
        raise HTTPException(413, f"{number:,} texts in one request; the limit is {most:,}. Send several requests")
    for what, values in (("references", ask.references), ("sources", ask.sources)):
        if values is not None and len(values) != number:
            raise HTTPException(422, f"{number} candidates but {len(values)} {what}")
    return [
        Case(
            str(i + 1),
            clean(ask.candidates[i]),
            _references(ask.references[i] if ask.references is not None else None),
            clean(ask.sources[i] or "") or None if ask.sources is not None else None,
            row=i + 1,
        )
        for i in range(number)
    ]


def _references(given: str | Sequence[str] | None) -> tuple[str, ...]:
    many = [given] if isinstance(given, str) else given or []
    return tuple(clean(text) for text in many if text.strip())


def _errors(app: FastAPI) -> None:
    def answer(status: int, text: str, after: int | None = None, **more: Any) -> JSONResponse:
        headers = {"Retry-After": str(after)} if after is not None else None
        return JSONResponse({"message": text, **more}, status, headers)

    @app.exception_handler(Overloaded)
    async def overloaded(request: Request, error: Overloaded) -> Response:
        return answer(429, str(error), error.after)

    @app.exception_handler(Closing)
    async def closing(request: Request, error: Closing) -> Response:
        return answer(503, "the server is being stopped", 10)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        # Where and what, never the value itself: it may be a patient's.
        found = [{"where": [str(p) for p in one["loc"]], "problem": one["msg"]} for one in error.errors()[:20]]
        return answer(422, "the request is not in the expected form", problems=found)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        return answer(error.status_code, str(error.detail))

    @app.exception_handler(MedassayError)
    async def told(request: Request, error: MedassayError) -> Response:
        log.error("%s", error)
        return answer(500, str(error))

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        log.error("%s failed: %s", request.url.path, type(error).__name__)  # no text, no value
        return answer(500, "something went wrong on the server")


def serve(app: FastAPI, host: str, port: int) -> None:
    """Serve until stopped; then finish what was accepted. Requests are not logged."""
    import uvicorn

    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(
                f"cannot listen on {host}, port {port} ({error.strerror}); choose another --port"
            ) from error
    uvicorn.run(
        app, host=host, port=port, access_log=False, server_header=False, log_level="warning", timeout_keep_alive=30
    )
