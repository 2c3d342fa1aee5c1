"""Work done by threads a few steps ahead, handed over in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")


def in_order(work: Callable[[Item], Done], items: Iterable[Item], workers: int) -> Iterator[Done]:
    """`work(item)` for each item, in their order; at most 2 × `workers` are begun and not yet taken.

    Items are drawn as needed, so neither a long list nor slow taking makes memory grow. An exception comes out
    where its item's turn is; what was begun behind it is dropped.

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
