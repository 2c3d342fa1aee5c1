"""The score server: its routes, requests and replies. OpenAPI at /openapi.json, a page at /docs."""

from __future__ import annotations

import gc
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from medassay import __version__
from medassay.engine.worker import GC_THRESHOLDS
from medassay.serving.batching import Batcher
from medassay.serving.docs_page import HEADERS, docs_page
from medassay.serving.hosts import is_allowed_host
from medassay.serving.limits import CONNECTIONS, Limits
from medassay.serving.scorer import Scorer
from medassay.serving.scoring import Receive, Scope, ScoreRequest, Scoring, Send

log = logging.getLogger("medassay.serve")

ABOUT = "Scores of machine-written medical text. For research and quality assurance, not for clinical decisions."


class Scored(BaseModel):
    """One metric's verdict on one text: a value, why the text has none, or how the metric failed on it."""

    value: float | None
    unscored: str | None
    failed: str | None
    parts: dict[str, float]


class Answer(BaseModel):
    """For each metric one verdict per text, in the order asked; and the signatures, which say what made the numbers."""

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


class App(FastAPI):
    """The application, with a short way to the scores: past the layers that serve the other pages."""

    scoring: Scoring
    hosts: frozenset[str] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and not self._is_asked_by_its_name(scope):
            message = "this server does not answer to that host name; start it with --allow-host NAME"
            await JSONResponse({"message": message}, 421)(scope, receive, send)
            return
        if scope["type"] == "http" and scope["path"] == "/score" and scope["method"] == "POST":
            answer = await self.scoring.answer(scope, receive)
            await answer(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    def _is_asked_by_its_name(self, scope: Scope) -> bool:
        return self.hosts is None or is_allowed_host(dict(scope["headers"]).get(b"host", b""), self.hosts)


def create_app(
    scorer: Scorer, limits: Limits | None = None, *, key: str | None = None, hosts: Iterable[str] | None = None
) -> FastAPI:
    """The application around a scorer, which it closes when it is stopped.

    Args:
        key: what clients must show.
        hosts: names under which it may be asked, beside plain addresses (`hosts.allowed_names`); None: any.
    """
    limits = limits or Limits()
    scoring = Scoring(scorer, limits, key)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        batcher = Batcher(scorer, capacity=limits.capacity, batch=limits.batch, batch_wait=limits.batch_wait)
        batcher.start()
        scoring.batcher = batcher
        yield
        await batcher.close()
        scorer.close()

    app = App(
        title="medassay scores", version=__version__, description=ABOUT, lifespan=life, docs_url=None, redoc_url=None
    )
    app.scoring = scoring
    app.hosts = None if hosts is None else frozenset(hosts)
    _routes(app, scorer, scoring)
    _errors(app)
    return app


def _routes(app: FastAPI, scorer: Scorer, scoring: Scoring) -> None:
    refused: dict[int | str, dict[str, Any]] = {
        400: {"description": "the body is not JSON, or was cut off"},
        408: {"description": "the request took too long to arrive"},
        413: {"description": "too many texts, or too many bytes"},
        415: {"description": "the body is not said to be JSON"},
        422: {"description": "the body is JSON of another form; where is said in detail"},
        429: {"description": "too much is waiting; Retry-After says when to ask again"},
        503: {"description": "too many connections, or the server is being stopped"},
    }
    if scoring.key is not None:
        refused[401] = {"description": "the key is missing or wrong"}

    asked = {"required": True, "content": {"application/json": {"schema": ScoreRequest.model_json_schema()}}}

    @app.post("/score", response_model=Answer, responses=refused, openapi_extra={"requestBody": asked})
    async def score(request: Request) -> Response:
        """Score a batch of texts with every metric of this server."""
        return await scoring.answer(request.scope, request.receive)

    described = [
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

    @app.get("/metrics")
    async def metrics() -> list[Described]:
        """The metrics that this server computes."""
        return described

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        known = [metric.model_dump() for metric in described]
        return HTMLResponse(docs_page(app.openapi(), known, key=scoring.key is not None), headers=HEADERS)

    @app.get("/health")
    async def health() -> JSONResponse:
        """Whether requests are taken, and how many cases and bytes wait or are being scored."""
        batcher = scoring.batcher
        answer = {
            "status": "closing" if batcher.closing else "ok",
            "version": __version__,
            "cases": batcher.taken,
            "room": batcher.capacity,
            "bytes": scoring.held.bytes,
        }
        return JSONResponse(answer, 503 if batcher.closing else 200)


def _errors(app: FastAPI) -> None:
    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        return JSONResponse({"message": str(error.detail)}, error.status_code)

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        log.error("%s failed: %s", request.url.path, type(error).__name__)  # no text, no value
        return JSONResponse({"message": "something went wrong on the server"}, 500)


def serve(app: FastAPI, host: str, port: int) -> None:
    """Serve until stopped; then finish what was accepted. Requests are not logged."""
    import uvicorn

    gc.freeze()  # what is loaded stays
    gc.set_threshold(*GC_THRESHOLDS)
    uvicorn.run(
        app,
        host=host,
        port=port,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        log_level="warning",
        timeout_keep_alive=30,
        limit_concurrency=CONNECTIONS,
    )
