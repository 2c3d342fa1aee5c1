"""What every page needs: the study, its store, templates, and the session of the request."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from medassay.human.access import Access, Links, RateLimiter, Session, constant_time_equal
from medassay.human.decisions import Decisions
from medassay.human.live import LiveAgreement, LiveDisagreements, LiveRatings
from medassay.human.people import current_links, ended_sessions
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
    pages.filters["when"] = lambda at: "–" if at is None else time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(at))
    pages.filters["minutes"] = lambda ms: f"{ms // 60_000} min" if ms >= 60_000 else f"{ms // 1000} s"
    return pages


@dataclass
class StudyContext:
    """One running study. Limits: wrong links and wrong secrets by address, saves by person.

    `public_url` is how people reach the pages, where that is not the address they are served on.
    """

    study: Study
    store: Store
    access: Access
    public_url: str = ""
    templates: Environment = field(default_factory=_templates)
    wrong_links: RateLimiter = field(default_factory=lambda: RateLimiter(rate=1 / 6, burst=10))
    wrong_secrets: RateLimiter = field(default_factory=lambda: RateLimiter(rate=1 / 6, burst=10))
    saves: RateLimiter = field(default_factory=lambda: RateLimiter(rate=20, burst=120))
    _known: tuple[float, Links, frozenset[str]] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.ratings = LiveRatings(self.store)
        self.agreement = LiveAgreement()
        self.disagreements = LiveDisagreements(self.store, self.ratings)
        self.decisions = Decisions(self.store)

    @property
    def secure(self) -> bool:
        """Whether the pages are reached over TLS, so that cookies must be, too."""
        return self.public_url.startswith("https://")

    def _people(self) -> tuple[float, Links, frozenset[str]]:
        """Valid links and ended sessions; read again every few seconds, because another process may change them."""
        with self._lock:
            if self._known is None or time.monotonic() - self._known[0] > 3:
                current = current_links(self.store)
                if not set(current.annotators) <= set(self.store.names):
                    self.store.reload()  # another process let somebody take over
                self._known = (time.monotonic(), current, ended_sessions(self.store))
            return self._known

    def links(self) -> Links:
        """How often each link was renewed."""
        return self._people()[1]

    def is_ended(self, session: Session) -> bool:
        """Whether the session was signed out."""
        return session.id in self._people()[2]

    def forget_people(self) -> None:
        """Read links and sessions anew at the next request: something was changed here."""
        with self._lock:
            self._known = None

    def labelled(self, text: str) -> str:
        """A sentence with the study's labels in place of the questions' names in braces."""
        for name, label in self.study.wording.labels.items():
            text = text.replace("{" + name + "}", label)
        return text

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
    """The session of the request, or None."""
    context = study_context(request)
    session = context.access.open(request.cookies.get(COOKIE), context.links())
    return None if session is None or context.is_ended(session) else session


def annotator(request: Request) -> Session:
    """The session of an annotator; anybody else is refused."""
    session = visitor(request)
    if session is None:
        raise PageError(401, "Please open your personal link to sign in.")
    if session.is_coordinator:
        raise PageError(403, "You are signed in as the coordinator. Open an annotator's link to annotate.")
    return session


def coordinator(request: Request) -> Session:
    """The session of a coordinator; anybody else is refused."""
    session = visitor(request)
    if session is None:
        raise PageError(401, "Please sign in as the coordinator.")
    if not session.is_coordinator:
        raise PageError(403, "This page is for the coordinator.")
    return session


def check_origin(request: Request) -> None:
    """Refuse a change that was sent from a page of another site."""
    origin = request.headers.get("origin")
    # A proxy may ask for us by another name than people do.
    known = (request.headers.get("host", ""), urlsplit(study_context(request).public_url).netloc)
    if origin and urlsplit(origin).netloc not in known:
        raise PageError(403, "This change was sent from another site.")


def check_csrf(request: Request, session: Session, token: str) -> None:
    """Refuse a change without this session's token."""
    check_origin(request)
    if not constant_time_equal(study_context(request).access.csrf(session), token):
        raise PageError(403, "This page is out of date. Reload it and try again.")


Context = Annotated[StudyContext, Depends(study_context)]
Annotator = Annotated[Session, Depends(annotator)]
Coordinator = Annotated[Session, Depends(coordinator)]
