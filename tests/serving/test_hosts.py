"""The host names that the server answers to."""

from __future__ import annotations

import pytest

from medassay.serving.hosts import allowed_names, is_allowed_host


def test_names_are_compared_without_case_and_final_dot() -> None:
    names = allowed_names("0.0.0.0", ["Scores.Example."])
    assert {"localhost", "0.0.0.0", "scores.example"} <= names and "" not in names


@pytest.mark.parametrize("host", [b"scores.example", b"SCORES.example:80", b"10.0.0.7:1", b"[::1]", b"[::1]:80"])
def test_own_names_and_addresses_are_allowed(host: bytes) -> None:
    assert is_allowed_host(host, {"scores.example"})


@pytest.mark.parametrize("host", [b"", b"evil.example", b"scores.example:x", b"[::1", b"[::1]x", b"[::1]:x"])
def test_anything_else_is_not(host: bytes) -> None:
    assert not is_allowed_host(host, {"scores.example"})
