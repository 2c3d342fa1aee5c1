"""Perturbed copies of many images; one bad image never costs the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.slides.made import EOSIN, HAEMATOXYLIN, on_glass, tissue

from medassay.cases import Case
from medassay.slides import decompose, open_image
from medassay.slides.perturb import find_stains, perturb_images


def cases(*images: str | None) -> list[Case]:
    return [Case(id=str(i), candidate="text", image=image, row=i + 2) for i, image in enumerate(images)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Image.fromarray(tissue(90, 120)).save(tmp_path / "a.png")
    Image.fromarray(tissue(90, 120, seed=5)).save(tmp_path / "b.png")
    Image.fromarray(np.full((90, 120, 3), 244, np.uint8)).save(tmp_path / "glass.png")
    (tmp_path / "broken.png").write_bytes((tmp_path / "a.png").read_bytes()[:500])
    return tmp_path


def test_one_result_a_case_in_order(folder):
    given = cases("a.png", "none.png", "broken.png", None, "glass.png", "b.png", "a.png")
    made = list(perturb_images(given, folder / "out", images=folder))
    assert [copy.case for copy in made] == given
    assert [copy.path is None for copy in made] == [False, True, True, True, True, False, False]
    assert all((copy.path is None) != (copy.problem is None) for copy in made)
    assert "row 3, column 'image': no such file" in made[1].problem
    assert "broken.png: damaged or cut short" in made[2].problem
    assert "row 5, column 'image': empty" in made[3].problem
    assert "0.0% of the pixels are stained" in made[4].problem
    assert made[0].path == made[6].path
    assert len(list((folder / "out").iterdir())) == 2  # nothing for the others, not even a copy


def test_a_copy_differs_and_has_the_same_size(folder):
    (copy,) = perturb_images(cases("a.png"), folder / "out", images=folder)
    pixels = open_image(copy.path).read(0, 0, 120, 90)
    original = tissue(90, 120)
    assert pixels.shape == original.shape
    assert 3 < abs(pixels.astype(int) - original).mean() < 80


def test_neither_order_nor_company_matters(folder):
    def bytes_of(given: list[Case], out: str) -> bytes:
        made = {c.case.image: c.path for c in perturb_images(given, folder / out, images=folder, seed=4)}
        return made["b.png"].read_bytes()

    assert bytes_of(cases("a.png", "b.png"), "one") == bytes_of(cases("b.png"), "two")


def test_seeds_differ_and_a_finished_copy_is_kept(folder):
    (first,) = perturb_images(cases("a.png"), folder / "out", images=folder, seed=1)
    (other,) = perturb_images(cases("a.png"), folder / "out", images=folder, seed=2)
    assert first.path != other.path
    assert first.path.read_bytes() != other.path.read_bytes()
    stamp = first.path.stat().st_mtime_ns
    (again,) = perturb_images(cases("a.png"), folder / "out", images=folder, seed=1)
    assert (again.path, again.path.stat().st_mtime_ns) == (first.path, stamp)


def test_a_perturbation_of_nothing_is_refused(folder):
    (copy,) = perturb_images(cases("a.png"), folder / "out", images=folder, degrees=0, gain=0)
    assert "changes no pixel" in copy.problem
    assert not list((folder / "out").iterdir())


def test_doubtful_images_come_with_a_warning(folder):
    down, across = np.mgrid[0.6:1.2:300j, 0:1:300j]
    smooth = (down * across)[..., None] * HAEMATOXYLIN + (down * (1 - across))[..., None] * EOSIN
    Image.fromarray((240 * np.exp(-smooth)).astype(np.uint8)).save(folder / "drawing.png")
    (copy,) = perturb_images(cases("drawing.png"), folder / "out", images=folder)
    assert copy.path is not None
    assert "drawing.png: may not be histology" in copy.warning


def test_a_whole_slide_becomes_a_slide(slide_file, tmp_path):
    source = slide_file(on_glass(700, 1300, (200, 100, 800, 500)), mpp=0.25)
    told: list[tuple[int, int]] = []
    (copy,) = perturb_images(
        cases(source.name), tmp_path / "out", images=tmp_path, done=lambda tiles, of: told.append((tiles, of))
    )
    assert told[-1] == (8, 8)  # 3 × 2 tiles, then 2 × 1
    with open_image(source) as old, open_image(copy.path) as new:
        assert new.whole
        assert new.dimensions == old.dimensions
        assert new.mpp == pytest.approx(0.25)
        before, after = old.read(300, 200, 200, 200), new.read(300, 200, 200, 200)
        assert abs(before.astype(int) - after).mean() > 3
        assert abs(new.read(0, 0, 90, 90).astype(int) - 244).max() <= 3  # glass stays glass


def test_stains_of_a_slide_are_those_of_its_tissue(slide_file):
    pixels = on_glass(1200, 1200, (100, 100, 1000, 1000))
    with open_image(slide_file(pixels, mpp=None)) as slide:
        found = find_stains(slide)
    # JPEG softens single pixels, so the pure stains come out a little mixed.
    assert np.degrees(np.arccos((found.vectors * decompose(pixels).vectors).sum(axis=1))).max() < 12


@pytest.mark.data
def test_a_real_slide(data, tmp_path):
    given = cases("slides/broken.svs", "slides/small_pyramid.tiff", "slides/cmu_small_region.svs")
    broken, empty, copy = perturb_images(given, tmp_path, images=data)
    assert "broken.svs" in broken.problem
    assert "small_pyramid.tiff" in empty.problem
    with open_image(copy.path) as slide:
        assert slide.dimensions == (2220, 2967)
        assert slide.mpp == pytest.approx(0.499, abs=1e-4)


def test_an_overview_is_perturbed_without_a_copy_of_the_slide(tmp_path: Path, slide_file: Callable[..., Path]) -> None:
    from medassay.slides.perturb import perturb_overview

    slide = slide_file(on_glass(900, 1200, (100, 100, 900, 600)))
    case = Case("1", "x", image=str(slide))
    made = perturb_overview(case, tmp_path / "out", 300, seed=2)
    assert made.problem is None and made.path is not None
    assert perturb_overview(case, tmp_path / "out", 300, seed=2).path == made.path
    with open_image(made.path) as small, open_image(slide) as whole:
        assert small.dimensions == (300, 225)
        assert (small.read(0, 0, 300, 225) != whole.thumbnail(300)[0]).any()
    assert perturb_overview(Case("2", "x", image="gone.svs"), tmp_path, 300).path is None
