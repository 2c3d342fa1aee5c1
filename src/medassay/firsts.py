"""Where something stood first: millions of keys in a few bytes each."""

from __future__ import annotations

import hashlib
from array import array


class Firsts:
    """Numbers by key, the first to come. A hash table in two arrays: 16 to 32 bytes a key, whatever its length.

    Keys are known by 64 bits of their hash: among ten million, two that differ are taken for equal with a chance
    of three in a million.
    """

    def __init__(self) -> None:
        self.count = 0
        self.marks = array("Q", bytes(8 * 1024))
        self.numbers = array("Q", bytes(8 * 1024))

    def add(self, key: bytes, number: int) -> int | None:
        """None for a new key, which now has this number; else the number it had."""
        mark = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest()) or 1  # 0 marks a free place
        at = self._find(mark)
        if self.marks[at]:
            return self.numbers[at]
        self.marks[at], self.numbers[at] = mark, number
        self.count += 1
        if 3 * self.count > 2 * len(self.marks):
            self._grow()
        return None

    def _find(self, mark: int) -> int:
        """The place of a mark, or the free one where it belongs."""
        marks, last = self.marks, len(self.marks) - 1
        at = mark & last
        while marks[at] and marks[at] != mark:
            at = (at + 1) & last
        return at

    def _grow(self) -> None:
        marks, numbers = self.marks, self.numbers
        self.marks = array("Q", bytes(16 * len(marks)))
        self.numbers = array("Q", bytes(16 * len(marks)))
        for mark, number in zip(marks, numbers):
            if mark:
                at = self._find(mark)
                self.marks[at], self.numbers[at] = mark, number
