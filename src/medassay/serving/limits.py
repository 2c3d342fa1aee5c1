"""What the server takes on at once, in cases, in bytes and in time; and the bytes that it holds, counted."""

from __future__ import annotations

from dataclasses import dataclass

CONNECTIONS = 900
"""Open at once; more are answered 503. Below the 1,024 files that a process commonly may have open."""


@dataclass(frozen=True)
class Limits:
    """What the server takes on.

    room: cases waiting or under way. batch: cases scored together. patience: seconds that a batch which is not full
    waits for more. request: cases in one request. references: references in one request. body: bytes of one request.
    held: bytes of all requests and answers in memory. slowest: seconds that a request may take to arrive.
    """

    room: int = 8192
    batch: int = 256
    patience: float = 0.005
    request: int = 2048
    references: int = 16_384
    body: int = 32 * 2**20
    held: int = 256 * 2**20
    slowest: float = 60.0


class HeldBytes:
    """Bytes of requests and answers in memory, of all clients together. most: where it ends."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.bytes = 0


class Lease:
    """One request's share of what is held."""

    __slots__ = ("bytes", "held")

    def __init__(self, held: HeldBytes) -> None:
        self.held, self.bytes = held, 0

    def fits(self, size: int) -> bool:
        """Whether this request may hold so many bytes; where it is the only one it may."""
        others = self.held.bytes - self.bytes
        return others + size <= self.held.most or not others

    def resize(self, size: int) -> None:
        """Hold so many bytes from now on."""
        self.held.bytes += size - self.bytes
        self.bytes = size
