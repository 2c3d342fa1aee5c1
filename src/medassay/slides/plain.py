"""Regions of interest: PNG, JPEG, TIFF, BMP, WebP, through Pillow, held in memory as 8-bit RGB.

How other kinds become RGB: alpha is laid on white; a palette is looked up; grey is repeated; 16-bit values
keep their upper byte (the full range is 0–65535, a camera's 12 bits are not stretched); CMYK is converted
without its colour profile, so its colours are approximate. 32-bit numbers are refused: nothing says which
of them is white. Of several pages the first is read. A camera's rotation note is obeyed.
"""

from __future__ import annotations

import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from medassay.errors import InputError
from medassay.slides.image import PLAUSIBLE_MPP, Pixels, Slide

MAX_PIXELS = 100_000_000
"""Pixels of the largest plain image that is decoded (300 MB); a larger one is a slide or a decompression bomb."""
FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "WEBP", "PPM")
"""Decoders that may be used; the many others of Pillow are no image formats of a laboratory."""

_RESOLUTION_UNIT, _X_RESOLUTION = 296, 282
_MICROMETRES = {2: 25_400.0, 3: 10_000.0}
"""TIFF resolution units: inch and centimetre."""


class PlainImage(Slide):
    """An image in memory."""

    whole = False

    def __init__(self, path: str | Path, pixels: Pixels, mpp: float | None = None) -> None:
        super().__init__(path, (pixels.shape[1], pixels.shape[0]), mpp)
        self._all = pixels

    def _pixels(self, level: int, x: int, y: int, width: int, height: int) -> Pixels:
        if x >= 0 and y >= 0 and x + width <= self.dimensions[0] and y + height <= self.dimensions[1]:
            return self._all[y : y + height, x : x + width]
        pixels = np.full((height, width, 3), 255, np.uint8)
        inside = self._all[max(0, y) : max(0, y + height), max(0, x) : max(0, x + width)]
        top, left = max(0, -y), max(0, -x)
        pixels[top : top + inside.shape[0], left : left + inside.shape[1]] = inside
        return pixels

    def close(self) -> None:
        """Release the image."""
        self._all = np.empty((0, 0, 3), np.uint8)


def open_plain(path: Path, mpp: float | None, max_pixels: int) -> PlainImage:
    """Decode the whole image, so that a broken one is reported now and not in the middle of a run."""
    try:
        with warnings.catch_warnings():
            # Our own limit is checked below, with a remedy; damaged tags matter only where decoding fails.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            warnings.filterwarnings("ignore", category=UserWarning, module="PIL")
            with Image.open(path, formats=FORMATS) as image:
                check_size(path, image.size, max_pixels)
                stated = _tiff_mpp(image)
                pixels = to_rgb(image, str(path))
    except InputError:
        raise
    except Image.DecompressionBombError as error:
        raise InputError(_too_large(path, str(error), max_pixels)) from error
    except UnidentifiedImageError as error:
        raise InputError(
            f"{path}: neither an image (PNG, JPEG, TIFF, BMP, WebP) nor a whole slide that can be read; "
            "is it the right file, and was its download complete?"
        ) from error
    except (OSError, ValueError, SyntaxError, EOFError, struct.error, zlib.error, MemoryError) as error:
        # Pillow's decoders raise all of these for damaged files.
        raise InputError(
            f"{path}: damaged or cut short ({error or type(error).__name__}); fetch or export it again"
        ) from error
    return PlainImage(path, pixels, mpp if mpp is not None else stated)


def check_size(path: Path, size: tuple[int, int], max_pixels: int) -> None:
    """Refuse an image that would not fit, before a pixel of it is decoded."""
    width, height = size
    if width * height > max_pixels:
        raise InputError(_too_large(path, f"{width:,} × {height:,} pixels", max_pixels))


def _too_large(path: Path, what: str, limit: int) -> str:
    return (
        f"{path}: too large to be decoded at once ({what}; the limit is {limit:,} pixels). Cut the region out, or "
        "save it as a tiled pyramidal TIFF, which is read piece by piece"
    )


def to_rgb(image: Image.Image, name: str) -> Pixels:
    """Any image as 8-bit RGB, by the rules at the head of this file."""
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I;16"):
        grey = (np.asarray(image).astype(np.uint16) >> 8).astype(np.uint8)
        return np.repeat(grey[..., None], 3, axis=2)
    if image.mode in ("I", "F"):
        raise InputError(
            f"{name}: 32-bit values, of which nothing says what white is; export it with 8 bits per channel"
        )
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    try:
        return np.array(image.convert("RGB"))
    except ValueError as error:
        raise InputError(f"{name}: colours of kind {image.mode} cannot be read; export it as RGB") from error


def _tiff_mpp(image: Image.Image) -> float | None:
    """Micrometres per pixel from the tags of a microscope's TIFF; PNG and JPEG hold print resolutions only."""
    tags = getattr(image, "tag_v2", None)
    unit = _MICROMETRES.get(tags.get(_RESOLUTION_UNIT, 2)) if tags is not None else None
    resolution = float(tags.get(_X_RESOLUTION, 0)) if tags is not None else 0.0
    if unit is None or not resolution > 0:
        return None
    mpp = unit / resolution
    return mpp if PLAUSIBLE_MPP[0] <= mpp <= PLAUSIBLE_MPP[1] else None
