"""The chat endpoint: its address, its budget and the wait that it asks for."""

from __future__ import annotations

import pytest

from medassay.errors import MedassayError
from medassay.metrics.endpoint import Budget, CallFailed, checked_url, retry_after_seconds


def test_retry_after_as_a_date() -> None:
    assert retry_after_seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert retry_after_seconds("7") == 7.0
    assert retry_after_seconds("soon") is None and retry_after_seconds(None) is None


def test_a_key_is_not_sent_in_clear() -> None:
    with pytest.raises(MedassayError, match="in clear; use https"):
        checked_url("http://example.org/v1", True)
    assert checked_url("http://example.org/v1/", False) == "http://example.org/v1/chat/completions"
    assert checked_url("http://localhost/v1/chat/completions", True).endswith("/v1/chat/completions")


def test_unused_tokens_return_to_the_budget() -> None:
    budget = Budget(calls=9, tokens=1000)
    budget.reserve(900)
    with pytest.raises(CallFailed):
        budget.reserve(200)
    budget.record_use(900, 100)
    budget.reserve(200)
    assert budget.spent_tokens == 300 and budget.spent_calls == 2
