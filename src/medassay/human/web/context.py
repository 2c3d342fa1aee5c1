"""What every page needs: the study, its store, access, templates; and who is asking."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from medassay.human.access import Access, Limiter, Session, same
from medassay.human.store import Store
from medassay.human.study import Study

COOKIE = "medassay_session"
FOLDER = Path(__file__).parent


class PageError(Exception):
    """The request is refused with this status, and this sentence for the person."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


def _templates() -> Environment:
    pages = Environment(
        loader=FileSystemLoader(FOLDER / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    pages.filters["score"] = lambda value: "–" if value is None or value != value else f"{value:.2f}"
    pages.filters["brief"] = lambda value: "–" if value is None else f"{value:.3g}"
    pages.filters["letter"] = lambda slot: chr(64 + int(slot))
    pages.filters["minutes"] = lambda ms: f"{ms // 60_000} min" if ms >= 60_000 else f"{ms // 1000} s"
    return pages


@dataclass
class StudyContext:
    """One running study. Limits: failed sign-ins by address, saves by person.

    `public_url` is how people reach the pages, where that is not the address they are served on.
    """

    study: Study
    store: Store
    access: Access
    public_url: str = ""
    templates: Environment = field(default_factory=_templates)
    failures: Limiter = field(default_factory=lambda: Limiter(rate=1 / 6, burst=10))
    saves: Limiter = field(default_factory=lambda: Limiter(rate=20, burst=120))
    _numbers: tuple[float, Mapping[str, int]] = (0.0, {})
    _turn: threading.Lock = field(default_factory=threading.Lock)

    @property
    def secure(self) -> bool:
        """Whether the pages are reached over TLS, so that cookies must be, too."""
        return self.public_url.startswith("https://")

    def link_numbers(self) -> Mapping[str, int]:
        """How often each link was renewed; read anew every few seconds, so that a renewal made by another
        process takes hold."""
        with self._turn:
            read_at, numbers = self._numbers
            if time.monotonic() - read_at > 3 or not numbers:
                numbers = self.store.link_numbers()
                self._numbers = (time.monotonic(), numbers)
            return numbers

    def page(self, name: str, session: Session | None, status: int = 200, **values: Any) -> HTMLResponse:
        """A page from a template; every value is escaped."""
        known = {
            "study": self.study,
            "wording": self.study.wording,
            "session": session,
            "csrf": self.access.csrf(session) if session else "",
        }
        return HTMLResponse(self.templates.get_template(name).render(**known, **values), status)

    def sign_in(self, response: Response, session: Session) -> Response:
        """Give the browser its signed cookie."""
        response.set_cookie(
            COOKIE, self.access.seal(session), max_age=14 * 86_400, httponly=True, samesite="lax", secure=self.secure
        )
        return response


def study_context(request: Request) -> StudyContext:
    """The running study."""
    context: StudyContext = request.app.state.context
    return context


def visitor(request: Request) -> Session | None:
    """Who is asking, or None."""
    context = study_context(request)
    return context.access.open(request.cookies.get(COOKIE), context.link_numbers())


def annotator(request: Request) -> Session:
    """The annotator who is asking; nobody else gets through."""
    session = visitor(request)
    if session is None:
        raise PageError(401, "Please open your personal link to sign in.")
    if session.is_coordinator:
        raise PageError(403, "You are signed in as the coordinator. Open an annotator's link to annotate.")
    return session


def coordinator(request: Request) -> Session:
    """The coordinator; nobody else gets through."""
    session = visitor(request)
    if session is None:
        raise PageError(401, "Please sign in as the coordinator.")
    if not session.is_coordinator:
        raise PageError(403, "This page is for the coordinator.")
    return session


def check_origin(request: Request) -> None:
    """A browser says where a change comes from; anywhere but here is refused."""
    origin = request.headers.get("origin")
    # A proxy may ask for us by another name than people do.
    known = (request.headers.get("host", ""), urlsplit(study_context(request).public_url).netloc)
    if origin and urlsplit(origin).netloc not in known:
        raise PageError(403, "This change was sent from another site.")


def check_csrf(request: Request, session: Session, token: str) -> None:
    """Refuses a change that does not carry this session's token."""
    check_origin(request)
    if not same(study_context(request).access.csrf(session), token):
        raise PageError(403, "This page is out of date. Reload it and try again.")


Context = Annotated[StudyContext, Depends(study_context)]
Annotator = Annotated[Session, Depends(annotator)]
Coordinator = Annotated[Session, Depends(coordinator)]
