"""Who may see what: secret links, signed sessions, CSRF tokens, and limits on guessing.

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


def same(left: str, right: str) -> bool:
    """Equality in constant time, whatever the characters."""
    return hmac.compare_digest(left.encode("utf-8", "replace"), right.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class Session:
    """Who is signed in, with the number of the link that opened the session."""

    name: str
    link: int

    @property
    def is_coordinator(self) -> bool:
        """Whether this is the coordinator, not an annotator."""
        return self.name == COORDINATOR


class Access:
    """Makes and checks links, sessions and CSRF tokens for one study.

    `secret` is the coordinator's own: with it, the coordinator signs in by typing it, and no
    coordinator link exists.
    """

    def __init__(self, key: bytes, secret: str | None = None) -> None:
        if secret is not None and len(secret) < MIN_SECRET:
            raise InputError(f"the coordinator's secret has {len(secret)} characters; at least {MIN_SECRET}")
        self._links = hashlib.sha256(b"links" + key).digest()
        self._sessions = hashlib.sha256(b"sessions" + key).digest()
        self._secret = secret
        # A changed secret ends the coordinator's sessions.
        self._coordinator_link = int.from_bytes(hashlib.sha256((secret or "").encode()).digest()[:4])

    def link(self, name: str, number: int) -> str:
        """The secret part of an annotator's link."""
        return _tag(self._links, "annotator", name, str(number))

    def coordinator_link(self) -> str | None:
        """The secret part of the coordinator's link; None where there is a typed secret instead."""
        return None if self._secret is not None else _tag(self._links, COORDINATOR)

    def enter(self, token: str, numbers: Mapping[str, int]) -> Session | None:
        """The session a link opens, or None. Every known link is compared, found or not."""
        found: Session | None = None
        for name, number in numbers.items():
            if same(self.link(name, number), token):
                found = Session(name, number)
        own = self.coordinator_link()
        if own is not None and same(own, token):
            found = self._coordinator()
        return found

    def enter_with_secret(self, typed: str) -> Session | None:
        """The coordinator's session, where the typed secret is right."""
        if self._secret is None or not same(self._secret, typed):
            return None
        return self._coordinator()

    def _coordinator(self) -> Session:
        return Session(COORDINATOR, self._coordinator_link)

    def seal(self, session: Session) -> str:
        """The signed cookie of a session."""
        from itsdangerous import URLSafeTimedSerializer

        sealed = URLSafeTimedSerializer(self._sessions, salt="session").dumps([session.name, session.link])
        return sealed if isinstance(sealed, str) else sealed.decode()

    def open(self, cookie: str | None, numbers: Mapping[str, int]) -> Session | None:
        """The session of a cookie; None where it is forged, too old, or its link was renewed."""
        from itsdangerous import BadData, URLSafeTimedSerializer

        if not cookie:
            return None
        try:
            serializer = URLSafeTimedSerializer(self._sessions, salt="session")
            name, link = serializer.loads(cookie, max_age=SESSION_SECONDS)
        except (BadData, ValueError, TypeError):
            return None
        current = self._coordinator_link if name == COORDINATOR else numbers.get(name)
        return Session(name, link) if current == link else None

    def csrf(self, session: Session) -> str:
        """The token that every change must carry. It is the person's, not the session's: a page stays good
        when the same person opens the link again in another tab, and is refused when somebody else does."""
        return _tag(self._sessions, "csrf", session.name, str(session.link))


class Limiter:
    """A token bucket a key: `rate` a second on average, `burst` at once."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate = rate
        self.burst = burst
        self._level: dict[str, tuple[float, float]] = {}
        self._turn = threading.Lock()

    def _now(self, key: str) -> float:
        level, at = self._level.get(key, (float(self.burst), time.monotonic()))
        return min(self.burst, level + (time.monotonic() - at) * self.rate)

    def exhausted(self, key: str) -> bool:
        """Whether nothing is left for this key right now."""
        with self._turn:
            return self._now(key) < 1

    def take(self, key: str) -> bool:
        """Take one; False where nothing was left."""
        with self._turn:
            if len(self._level) > 10_000:  # forget keys that have recovered, so that memory stays bounded
                self._level = {k: v for k, v in self._level.items() if self._now(k) < self.burst}
            level = self._now(key)
            allowed = level >= 1
            self._level[key] = (level - 1 if allowed else level, time.monotonic())
            return allowed
