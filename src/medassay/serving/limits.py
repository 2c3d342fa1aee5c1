"""Bodies of bounded size: a request that is too large is refused before it is read whole."""

from __future__ import annotations

import json
from typing import Any

Scope = dict[str, Any]


class BodyLimit:
    """Refuses bodies of more than `most` bytes, announced or not."""

    def __init__(self, app: Any, most: int) -> None:
        self.app, self.most = app, most

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        announced = next((v for k, v in scope["headers"] if k == b"content-length"), b"0")
        if announced.isdigit() and int(announced) > self.most:
            await self._refuse(send)
            return
        seen, refused, begun = 0, False, False

        async def counted() -> Any:
            nonlocal seen, refused
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.most:
                refused = True
                return {"type": "http.disconnect"}
            return message

        async def watched(message: Any) -> None:
            nonlocal begun
            if refused:  # whatever the application makes of a body that was cut off
                return
            begun = True
            await send(message)

        try:
            await self.app(scope, counted, watched)
        except Exception:
            if not refused:
                raise
        if refused and not begun:
            await self._refuse(send)

    async def _refuse(self, send: Any) -> None:
        text = json.dumps({"message": f"the request is larger than {self.most:,} bytes; send several"}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode())]
        await send({"type": "http.response.start", "status": 413, "headers": [*headers, (b"connection", b"close")]})
        await send({"type": "http.response.body", "body": text})
