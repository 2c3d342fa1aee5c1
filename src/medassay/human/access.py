"""Access control: secret links, signed sessions, CSRF tokens, and rate limits.

One secret key lies beside the study file (mode 600). Every link is a keyed hash of a name, so that
links can be shown again without being stored; every comparison takes constant time.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from medassay.errors import InputError

COORDINATOR = "coordinator"
SESSION_SECONDS = 14 * 24 * 3600
MIN_SECRET = 16
"""Characters a coordinator's own secret must have at least."""


def load_key(path: Path) -> bytes:
    """The study's key; made on first use, readable by its owner only."""
    try:
        fresh = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        text = path.read_text(encoding="ascii", errors="replace").strip()
        if len(text) < 43:
            raise InputError(f"{path}: not a key of this program; delete it to make new links") from None
        return text.encode()
    except OSError as error:
        raise InputError(f"{path}: the key cannot be written ({error.strerror})") from error
    key = secrets.token_urlsafe(32)
    with os.fdopen(fresh, "w", encoding="ascii") as stream:
        stream.write(key + "\n")
    return key.encode()


def _tag(key: bytes, *parts: str) -> str:
    message = "\0".join(parts).encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(hmac.digest(key, message, "sha256")).decode().rstrip("=")


def constant_time_equal(left: str, right: str) -> bool:
    """Equality in constant time, whatever the characters."""
    return hmac.compare_digest(left.encode("utf-8", "replace"), right.encode("utf-8", "replace"))


def ordering_key(key: bytes) -> bytes:
    """What ids of tasks and orders of texts are keyed with; links cannot be computed from it."""
    return hashlib.sha256(b"ordering" + key).digest()


@dataclass(frozen=True, slots=True)
class Session:
    """Who is signed in, with the number of the link that opened the session and an id of its own."""

    name: str
    link: int
    is_coordinator: bool = False
    id: str = ""


@dataclass(frozen=True, slots=True)
class Links:
    """How often the link of each annotator and of each coordinator has been renewed."""

    annotators: Mapping[str, int]
    coordinators: Mapping[str, int]


class Access:
    """Makes and checks links, sessions and CSRF tokens for one study.

    `secret` is what coordinators type to sign in; with it, no coordinator link exists. It is one secret for
    all, or a secret for each name.
    """

    def __init__(self, key: bytes, secret: str | Mapping[str, str] | None = None) -> None:
        for text in [secret] if isinstance(secret, str) else (secret or {}).values():
            if len(text) < MIN_SECRET:
                raise InputError(f"the coordinator's secret has {len(text)} characters; at least {MIN_SECRET}")
        self._links = hashlib.sha256(b"links" + key).digest()
        self._sessions = hashlib.sha256(b"sessions" + key).digest()
        self._secret = secret

    @property
    def uses_secret(self) -> bool:
        """Whether coordinators sign in with a secret, not with a link."""
        return self._secret is not None

    def link(self, name: str, number: int) -> str:
        """The secret part of an annotator's link."""
        return _tag(self._links, "annotator", name, str(number))

    def coordinator_link(self, name: str = COORDINATOR, number: int = 0) -> str | None:
        """The secret part of a coordinator's link; None where there is a typed secret instead."""
        if self._secret is not None:
            return None
        # The first link of the coordinator without a name is that of version 0.1.
        own = () if (name, number) == (COORDINATOR, 0) else (name, str(number))
        return _tag(self._links, COORDINATOR, *own)

    def enter(self, token: str, links: Links) -> Session | None:
        """The session a link opens, or None. Every known link is compared, found or not."""
        session: Session | None = None
        for name, number in links.annotators.items():
            if constant_time_equal(self.link(name, number), token):
                session = self._session(name, number, False)
        for name, number in links.coordinators.items():
            own = self.coordinator_link(name, number)
            if own is not None and constant_time_equal(own, token):
                session = self._session(name, number, True)
        return session

    def enter_with_secret(self, typed: str, links: Links, name: str = COORDINATOR) -> Session | None:
        """The coordinator's session, where the typed secret is right."""
        expected = self._secret_of(name)
        if expected is None or not constant_time_equal(expected, typed) or name not in links.coordinators:
            return None
        return self._session(name, links.coordinators[name], True)

    def _secret_of(self, name: str) -> str | None:
        return self._secret if isinstance(self._secret, str) else (self._secret or {}).get(name)

    def _session(self, name: str, number: int, coordinator: bool) -> Session:
        link = self._coordinator_mark(name, number) if coordinator else number
        return Session(name, link, coordinator, secrets.token_urlsafe(12))

    def _coordinator_mark(self, name: str, number: int) -> int:
        """A changed secret or a renewed link ends a coordinator's sessions."""
        content = f"{self._secret_of(name) or ''}\0{number}".encode()
        return int.from_bytes(hashlib.sha256(content).digest()[:4])

    def seal(self, session: Session) -> str:
        """The signed cookie of a session."""
        from itsdangerous import URLSafeTimedSerializer

        content = [session.name, session.link, session.is_coordinator, session.id]
        sealed = URLSafeTimedSerializer(self._sessions, salt="session").dumps(content)
        return sealed if isinstance(sealed, str) else sealed.decode()

    def open(self, cookie: str | None, links: Links) -> Session | None:
        """The session of a cookie; None where it is forged, too old, or its link was renewed."""
        from itsdangerous import BadData, URLSafeTimedSerializer

        if not cookie:
            return None
        try:
            serializer = URLSafeTimedSerializer(self._sessions, salt="session")
            name, link, coordinator, number = serializer.loads(cookie, max_age=SESSION_SECONDS)
        except (BadData, ValueError, TypeError):
            return None
        if coordinator:
            known = links.coordinators.get(name)
            current = None if known is None else self._coordinator_mark(name, known)
        else:
            current = links.annotators.get(name)
        return Session(name, link, bool(coordinator), number) if current == link else None

    def csrf(self, session: Session) -> str:
        """The token that every change must carry. It is the person's, not the session's: a page stays good
        when the same person opens the link again in another tab, and is refused when somebody else does."""
        return _tag(self._sessions, "csrf", session.name, str(session.link), str(session.is_coordinator))


class RateLimiter:
    """A token bucket per key: `rate` events per second on average, `burst` at once."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate = rate
        self.burst = burst
        self._level: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def _now(self, key: str) -> float:
        level, at = self._level.get(key, (float(self.burst), time.monotonic()))
        return min(self.burst, level + (time.monotonic() - at) * self.rate)

    def exhausted(self, key: str) -> bool:
        """Whether nothing is left for this key right now."""
        with self._lock:
            return self._now(key) < 1

    def take(self, key: str) -> bool:
        """Take one; False where nothing was left."""
        with self._lock:
            if len(self._level) > 10_000:  # forget keys that have recovered, so that memory stays bounded
                self._level = {k: v for k, v in self._level.items() if self._now(k) < self.burst}
            level = self._now(key)
            allowed = level >= 1
            self._level[key] = (level - 1 if allowed else level, time.monotonic())
            return allowed
