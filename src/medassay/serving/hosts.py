"""The host names that the server answers to, as a protection against DNS rebinding.

A browser lets a page send requests to the host that it came from, and the owner of that name can let it resolve to
this machine. Such a request names a host that is not allowed, and is refused. Addresses are allowed, because they
cannot be redirected in this way.
"""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterable
from ipaddress import ip_address


def allowed_names(host: str, more: Iterable[str] = ()) -> frozenset[str]:
    """The names to answer to: this machine's, the one that is listened on, and more that were asked for."""
    names = {"localhost", host, socket.gethostname(), *more}
    return frozenset(name.lower().rstrip(".") for name in names if name)


def is_allowed_host(header: bytes, names: Collection[str]) -> bool:
    """Whether the header `Host` holds one of the names, or an address; a port may follow.

    >>> [is_allowed_host(host, {"localhost"}) for host in (b"localhost:80", b"[::1]:80", b"10.0.0.7", b"evil.example")]
    [True, True, True, False]
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
