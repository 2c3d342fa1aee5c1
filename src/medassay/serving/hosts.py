"""The names under which the server answers: a page of another site must not reach it through a name of its own.

A browser lets a page speak to the host it came from. Whoever owns that name can have it lead to this machine (DNS
rebinding); the request then names a host that is not ours, and is refused. An address in place of a name cannot be
turned so.
"""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterable
from ipaddress import ip_address


def own_names(host: str, more: Iterable[str] = ()) -> frozenset[str]:
    """The names to answer to: this machine's, the one that is listened on, and more that were asked for."""
    names = {"localhost", host, socket.gethostname(), *more}
    return frozenset(name.lower().rstrip(".") for name in names if name)


def is_ours(header: bytes, names: Collection[str]) -> bool:
    """Whether the header `Host` holds one of the names, or an address; a port may follow.

    >>> [is_ours(host, {"localhost"}) for host in (b"localhost:8770", b"[::1]:80", b"10.0.0.7", b"evil.example", b"")]
    [True, True, True, False, False]
    """
    host = header.decode("latin-1").strip().lower()
    if host.startswith("["):
        name, closed, rest = host[1:].partition("]")
        port = rest.removeprefix(":")
        if not closed or (rest and not (rest.startswith(":") and port.isdigit())):
            return False
    else:
        name, _, port = host.partition(":")
        if port and not port.isdigit():
            return False
    return name.rstrip(".") in names or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
