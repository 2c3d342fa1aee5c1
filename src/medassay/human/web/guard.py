"""Middleware around every request: known hosts only, limits on size and time, strict headers on every reply, and
logs without any text."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from starlette.exceptions import HTTPException

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_BODY = 64 * 1024
"""Bytes; the largest honest request is a comment of 4,000 characters."""
BODY_SECONDS = 15.0
"""From the head of a request until its body is complete."""
BROKEN = "Something went wrong on the server. Your last change may not be saved."
log = logging.getLogger("medassay.serve")

# No inline script or style, nothing from elsewhere, no frame around us: a report that holds markup
# could not run it even if it were not escaped.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class Guard:
    """ASGI middleware. `hosts` are the names under which the pages may be asked for (a defence against
    DNS rebinding); `secure` adds HSTS where the pages are served over HTTPS."""

    def __init__(self, app: App, hosts: Iterable[str], secure: bool) -> None:
        self.app = app
        self.hosts = {host.lower() for host in hosts}
        self.headers = dict(HEADERS)
        if secure:
            self.headers["strict-transport-security"] = "max-age=31536000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        asked = dict(scope["headers"])
        host = asked.get(b"host", b"").decode("latin-1").lower()
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        static = scope["path"].startswith("/static/")

        async def reply(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {key.lower() for key, _ in message["headers"]}
                extra = {**self.headers, "cache-control": "max-age=300" if static else "no-store"}
                message["headers"] = [
                    *message["headers"],
                    *((k.encode(), v.encode()) for k, v in extra.items() if k.encode() not in present),
                ]
            await send(message)

        if name not in self.hosts:
            await _plain(reply, 421, "This server does not answer to that host name.")
            return
        length = asked.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > MAX_BODY:
            await _plain(reply, 413, f"A request may hold at most {MAX_BODY} bytes.")
            return
        await self._limited(scope, receive, reply)

    async def _limited(self, scope: Scope, receive: Receive, reply: Send) -> None:
        """A body sent in pieces has no length to check beforehand: it is counted, and timed, as it comes in."""
        taken = 0
        started = False
        complete = False
        deadline = asyncio.get_running_loop().time() + BODY_SECONDS

        async def counted() -> Message:
            nonlocal taken, complete
            if complete:
                return await receive()  # waits for the client to go away
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408) from None
            taken += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if taken > MAX_BODY:
                raise HTTPException(413)  # the one exception that FastAPI lets through while it reads
            return message

        async def noted(message: Message) -> None:
            nonlocal started
            started = True
            await reply(message)

        try:
            await self.app(scope, counted, noted)
        except Exception as error:
            # The route and the kind of error; no path, no body, no value, no traceback: each may hold a text.
            route = getattr(scope.get("route"), "path", "?")
            log.error("%s %s failed: %s", scope.get("method", "?"), route, type(error).__name__)
            if not started:
                await _broken(reply, scope["path"])


async def _broken(send: Send, path: str) -> None:
    if path.startswith("/api/"):
        await _send(send, 500, json.dumps({"reason": BROKEN}).encode(), b"application/json")
    else:
        await _plain(send, 500, BROKEN)


async def _plain(send: Send, status: int, text: str) -> None:
    await _send(send, status, text.encode(), b"text/plain; charset=utf-8")


async def _send(send: Send, status: int, body: bytes, kind: bytes) -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
