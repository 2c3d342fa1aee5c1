"""Work in threads: results in order, bounded, and stopped by an error."""

from __future__ import annotations

import threading
import time

import pytest

from medassay.errors import InputError
from medassay.slides.ahead import in_order


def test_work_is_in_order_and_never_far_ahead():
    lock = threading.Lock()
    begun: set[int] = set()
    taken = 0
    furthest = 0

    def work(item: int) -> int:
        nonlocal furthest
        with lock:
            begun.add(item)
            furthest = max(furthest, len(begun) - taken)
        time.sleep(0.0005 * (item % 3))
        return item

    for expected, item in enumerate(in_order(work, range(100), workers=3)):
        assert item == expected
        with lock:
            taken += 1
    assert taken == 100
    assert furthest <= 7  # 2 × 3 begun, and the one that is being handed over


def test_an_error_comes_out_and_stops_the_work():
    seen = []

    def work(item: int) -> int:
        seen.append(item)
        if item == 5:
            raise InputError("slide.svs: cannot be read")
        return item

    with pytest.raises(InputError, match="cannot be read"):
        list(in_order(work, range(10_000), workers=2))
    assert len(seen) < 20
