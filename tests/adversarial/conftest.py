"""Every command runs without the weights of the role `checker`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.language.checker_double import OverlapChecker, installed


@pytest.fixture(autouse=True)
def overlap_checker() -> Iterator[None]:
    """`medassay check` compares words."""
    with installed(OverlapChecker()):
        yield
