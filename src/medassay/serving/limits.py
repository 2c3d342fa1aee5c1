"""Limits of the score server in cases, bytes and time, and the count of bytes in memory."""

from __future__ import annotations

from dataclasses import dataclass

CONNECTIONS = 900
"""Open at once; more are answered 503. Below the 1,024 files that a process commonly may have open."""


@dataclass(frozen=True)
class Limits:
    """What the server accepts.

    capacity: cases waiting or being scored. batch: cases scored together. batch_wait: seconds that a batch which is
    not full waits for more. request: cases in one request. references: references in one request. body: bytes of one
    request. held: bytes of all requests and answers in memory. arrival_seconds: time in which a request must arrive.
    """

    capacity: int = 8192
    batch: int = 256
    batch_wait: float = 0.005
    request: int = 2048
    references: int = 16_384
    body: int = 32 * 2**20
    held: int = 256 * 2**20
    arrival_seconds: float = 60.0


class MemoryBudget:
    """Bytes of requests and answers in memory, of all clients together. most: the largest number allowed."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.bytes = 0


class Lease:
    """One request's share of the memory budget."""

    __slots__ = ("bytes", "held")

    def __init__(self, held: MemoryBudget) -> None:
        self.held, self.bytes = held, 0

    def fits(self, size: int) -> bool:
        """Whether this request may hold so many bytes; where it is the only one it may."""
        others = self.held.bytes - self.bytes
        return others + size <= self.held.most or not others

    def resize(self, size: int) -> None:
        """Hold so many bytes from now on."""
        self.held.bytes += size - self.bytes
        self.bytes = size
