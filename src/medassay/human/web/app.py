"""The application: routes put together, errors as pages or JSON, and how it is served."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from medassay import __version__
from medassay.human.access import Access, load_key
from medassay.human.store import Conflict, Store
from medassay.human.study import Study
from medassay.human.web import annotator, coordinator, sign_in
from medassay.human.web.context import FOLDER, PageError, StudyContext, visitor
from medassay.human.web.guard import Guard

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
log = logging.getLogger("medassay.serve")


def create_app(
    study: Study,
    *,
    store: Store | None = None,
    secret: str | None = None,
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
            return JSONResponse({"message": text, **more}, status)
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
        # Where and what, never the value itself: it may be a patient's.
        found = [{"where": [str(p) for p in one["loc"]], "problem": one["msg"]} for one in error.errors()]
        return answer(request, 422, "The request is not in the expected form.", problems=found)

    @app.exception_handler(HTTPException)
    def http(request: Request, error: HTTPException) -> Response:
        texts = {
            400: "The request could not be read.",
            404: "There is no such page.",
            405: "That cannot be done here.",
            413: "The request is too large.",
        }
        reply = answer(request, error.status_code, texts.get(error.status_code, "That did not work."))
        for key, value in (error.headers or {}).items():
            reply.headers[key] = value
        return reply

    @app.exception_handler(Exception)
    def broken(request: Request, error: Exception) -> Response:
        # The route and the kind of error; no path, no body, no value.
        route = getattr(request.scope.get("route"), "path", "?")
        log.error("%s %s failed: %s", request.method, route, type(error).__name__)
        return answer(request, 500, "Something went wrong on the server. Your last change may not be saved.")


def serve(app: FastAPI, host: str, port: int) -> None:
    """Serve until interrupted. Requests are not logged: addresses and texts stay out of every log."""
    import uvicorn

    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    uvicorn.run(
        app, host=host, port=port, access_log=False, server_header=False, log_level="warning", timeout_keep_alive=30
    )
