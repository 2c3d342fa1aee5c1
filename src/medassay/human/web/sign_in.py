"""Signing in and out: personal links, the coordinator's typed secret."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Path, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from medassay.human.access import COORDINATOR
from medassay.human.people import end_session
from medassay.human.web.context import COOKIE, Context, PageError, check_csrf, check_origin, visitor

router = APIRouter()

Token = Annotated[str, Path(min_length=10, max_length=100, pattern=r"^[A-Za-z0-9_-]+$")]


@router.get("/", response_class=HTMLResponse)
def home(request: Request, context: Context) -> Response:
    """Where people are sent who only know the address."""
    session = visitor(request)
    if session is None:
        return context.page("welcome.html", None)
    return RedirectResponse("/coordinator" if session.is_coordinator else "/tasks", 303)


@router.get("/health", response_class=PlainTextResponse, responses={503: {}})
def health(context: Context) -> str:
    """For whoever watches the server: 503 where the database is gone."""
    context.store.database.check()
    return "ok"


def _address(request: Request) -> str:
    return request.client.host if request.client else "unknown"


@router.get("/enter/{token}", response_class=HTMLResponse, responses={401: {}, 429: {}})
def enter(request: Request, context: Context, token: Token) -> Response:
    """A personal link: signs in and hides the secret from the address bar at once."""
    session = context.access.enter(token, context.links())
    if session is None:
        # Only wrong links are limited: nobody who has a good one can be kept out by those who guess.
        if not context.wrong_links.take(_address(request)):
            raise PageError(429, "Too many wrong links from your address. Wait a minute and try again.")
        raise PageError(401, "This link is not valid (any more). Ask the coordinator for a new one.")
    target = "/coordinator" if session.is_coordinator else "/tasks"
    return context.sign_in(RedirectResponse(target, 303), session)


@router.post("/coordinator/enter", response_class=HTMLResponse, responses={401: {}, 403: {}, 429: {}})
def enter_with_secret(
    request: Request,
    context: Context,
    secret: Annotated[str, Form(min_length=1, max_length=200)],
    name: Annotated[str, Form(max_length=64)] = COORDINATOR,
) -> Response:
    """A coordinator types the secret the server was started with."""
    check_origin(request)
    if context.wrong_secrets.exhausted(_address(request)):
        raise PageError(429, "Too many wrong secrets from your address. Wait a minute and try again.")
    session = context.access.enter_with_secret(secret, context.links(), name)
    if session is None:
        context.wrong_secrets.take(_address(request))
        raise PageError(401, "That is not the secret.")
    return context.sign_in(RedirectResponse("/coordinator", 303), session)


@router.post("/leave", response_class=HTMLResponse, responses={403: {}})
def leave(request: Request, context: Context, csrf: Annotated[str, Form(max_length=100)]) -> Response:
    """Sign out: the session ends on the server, too, whoever may have a copy of its cookie."""
    session = visitor(request)
    if session is not None:
        check_csrf(request, session, csrf)
        end_session(context.store, session.id)
        context.forget_people()
    response = RedirectResponse("/", 303)
    response.delete_cookie(COOKIE, httponly=True, samesite="lax", secure=context.secure)
    return response
