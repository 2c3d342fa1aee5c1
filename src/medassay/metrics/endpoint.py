"""One OpenAI-compatible chat endpoint: requests, retries and a hard budget. No dependency, no logging.

Transient errors are retried with growing waits (429, 5xx, time-outs, broken connections; Retry-After is
honoured); others fail at once. Redirects are refused, so that a key goes only where the
user sent it. Replies are read up to a size and a deadline, so that no server can hold a run.
"""

from __future__ import annotations

import email.utils
import http.client
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from medassay.errors import MedassayError

MAX_REPLY_BYTES = 1_000_000
"""Bytes of a reply that are read; a chat answer has a few thousand."""

IMAGE_TOKENS = 3_000
"""Tokens reserved for an image before the endpoint reports what it used."""

_TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_UNREACHABLE_AFTER = 10
"""Failed calls in a row after which the endpoint is no longer retried."""
_LOCAL = ("localhost", "127.0.0.1", "::1")


class CallFailed(Exception):
    """A call that failed, with the reason that is written beside the case.

    transient: whether another attempt may succeed. wait: seconds that the endpoint asks to wait first.
    """

    def __init__(self, reason: str, *, transient: bool = False, wait: float | None = None) -> None:
        super().__init__(reason)
        self.transient = transient
        self.wait = wait


@dataclass
class Budget:
    """Calls and tokens that may be spent; shared by all threads of a run, never exceeded.

    The most that a call may use is reserved before it; what the endpoint reports replaces it afterwards.
    """

    calls: int
    tokens: int
    spent_calls: int = 0
    spent_tokens: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process spends for itself."""
        return Budget, (self.calls, self.tokens)

    def reserve(self, tokens: int) -> None:
        """Take one call and so many tokens, or fail."""
        with self.lock:
            if self.spent_calls + 1 > self.calls:
                raise CallFailed(f"the budget of {self.calls:,} calls is spent (calls=…)")
            if self.spent_tokens + tokens > self.tokens:
                raise CallFailed(f"the budget of {self.tokens:,} tokens is spent (tokens=…)")
            self.spent_calls += 1
            self.spent_tokens += tokens

    def record_use(self, reserved: int, used: int) -> None:
        """Replace the reserved tokens of a call by those that it used."""
        with self.lock:
            self.spent_tokens += used - reserved


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Endpoint:
    """Chat completions at `url` (the base, such as `https://host/v1`)."""

    def __init__(
        self,
        url: str,
        model: str,
        key: str | None,
        budget: Budget,
        *,
        timeout: float,
        retries: int,
        backoff: float,
        what: str = "judge",
    ) -> None:
        self.what = what
        self.url = checked_url(url, bool(key), what)
        self.model = model
        self._key = key
        self.budget = budget
        self.timeout = timeout
        self.retries = retries
        self.backoff = backoff
        self.stopped = threading.Event()
        local = urllib.parse.urlsplit(self.url).hostname in _LOCAL
        # A proxy cannot reach this machine; elsewhere the usual environment variables name one.
        proxies = [urllib.request.ProxyHandler({})] if local else []
        self.opener = urllib.request.build_opener(_NoRedirect, *proxies)
        self.failures = 0
        """Calls in a row that failed after all retries."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Travels to a worker process by its settings; the budget counts from there."""
        make = partial(Endpoint, timeout=self.timeout, retries=self.retries, backoff=self.backoff, what=self.what)
        return make, (self.url, self.model, self._key, self.budget)

    def ask(self, system: str, user: str, most: int, *, image: str | None = None) -> str:
        """One answer of at most `most` tokens, at temperature 0; raises CallFailed.

        image: a data address (`data:image/jpeg;base64,…`) shown with the question.
        """
        content: object = user
        if image is not None:
            content = [{"type": "text", "text": user}, {"type": "image_url", "image_url": {"url": image}}]
        body = {
            "model": self.model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": content}],
            "temperature": 0,
            "max_tokens": most,
        }
        # One token has about four letters of English, and never less than one byte of any language.
        reserved = len((system + user).encode("utf-8", "replace")) // 3 + most + (IMAGE_TOKENS if image else 0)
        failed = CallFailed("not asked")
        # An endpoint that has been unreachable for a while is asked once, not retried at every case.
        retries = self.retries if self.failures < _UNREACHABLE_AFTER else 0
        for attempt in range(retries + 1):
            if self.stopped.is_set():
                raise CallFailed("interrupted")
            self.budget.reserve(reserved)
            try:
                answer, used = self._once(body, reserved)
            except CallFailed as error:
                failed = error
                if not error.transient:
                    raise
            else:
                self.failures = 0
                self.budget.record_use(reserved, used)
                return answer
            if attempt < retries:
                self._wait(failed, attempt)
        self.failures += 1
        tries = f", {retries + 1} tries" if retries else ""
        raise CallFailed(f"{failed}{tries}", transient=True)

    def _wait(self, failed: CallFailed, attempt: int) -> None:
        """Twice as long each time, or as long as the endpoint asks; a wait past a minute is a failure."""
        wait = self.backoff * 2**attempt if failed.wait is None else failed.wait
        if wait > 60:
            raise CallFailed(f"{failed}; the endpoint asks to wait {wait:.0f} s")
        self.stopped.wait(wait)

    def _once(self, body: Mapping[str, Any], reserved: int) -> tuple[str, int]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "medassay"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self.url, json.dumps(body).encode(), headers, method="POST")
        try:
            with self.opener.open(request, timeout=self.timeout) as response:
                content = self._read(response)
                kind = response.headers.get_content_type()
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error) from None
        except TimeoutError:
            raise CallFailed(f"no answer within {self.timeout:g} s", transient=True) from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise CallFailed(f"no answer within {self.timeout:g} s", transient=True) from None
            raise CallFailed(f"the endpoint cannot be reached ({error.reason})", transient=True) from None
        except (OSError, http.client.HTTPException) as error:
            raise CallFailed(f"the connection broke ({type(error).__name__})", transient=True) from None
        return _answer(content, kind, reserved)

    def _read(self, response: Any) -> bytes:
        """The whole reply, within the deadline: a time-out alone would start anew with every byte."""
        deadline = time.monotonic() + self.timeout
        content = b""
        while block := response.read1(65_536):
            content += block
            if len(content) > MAX_REPLY_BYTES:
                raise CallFailed(f"the reply is longer than {MAX_REPLY_BYTES:,} bytes")
            if time.monotonic() > deadline:
                raise CallFailed(f"no whole answer within {self.timeout:g} s", transient=True)
        declared = response.headers.get("Content-Length")
        if declared is not None and declared.isdigit() and len(content) < int(declared):
            raise CallFailed("the reply breaks off", transient=True)
        return content


def checked_url(url: str, with_key: bool, what: str = "judge") -> str:
    """The address of chat completions; one that would send a key in clear or holds a secret is refused.

    what: the caller's name in error messages.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname
    except ValueError as error:
        raise MedassayError(f"{what}: url '{url}' is not an address ({error})") from error
    if parts.scheme not in ("http", "https") or not host:
        raise MedassayError(f"{what}: url '{url}' is not an address such as https://host/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise MedassayError(f"{what}: the url may not hold a name, password or query; put the key in the environment")
    if with_key and parts.scheme == "http" and host not in _LOCAL:
        raise MedassayError(f"{what}: a key would go to {host} in clear; use https")
    path = parts.path.rstrip("/")
    return url.rstrip("/") if path.endswith("/chat/completions") else url.rstrip("/") + "/chat/completions"


def _refusal(error: urllib.error.HTTPError) -> CallFailed:
    code = error.code
    if code in _TRANSIENT:
        return CallFailed(f"HTTP {code}", transient=True, wait=retry_after_seconds(error.headers.get("Retry-After")))
    known = {
        401: "the key is missing or wrong",
        403: "the key has no right to this",
        404: "no such address or model",
        413: "the texts are too long for the endpoint",
    }
    message = known.get(code, "a redirect, which is refused" if 300 <= code < 400 else _message(error))
    return CallFailed(f"HTTP {code}: {message}")


def _message(error: urllib.error.HTTPError) -> str:
    """What an endpoint says of a refused request, in short; it never repeats our headers."""
    try:
        message = json.loads(error.read(10_000))["error"]
        return str(message["message"] if isinstance(message, dict) else message)[:200]
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
        return "the endpoint refuses the request"


def retry_after_seconds(value: str | None) -> float | None:
    """Seconds to wait, from a number or a date; None where nothing usable is said."""
    if value is None:
        return None
    if value.strip().isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _answer(content: bytes, kind: str, reserved: int) -> tuple[str, int]:
    """The answer's text and the tokens it took, from the body of a reply."""
    if kind == "text/html" or content.lstrip()[:1] == b"<":
        raise CallFailed("the endpoint answered with a web page, not with JSON; is the url right?")
    try:
        record = json.loads(content)
    except ValueError:
        raise CallFailed("the reply is not whole JSON", transient=True) from None
    try:
        text = record["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        raise CallFailed("the reply is not a chat completion") from None
    if not isinstance(text, str):
        raise CallFailed("the reply holds no text")
    usage = record.get("usage")
    used = usage.get("total_tokens") if isinstance(usage, dict) else None
    return text, used if isinstance(used, int) and used >= 0 else reserved
