"""Write a tiled pyramidal TIFF (BigTIFF, JPEG tiles) that slide readers open, tile by tile.

Only the layout is ours; Pillow makes the JPEG tiles. Tiles with the same bytes, such as empty glass, are stored
once. The directories come last and the header points to them only then, so a file cut short never opens.
"""

from __future__ import annotations

import hashlib
import io
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from medassay.files import OutputFile
from medassay.slides.ahead import in_order
from medassay.slides.image import Pixels, Slide

TILE = 512
QUALITY = 92
SMALLEST = 1024
"""The pyramid ends with the first level whose longer side is at most this."""

_SHORT, _LONG, _RATIONAL, _LONG8 = 3, 4, 5, 16
_STRUCT = {_SHORT: "H", _LONG: "I", _RATIONAL: "II", _LONG8: "Q"}


@dataclass(slots=True)
class _Level:
    width: int
    height: int
    offsets: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)


class PyramidWriter:
    """An open BigTIFF: add levels from the finest on, then `finish`."""

    def __init__(self, stream: BinaryIO, mpp: float | None) -> None:
        self._stream = stream
        self._mpp = mpp
        self._levels: list[_Level] = []
        self._seen: dict[bytes, int] = {}
        stream.write(struct.pack("<2sHHHQ", b"II", 43, 8, 0, 0))

    def add_level(self, width: int, height: int, tiles: Iterable[bytes]) -> None:
        """A level of the given size; its JPEG tiles (`TILE` square) come row by row."""
        level = _Level(width, height)
        for tile in tiles:
            mark = hashlib.blake2b(tile, digest_size=16).digest()
            if mark not in self._seen:
                self._seen[mark] = self._stream.tell()
                self._stream.write(tile)
            level.offsets.append(self._seen[mark])
            level.sizes.append(len(tile))
        expected = -(-width // TILE) * -(-height // TILE)
        if len(level.offsets) != expected:
            raise ValueError(f"{len(level.offsets)} tiles given where the level has {expected}")
        self._levels.append(level)

    def finish(self) -> None:
        """Write the directories and point the header to them."""
        link = 8
        for number, level in enumerate(self._levels):
            start = self._directory(level, reduced=number > 0)
            end = self._stream.tell()
            self._stream.seek(link)
            self._stream.write(struct.pack("<Q", start))
            self._stream.seek(end)
            link = end - 8

    def _directory(self, level: _Level, *, reduced: bool) -> int:
        """Write one directory with no successor yet; its last 8 bytes are the link to the next."""
        entries: list[tuple[int, int, list[int]]] = [
            (254, _LONG, [int(reduced)]),
            (256, _LONG, [level.width]),
            (257, _LONG, [level.height]),
            (258, _SHORT, [8, 8, 8]),
            (259, _SHORT, [7]),  # JPEG
            (262, _SHORT, [6]),  # YCbCr
            (277, _SHORT, [3]),
            (284, _SHORT, [1]),
            (322, _LONG, [TILE]),
            (323, _LONG, [TILE]),
            (324, _LONG8, level.offsets),
            (325, _LONG, level.sizes),
            (530, _SHORT, [1, 1]),  # colour at full resolution: stains are colour
        ]
        if self._mpp is not None and not reduced:
            a_centimetre = [round(10_000 / self._mpp * 1000), 1000]
            entries += [(282, _RATIONAL, a_centimetre), (283, _RATIONAL, a_centimetre), (296, _SHORT, [3])]
        packed = [self._entry(*entry) for entry in sorted(entries)]
        start = self._stream.tell()
        self._stream.write(struct.pack("<Q", len(packed)) + b"".join(packed) + struct.pack("<Q", 0))
        return start

    def _entry(self, tag: int, kind: int, values: list[int]) -> bytes:
        letters = _STRUCT[kind]
        count = len(values) // len(letters)
        data = struct.pack(f"<{letters * count}", *values)
        if len(data) > 8:
            offset = self._stream.tell()
            self._stream.write(data)
            data = struct.pack("<Q", offset)
        return struct.pack("<HHQ", tag, kind, count) + data.ljust(8, b"\0")


def encode(pixels: Pixels) -> bytes:
    """One JPEG tile."""
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=QUALITY, subsampling=0)
    return stream.getvalue()


def write_pyramid(
    slide: Slide,
    path: Path,
    change: Callable[[Pixels], Pixels],
    *,
    workers: int = 4,
    done: Callable[[int, int], None] | None = None,
) -> None:
    """Copy a slide through `change`, tile by tile, in bounded memory; `done(tiles, total)` is called after each tile.

    The file appears under its name only when it is complete.
    """
    levels = list(_levels(slide.dimensions))
    total = sum(-(-wide // TILE) * -(-high // TILE) for _, wide, high in levels)
    count = 0

    def counted(tiles: Iterable[bytes]) -> Iterable[bytes]:
        nonlocal count
        for tile in tiles:
            yield tile
            count += 1
            if done is not None:
                done(count, total)

    with OutputFile(path) as output:
        with output.temporary.open("wb") as stream:
            writer = PyramidWriter(stream, slide.known_mpp)
            for scale, wide, high in levels:

                def tile(corner: tuple[int, int], scale: int = scale) -> bytes:
                    x, y = corner
                    return encode(change(slide.read_scaled(x * scale, y * scale, TILE, TILE, scale)))

                places = ((x, y) for y in range(0, high, TILE) for x in range(0, wide, TILE))
                writer.add_level(wide, high, counted(in_order(tile, places, workers)))
            writer.finish()
        output.commit()


def _levels(dimensions: tuple[int, int]) -> Iterable[tuple[int, int, int]]:
    """Scale, width and height of each level, finest first."""
    scale = 1
    while True:
        wide, high = (max(1, side // scale) for side in dimensions)
        yield scale, wide, high
        if max(wide, high) <= SMALLEST:
            return
        scale *= 2
