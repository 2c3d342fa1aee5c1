"""The door: secret links in, sign-out, the coordinator's typed secret."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Path, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from medassay.human.web.room import COOKIE, RoomHere, Stop, check_csrf, check_origin, visitor

router = APIRouter()

Token = Annotated[str, Path(min_length=10, max_length=100, pattern=r"^[A-Za-z0-9_-]+$")]


@router.get("/", response_class=HTMLResponse)
def home(request: Request, here: RoomHere) -> Response:
    """Where people are sent who only know the address."""
    session = visitor(request)
    if session is None:
        return here.page("welcome.html", None)
    return RedirectResponse("/coordinator" if session.is_coordinator else "/tasks", 303)


@router.get("/health", response_class=PlainTextResponse)
def health() -> str:
    """For whoever watches the server."""
    return "ok"


def _address(request: Request) -> str:
    return request.client.host if request.client else "unknown"


@router.get("/enter/{token}", response_class=HTMLResponse, responses={401: {}, 429: {}})
def enter(request: Request, here: RoomHere, token: Token) -> Response:
    """A personal link: signs in and hides the secret from the address bar at once."""
    if here.failures.exhausted(_address(request)):
        raise Stop(429, "Too many wrong links from your address. Wait a minute and try again.")
    session = here.access.enter(token, here.link_numbers())
    if session is None:
        here.failures.take(_address(request))
        raise Stop(401, "This link is not valid (any more). Ask the coordinator for a new one.")
    target = "/coordinator" if session.is_coordinator else "/tasks"
    return here.sign_in(RedirectResponse(target, 303), session)


@router.post("/coordinator/enter", response_class=HTMLResponse, responses={401: {}, 403: {}, 429: {}})
def enter_with_secret(
    request: Request, here: RoomHere, secret: Annotated[str, Form(min_length=1, max_length=200)]
) -> Response:
    """The coordinator types the secret the server was started with."""
    check_origin(request)
    if here.failures.exhausted(_address(request)):
        raise Stop(429, "Too many wrong secrets from your address. Wait a minute and try again.")
    session = here.access.enter_with_secret(secret)
    if session is None:
        here.failures.take(_address(request))
        raise Stop(401, "That is not the secret.")
    return here.sign_in(RedirectResponse("/coordinator", 303), session)


@router.post("/leave", response_class=HTMLResponse, responses={403: {}})
def leave(request: Request, here: RoomHere, csrf: Annotated[str, Form(max_length=100)]) -> Response:
    """Sign out on this device."""
    session = visitor(request)
    if session is not None:
        check_csrf(request, session, csrf)
    response = RedirectResponse("/", 303)
    response.delete_cookie(COOKIE, httponly=True, samesite="lax", secure=here.secure)
    return response
