"""Limits on connections: a deadline for each request, and a number of connections per address."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 15.0
"""From the first byte of a request, or from the connection, until its head is complete."""
REPLY_SECONDS = 60.0
"""For a client to take in what is waiting to be sent."""
MAX_CONNECTIONS = 1000
MAX_PER_PEER = 200
"""A hospital's network may reach the server from one address; a proxy always does."""


class TimedProtocol(H11Protocol):
    """HTTP/1.1 with a deadline for the head of every request: a connection that sends nothing, or a byte now
    and then, is closed, and so is one that does not take in its reply. Bodies have a deadline in the guard."""

    request_seconds = REQUEST_SECONDS
    reply_seconds = REPLY_SECONDS
    max_connections = MAX_CONNECTIONS
    max_per_peer = MAX_PER_PEER
    unlimited: frozenset[str] = frozenset()
    """Addresses of trusted proxies, which bring many people over one address."""
    peers: ClassVar[Counter[str]] = Counter()
    _deadline: asyncio.TimerHandle | None = None
    _blocked: asyncio.TimerHandle | None = None
    _peer: str | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or close it where there are too many."""
        super().connection_made(transport)
        peer = self.client[0] if self.client else ""
        many = self.peers[peer] >= self.max_per_peer and peer not in self.unlimited
        if many or len(self.connections) > self.max_connections:
            transport.abort()
            return
        self._peer = peer
        self.peers[peer] += 1
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_clock()
        self.resume_writing()
        if self._peer is not None:
            self.peers[self._peer] -= 1
            if not self.peers[self._peer]:
                del self.peers[self._peer]
            self._peer = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in bytes; the clock runs while the head of a request is incomplete, and further bytes do not
        set it back."""
        if self._deadline is None and not self._is_answering():
            self._start_clock()
        super().data_received(data)
        if self._is_answering():
            self._stop_clock()

    def on_response_complete(self) -> None:
        """The next request has a clock of its own; between requests the keep-alive time counts."""
        self._stop_clock()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """The client does not read; it has a limited time to begin."""
        super().pause_writing()
        self._blocked = self._blocked or self.loop.call_later(self.reply_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        if self._blocked is not None:
            self._blocked.cancel()
            self._blocked = None

    def timeout_keep_alive_handler(self) -> None:
        """Idle for too long: what the client has not taken in by now is dropped."""
        self.transport.abort()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _start_clock(self) -> None:
        self._deadline = self.loop.call_later(self.request_seconds, self.transport.abort)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
