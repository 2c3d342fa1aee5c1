"""What an image model is shown of an image, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medassay.errors import InputError
from medassay.models.base import Pictures
from medassay.slides import NoTissue, open_image
from medassay.slides.views import BATCH, view_patches

from .made import on_glass, tissue


class Counting:
    """Each image's vector is its mean colour; remembers what it was shown."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []
        self.calls: list[int] = []

    def read_images(self, images: Sequence[Any]) -> Pictures:
        self.calls.append(len(images))
        self.shapes += [image.shape for image in images]
        rows = np.array([image.mean((0, 1)) for image in images], np.float32)
        return Pictures(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def saved(pixels: Any, path: Path) -> Path:
    from PIL import Image

    Image.fromarray(pixels).save(path)
    return path


def test_a_region_is_seen_in_patches_and_as_a_whole(tmp_path: Path) -> None:
    model = Counting()
    with open_image(saved(tissue(600, 1024), tmp_path / "region.png")) as region:
        views = view_patches(region, model)  # type: ignore[arg-type]
    assert views.boxes.tolist() == [
        [0, 0, 512, 512],
        [512, 0, 512, 512],
        [0, 88, 512, 512],
        [512, 88, 512, 512],
        [0, 0, 1024, 600],
    ]
    assert (views.width, views.height, len(views)) == (1024, 600, 5)
    assert views.vectors.shape == (5, 3)


def test_a_small_region_is_one_view(tmp_path: Path) -> None:
    with open_image(saved(tissue(224, 224), tmp_path / "tile.png")) as region:
        assert view_patches(region, Counting()).boxes.tolist() == [[0, 0, 224, 224]]  # type: ignore[arg-type]


def test_a_slide_is_seen_at_20x_with_a_budget(slide_file: Callable[..., Path]) -> None:
    path = slide_file(tissue(4096, 4096), mpp=0.25)
    model = Counting()
    with open_image(path) as slide:
        few = view_patches(slide, model, budget=5, seed=1)  # type: ignore[arg-type]
        same = view_patches(slide, Counting(), budget=5, seed=1)  # type: ignore[arg-type]
        other = view_patches(slide, Counting(), budget=5, seed=2)  # type: ignore[arg-type]
    assert len(few) == 5 and set(model.shapes) == {(512, 512, 3)}
    assert few.boxes[:, 2:].tolist() == [[1024, 1024]] * 5
    assert np.array_equal(few.boxes, same.boxes) and not np.array_equal(few.boxes, other.boxes)


def test_windows_of_a_patch(slide_file: Callable[..., Path]) -> None:
    model = Counting()
    with open_image(slide_file(tissue(512, 512), mpp=0.5)) as slide:
        views = view_patches(slide, model, windows=True)  # type: ignore[arg-type]
    assert len(views) == 9 and set(model.shapes) == {(224, 224, 3)}


def test_the_model_is_given_bounded_batches(slide_file: Callable[..., Path]) -> None:
    model = Counting()
    with open_image(slide_file(tissue(3072, 3072), mpp=0.5)) as slide:
        view_patches(slide, model, windows=True)  # type: ignore[arg-type]
    assert max(model.calls) == BATCH and sum(model.calls) == 36 * 9


def test_a_coarse_slide_is_seen_as_it_is(slide_file: Callable[..., Path]) -> None:
    with open_image(slide_file(tissue(1024, 1024), mpp=1.0)) as slide:
        assert view_patches(slide, Counting()).boxes[0].tolist() == [0, 0, 512, 512]  # type: ignore[arg-type]


def test_no_resolution_no_tissue(slide_file: Callable[..., Path], tmp_path: Path) -> None:
    with open_image(slide_file(tissue(1024, 1024), mpp=None, name="unknown.tiff")) as slide:
        if slide.whole:
            with pytest.raises(InputError, match="--mpp"):
                view_patches(slide, Counting())  # type: ignore[arg-type]
    blank = saved(np.full((600, 600, 3), 244, np.uint8), tmp_path / "blank.png")
    with open_image(blank) as region, pytest.raises(NoTissue):
        view_patches(region, Counting())  # type: ignore[arg-type]


def test_a_warning_where_it_is_hardly_histology(tmp_path: Path) -> None:
    with open_image(saved(on_glass(700, 700, (50, 50, 600, 600)), tmp_path / "ok.png")) as region:
        assert view_patches(region, Counting()).warning is None  # type: ignore[arg-type]
