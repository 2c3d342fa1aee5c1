"""The views of an image that an image model reads: a vector for each patch of tissue, with its box.

Patches stream from the slide to the model in batches; only vectors and boxes are kept (about 1 kB per patch), so
memory does not grow with the slide's pixels. A region of interest is also read as a whole, since models are trained
on whole fields; a slide is not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from medassay.slides.ahead import in_order
from medassay.slides.histology import why_not_histology
from medassay.slides.image import Slide
from medassay.slides.patches import MPP, SIZE, Patch, patches

if TYPE_CHECKING:
    from medassay.models.base import ImageModel, Matrix, Pictures

BATCH = 32
"""Patches handed to the model at once: 25 MB of pixels; two such batches wait at most."""
SHOWN_FROM = 200
"""Patches from which on a bar is shown on a terminal."""
WHOLE_MOST = 4096
"""Longer side up to which a region of interest is also read as a whole."""


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """The views of one image.

    vectors: unit vectors [views, size]. boxes: [views, 4] x, y, width, height at full resolution.
    width, height: of the image at full resolution. warning: why it may not be histology, or None.
    refused: why the model must not be asked about it (it is not an H&E section), or None.
    confidence: the model's accuracy on an image like this, relative to known laboratories, 0–1; None if not measured.
    organs, processes: chances of each class that the model tells apart, over all views; None if it tells none.
    """

    vectors: Matrix
    boxes: NDArray[np.int64]
    width: int
    height: int
    warning: str | None
    refused: str | None = None
    confidence: float | None = None
    organs: Matrix | None = None
    processes: Matrix | None = None

    def __len__(self) -> int:
        return len(self.boxes)


def view_patches(
    slide: Slide,
    model: ImageModel,
    *,
    budget: int | None = None,
    seed: int = 0,
    windows: bool = False,
) -> Views:
    """Every patch of tissue through the model: 512 pixels at 20× of a slide, 512 pixels as they are of a region.

    A slide must state its resolution. `budget` patches are drawn by `seed` where there are more. `windows`: each
    patch through a window of 224 pixels, stride 224 (PathGLS), instead of shrunk to what the model reads. Raises
    `NoTissue` where nothing is stained.
    """
    mpp = MPP if slide.whole or slide.known_mpp is not None else None
    if mpp is not None and slide.mpp > 1.2 * mpp:
        # A coarser scan is looked at as it is: detail that was not scanned cannot be had.
        mpp = slide.mpp
    plan = patches(slide, SIZE, mpp, budget=budget, seed=seed)
    seen: list[Pictures] = []
    boxes: list[tuple[int, int, int, int]] = []
    with _bar(len(plan), slide.path.name) as advance:
        # One thread for the model: the next batches are read while it works.
        for pictures, places in in_order(partial(_embed, model), _batches(_views(plan, windows, advance)), workers=1):
            seen.append(pictures)
            boxes += places
    width, height = slide.dimensions
    if not slide.whole and len(plan) > 1 and max(width, height) <= WHOLE_MOST:
        seen.append(model.read_images([slide.read(0, 0, width, height)]))
        boxes.append((0, 0, width, height))
    vectors = np.concatenate([batch.vectors for batch in seen])
    doubt = why_not_histology(slide)
    return Views(
        vectors,
        np.array(boxes, np.int64),
        width,
        height,
        doubt,
        _why_foreign(seen),
        _confidence(seen),
        _mean_chances([batch.organs for batch in seen]),
        _mean_chances([batch.processes for batch in seen]),
    )


def _why_foreign(seen: list[Pictures]) -> str | None:
    """Why an image is refused: by the mean of its patches' log odds it is not H&E."""
    odds = [batch.foreign for batch in seen if batch.foreign is not None]
    least = seen[0].least_foreign
    if least is None or not odds:
        return None
    mean = float(np.concatenate(odds).mean())
    if mean < least:
        return None
    return (
        f"by its stain and texture the image is not a section in haematoxylin and eosin (log odds {mean:.1f}, refused "
        f"from {least:.1f}): another stain, cytology, a radiograph or a photograph is not assessed"
    )


def _confidence(seen: list[Pictures]) -> float | None:
    """The mean over an image's patches."""
    values = [batch.confidence for batch in seen if batch.confidence is not None]
    return float(np.concatenate(values).mean()) if values else None


def _mean_chances(batches: list[Matrix | None]) -> Matrix | None:
    """The mean over an image's views of the chances of classes."""
    known = [batch for batch in batches if batch is not None]
    return np.asarray(np.concatenate(known).mean(axis=0), np.float32) if known else None


def _embed(model: ImageModel, batch: list[Patch]) -> tuple[Pictures, list[tuple[int, int, int, int]]]:
    return model.read_images([view.pixels for view in batch]), [view.box for view in batch]


def _views(plan: Iterable[Patch], windows: bool, advance: Any) -> Iterator[Patch]:
    for patch in plan:
        advance()
        if windows:
            yield from patch.windows()
        else:
            yield patch


def _batches(views: Iterator[Patch]) -> Iterator[list[Patch]]:
    batch: list[Patch] = []
    for view in views:
        batch.append(view)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _bar(total: int, name: str) -> Any:
    """A context that gives a function to call once per patch; a bar on a terminal, silence in a pipe."""
    if total < SHOWN_FROM or sys.stderr is None or not sys.stderr.isatty():
        return nullcontext(lambda: None)
    return _Bar(total, name)


class _Bar:
    def __init__(self, total: int, name: str) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self.progress = Progress(console=Console(stderr=True), transient=True)
        self.task = self.progress.add_task(f"patches of {name}", total=total)

    def __enter__(self) -> Any:
        from rich.errors import LiveError

        try:
            self.progress.start()
        except LiveError:  # an older rich shows one bar at a time, and the run's own is up
            return lambda: None
        return lambda: self.progress.advance(self.task)

    def __exit__(self, *_: object) -> None:
        self.progress.stop()
