"""The web application: its routes, errors as pages or JSON, and the server."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from medassay import __version__
from medassay.human.access import Access, load_key
from medassay.human.database import DatabaseGone
from medassay.human.events import Conflict
from medassay.human.store import Store
from medassay.human.study import Study
from medassay.human.web import annotator, coordinator, disagreements, sign_in
from medassay.human.web.context import FOLDER, PageError, StudyContext, visitor
from medassay.human.web.guard import Guard

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
GONE = "The study's database is gone. Nothing can be saved; tell the coordinator. Changes are kept in this browser."
log = logging.getLogger("medassay.serve")


def create_app(
    study: Study,
    *,
    store: Store | None = None,
    secret: str | Mapping[str, str] | None = None,
    hosts: Sequence[str] = (),
    public_url: str | None = None,
) -> FastAPI:
    """The pages of one study. `hosts`: names the server answers to besides the loopback ones and the
    public URL's; `public_url` starting with https:// makes cookies travel over TLS only."""
    known = [*LOOPBACK, *(bracketed(host) for host in hosts)]
    if public_url:
        known.append(bracketed(urlsplit(public_url).hostname or ""))
    app = FastAPI(title="medassay annotation", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    access = Access(load_key(study.key_path), secret)
    context = StudyContext(study, store or Store(study), access, public_url or "")
    app.state.context = context
    app.include_router(sign_in.router)
    app.include_router(annotator.router)
    app.include_router(coordinator.router)
    app.include_router(disagreements.router)
    app.mount("/static", StaticFiles(directory=FOLDER / "static"), name="static")
    app.add_middleware(Guard, hosts=known, secure=context.secure)
    _errors(app)
    return app


def bracketed(host: str) -> str:
    """A host as it stands in a URL: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def _errors(app: FastAPI) -> None:
    def answer(request: Request, status: int, text: str, **more: object) -> Response:
        if request.url.path.startswith("/api/"):
            return JSONResponse({"reason": text, **more}, status)
        context: StudyContext = request.app.state.context
        session = visitor(request)
        return context.page("message.html", session, status, code=status, text=text)

    @app.exception_handler(PageError)
    def stop(request: Request, error: PageError) -> Response:
        return answer(request, error.status, error.text)

    @app.exception_handler(Conflict)
    def conflict(request: Request, error: Conflict) -> Response:
        return answer(request, 409, f"Not recorded: {error}.")

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        # Where, never the value itself: it may be a patient's.
        where = " → ".join(str(part) for part in error.errors()[0]["loc"]) if error.errors() else ""
        return answer(request, 422, f"The request is not in the expected form ({where}).")

    @app.exception_handler(DatabaseGone)
    def gone(request: Request, error: DatabaseGone) -> Response:
        log.error("nothing can be saved: %s", error)
        if request.url.path.startswith("/api/"):
            return JSONResponse({"reason": GONE}, 503)
        return PlainTextResponse(GONE, 503)

    @app.exception_handler(HTTPException)
    def http(request: Request, error: HTTPException) -> Response:
        texts = {
            400: "The request could not be read.",
            404: "There is no such page.",
            405: "That cannot be done here.",
            408: "The request took too long.",
            413: "The request is too large.",
        }
        reply = answer(request, error.status_code, texts.get(error.status_code, "That did not work."))
        for key, value in (error.headers or {}).items():
            reply.headers[key] = value
        return reply


def serve(app: FastAPI, host: str, port: int, trusted_proxy: str | None = None) -> None:
    """Serve until interrupted. Requests are not logged: addresses and texts stay out of every log.

    `trusted_proxy` is the address of a reverse proxy whose `X-Forwarded-For` may be believed; without it the
    address of a client is the one the server sees.
    """
    import uvicorn

    from medassay.human.web.connections import TimedProtocol

    quiet = logging.getLogger("uvicorn.error")
    quiet.setLevel(logging.WARNING)
    quiet.addFilter(without_traceback)
    TimedProtocol.unlimited = frozenset([trusted_proxy] if trusted_proxy else [])
    uvicorn.run(
        app,
        host=host,
        port=port,
        http=TimedProtocol,
        ws="none",
        access_log=False,
        server_header=False,
        log_level="warning",
        timeout_keep_alive=30,
        proxy_headers=trusted_proxy is not None,
        forwarded_allow_ips=trusted_proxy,
    )


def without_traceback(record: logging.LogRecord) -> bool:
    """A log filter that keeps the type of an error only: its message and its local values may hold a text."""
    if record.exc_info:
        kind = record.exc_info[0]
        record.msg, record.args = "%s: %s", (record.getMessage().split("\n")[0], kind.__name__ if kind else "error")
        record.exc_info = record.exc_text = None
    return True
