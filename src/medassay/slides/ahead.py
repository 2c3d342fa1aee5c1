"""Work done by threads a few steps ahead, with results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")


def in_order(work: Callable[[Item], Done], items: Iterable[Item], workers: int) -> Iterator[Done]:
    """`work(item)` for each item, in their order; at most 2 × `workers` results are pending at any time.

    Items are drawn as needed, so neither a long list nor a slow consumer makes memory grow. An exception is raised
    when the turn of its item comes; later items that were started are dropped.

    >>> list(in_order(abs, [-1, -2, 3], workers=2))
    [1, 2, 3]
    """
    begun: deque[Future[Done]] = deque()
    with ThreadPoolExecutor(workers, "medassay-ahead") as pool:
        try:
            for item in items:
                begun.append(pool.submit(work, item))
                if len(begun) >= 2 * workers:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        finally:
            for future in begun:
                future.cancel()
