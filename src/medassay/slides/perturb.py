"""Stain-perturbed copies of the images of many cases (PathGLS, Stability: R_stain is written about them).

The stains are found once per image; a region of interest becomes a PNG, a whole slide a pyramidal TIFF. An image
whose stains cannot be told is reported, never copied unchanged: a report about an identical image would be
compared with itself and look perfectly stable.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from medassay.cases import Case
from medassay.errors import InputError, MissingExtra, shortened
from medassay.files import OutputFile, is_file
from medassay.slides.histology import why_not_histology
from medassay.slides.image import Pixels, Slide, open_image
from medassay.slides.patches import patches
from medassay.slides.pyramid import write_pyramid
from medassay.slides.stain import Perturbation, StainError, Stains, decompose, draw_perturbation

DEGREES = 8.0
GAIN = 0.25
SAMPLE = 16
"""Patches that the stains of a whole slide are found on."""
VERSION = 1
"""Goes into file names: a copy made by other arithmetic is not taken for this one."""


@dataclass(frozen=True, slots=True)
class StainedCopy:
    """The result for one case: the perturbed copy, or the problem (never both); a copy may have a warning."""

    case: Case
    path: Path | None
    problem: str | None = None
    warning: str | None = None


def perturb_images(
    cases: Iterable[Case],
    folder: Path,
    *,
    images: Path | None = None,
    seed: int = 0,
    degrees: float = DEGREES,
    gain: float = GAIN,
    mpp: float | None = None,
    done: Callable[[int, int], None] | None = None,
) -> Iterator[StainedCopy]:
    """Write a perturbed copy of each case's image into `folder`; one result per case, in order.

    Relative image names are looked for in `images`. Each image gets its own draw, from `seed` and its file name,
    so neither the order of cases nor what else is in the file matters. An image shared by several cases is done
    once; a copy that is already there is kept, which makes a run resumable. `done(tiles, of)` follows the
    writing of a whole slide.
    """
    folder.mkdir(parents=True, exist_ok=True)
    finished: dict[Path, StainedCopy] = {}
    for case in cases:
        try:
            source = locate(case, images)
            if source not in finished:
                target, warning = _copy(source, folder, (seed, degrees, gain), mpp, done)
                finished[source] = StainedCopy(case, target, None, warning)
        except MissingExtra:
            raise
        except InputError as error:
            yield StainedCopy(case, None, str(error))
        else:
            yield StainedCopy(case, finished[source].path, None, finished[source].warning)


def perturb_overview(
    case: Case,
    folder: Path,
    side: int,
    *,
    images: Path | None = None,
    seed: int = 0,
    degrees: float = DEGREES,
    gain: float = GAIN,
    mpp: float | None = None,
) -> StainedCopy:
    """A perturbed picture of a case's image with its longer side at most `side`: for models that see no more.

    The draw is that of `perturb_images`; of a whole slide only the overview is changed, which takes a moment
    where a copy would take as long as the slide is large.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        source = locate(case, images)
        with open_image(source, mpp=mpp) as slide:
            target = folder / f"{_stem(source)}-stain{seed}-{_mark(source, (seed, degrees, gain, side))}.png"
            if not target.exists():
                change = draw_perturbation(find_stains(slide, seed), _draw(source, seed), degrees=degrees, gain=gain)
                _check(slide, change)
                _save(change.apply(slide.thumbnail(side)[0]), target)
    except MissingExtra:
        raise
    except InputError as error:
        return StainedCopy(case, None, str(error))
    return StainedCopy(case, target)


def locate(case: Case, images: Path | None = None) -> Path:
    """The file of a case's image, or an `InputError` that names row, column and where it was looked for."""
    if not case.image or not case.image.strip():
        raise InputError(f"row {case.row}, column 'image': empty")
    path = Path(case.image.strip())
    if not path.is_absolute() and images is not None:
        path = images / path
    if not is_file(path):
        hint = "" if images is not None or path.is_absolute() else "; name the folder it lies in with --images"
        raise InputError(f"row {case.row}, column 'image': no such file {shortened(str(path))}{hint}")
    return path


def find_stains(slide: Slide, seed: int = 0) -> Stains:
    """The stains of an image, or of a slide from a seeded sample of its patches."""
    if not slide.whole:
        return decompose(slide.read(0, 0, *slide.dimensions), str(slide.path))
    # Colours do not depend on the resolution: pixels as they are, whether or not mpp is known.
    tiles = [patch.pixels for patch in patches(slide, mpp=None, budget=SAMPLE, seed=seed)]
    return decompose(np.concatenate(tiles), str(slide.path))


def _copy(
    source: Path,
    folder: Path,
    settings: tuple[int, float, float],
    mpp: float | None,
    done: Callable[[int, int], None] | None,
) -> tuple[Path, str | None]:
    seed, degrees, gain = settings
    with open_image(source, mpp=mpp) as slide:
        target = folder / f"{_stem(source)}-stain{seed}-{_mark(source, settings)}{'.tiff' if slide.whole else '.png'}"
        doubt = why_not_histology(slide)
        warning = f"{source}: may not be histology: {doubt}" if doubt else None
        if not target.exists():
            change = draw_perturbation(find_stains(slide, seed), _draw(source, seed), degrees=degrees, gain=gain)
            _check(slide, change)
            if slide.whole:
                write_pyramid(slide, target, change.apply, done=done)
            else:
                _save(change.apply(slide.read(0, 0, *slide.dimensions)), target)
    return target, warning


def _stem(source: Path) -> str:
    """An image's name without its ending, cut so that a copy's longer name is still one."""
    return source.stem.encode("utf-8", "surrogateescape")[:150].decode("utf-8", "ignore")


def _draw(source: Path, seed: int) -> int:
    """The seed of one image's own perturbation."""
    return int.from_bytes(hashlib.blake2b(f"{seed}|{source.name}".encode(), digest_size=8).digest())


def _mark(source: Path, settings: tuple[float, ...]) -> str:
    """A short hash that differs between copies of different files and settings."""
    identity = f"{source.absolute()}|{source.stat().st_size}|{settings}|{VERSION}"
    return hashlib.blake2b(identity.encode(), digest_size=4).hexdigest()


def _check(slide: Slide, change: Perturbation) -> None:
    """Refuse a perturbation that leaves the picture as it was."""
    pixels = slide.thumbnail(512)[0]
    if np.array_equal(change.apply(pixels), pixels):
        raise StainError(f"{slide.path}: the perturbation changes no pixel; raise degrees or gain")


def _save(pixels: Pixels, target: Path) -> None:
    from PIL import Image

    with OutputFile(target) as output:
        Image.fromarray(pixels).save(output.temporary, "PNG")
        output.commit()
