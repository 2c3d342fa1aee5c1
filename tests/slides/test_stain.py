"""Macenko's stains: against known mixtures, against torchstain, and where there is nothing to find."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.slides.made import EOSIN, HAEMATOXYLIN, on_glass, tissue

from medassay.errors import InputError
from medassay.slides import StainError, decompose, draw_perturbation, normalise, open_image
from medassay.slides.stain import REFERENCE, Stains


def degrees(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.degrees(np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1, 1))))


def test_known_stains_are_found():
    stains = decompose(tissue(200, 200))
    assert degrees(stains.vectors[0], HAEMATOXYLIN) < 2
    assert degrees(stains.vectors[1], EOSIN) < 2
    assert stains.strengths == pytest.approx([1.57, 1.0], abs=0.1)  # near the largest amounts put in
    assert stains.tissue > 0.99


def test_glass_does_not_matter():
    alone, with_glass = decompose(tissue(150, 150)), decompose(on_glass(300, 300, (20, 20, 150, 150)))
    assert degrees(alone.vectors[0], with_glass.vectors[0]) < 0.5
    assert with_glass.tissue == pytest.approx(0.25, abs=0.01)


def test_several_tiles_are_one_decomposition():
    tiles = np.concatenate([tissue(100, 100, seed) for seed in range(3)])
    assert degrees(decompose(tiles).vectors[1], decompose(tissue(100, 100)).vectors[1]) < 1


def test_overexposed_tissue_still_has_stains():
    bright = tissue(150, 150)
    # Twice the light: red is saturated in all but the nuclei, and by the published rule no pixel of stroma is stained.
    bright = np.clip(bright * 2.2, 0, 255).astype(np.uint8)
    stains = decompose(bright)
    assert stains.overexposed
    assert (stains.vectors >= 0).all()
    assert not np.array_equal(draw_perturbation(stains, 1).apply(bright), bright)


@pytest.mark.parametrize(
    ("pixels", "message"),
    [
        (np.full((64, 64, 3), 255, np.uint8), r"0\.0% of the pixels are stained"),
        (np.full((64, 64, 3), 244, np.uint8), r"0\.0% of the pixels are stained"),
        (on_glass(300, 300, (5, 5, 19, 19)), r"0\.4% of the pixels"),
        (tissue(19, 19), "too few"),
        (np.full((64, 64, 3), (150, 60, 120), np.uint8), "only one colour"),
        (np.full((64, 64, 3), 90, np.uint8), "only one colour"),
    ],
    ids=["white", "glass", "little", "tiny", "one colour", "grey"],
)
def test_too_little_to_tell(pixels, message):
    with pytest.raises(StainError, match=f"tile.png: .*{message}"):
        decompose(pixels, "tile.png")


def test_normalising_brings_an_image_to_the_target():
    pixels = tissue(200, 200)
    found = decompose(normalise(pixels))
    assert degrees(found.vectors[0], REFERENCE.vectors[0]) < 2
    assert degrees(found.vectors[1], REFERENCE.vectors[1]) < 2
    assert found.strengths == pytest.approx(REFERENCE.strengths, rel=0.05)


def published(pixels: np.ndarray) -> np.ndarray:
    """Macenko's normalisation step by step in double precision, as his authors and torchstain wrote it."""
    density = -np.log((pixels.reshape(-1, 3).astype(float) + 1) / 240)
    kept = density[~np.any(density < 0.15, axis=1)]
    _, axes = np.linalg.eigh(np.cov(kept.T))
    plane = axes[:, 1:3]
    angle = np.arctan2((kept @ plane)[:, 1], (kept @ plane)[:, 0])
    low, high = (plane @ [np.cos(phi), np.sin(phi)] for phi in np.percentile(angle, [1, 99]))
    stains = np.array([low, high] if low[0] > high[0] else [high, low]).T
    amounts = np.linalg.lstsq(stains, density.T, rcond=None)[0]
    amounts *= (REFERENCE.strengths / np.percentile(amounts, 99, axis=1))[:, None]
    return np.clip(240 * np.exp(-REFERENCE.vectors.T @ amounts), 0, 255).T.reshape(pixels.shape).astype(np.uint8)


def test_normalising_is_the_published_arithmetic():
    for pixels in (on_glass(256, 256, (30, 10, 200, 180)), tissue(200, 100, seed=3)):
        # Single precision may round a value to its neighbour.
        assert abs(published(pixels).astype(int) - normalise(pixels)).max() <= 1


def test_normalising_agrees_with_torchstain():
    torchstain = pytest.importorskip(
        "torchstain", reason="torchstain is installed by hand: it brings a package 'tests'"
    )
    pixels = on_glass(256, 256, (30, 10, 200, 180))
    theirs, _, _ = torchstain.normalizers.MacenkoNormalizer(backend="numpy").normalize(pixels, stains=False)
    assert abs(theirs.astype(int) - normalise(pixels)).max() <= 1


@given(st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_a_perturbation_changes_tissue_and_leaves_white(seed):
    pixels = on_glass(60, 60, (0, 0, 40, 60))
    pixels[:, 50:] = 255
    change = draw_perturbation(decompose(pixels), seed)
    for old, new in zip(change.stains.vectors, change.vectors):
        assert degrees(old, new) <= 8.0001
        assert (new >= 0).all()
    assert ((abs(change.gains - 1) >= 0.125) & (abs(change.gains - 1) <= 0.25)).all()
    changed = change.apply(pixels)
    assert abs(changed[:, :40].astype(int) - pixels[:, :40]).mean() > 3
    assert (changed[:, 50:] == 255).all()
    assert abs(changed[:, 40:50].astype(int) - 244).max() <= 1


def test_a_perturbation_is_seeded():
    pixels = tissue(80, 80)
    stains = decompose(pixels)
    first, again, other = (draw_perturbation(stains, seed).apply(pixels) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_no_change_gives_back_every_value():
    ramp = np.stack([np.arange(256, dtype=np.uint8)] * 3, axis=1)[None]
    stains = Stains(np.stack([HAEMATOXYLIN, EOSIN]), np.ones(2), 1.0)
    assert np.array_equal(draw_perturbation(stains, 0, degrees=0, gain=0).apply(ramp), ramp)


def test_a_perturbation_of_a_tile_is_that_of_the_whole():
    pixels = tissue(300, 300)  # more pixels than one band
    change = draw_perturbation(decompose(pixels), 3)
    assert np.array_equal(change.apply(pixels)[40:90, 60:99], change.apply(pixels[40:90, 60:99]))


def test_wrong_sizes_are_refused():
    stains = decompose(tissue(80, 80))
    for wrong in ({"degrees": 31.0}, {"gain": 1.0}, {"degrees": -1.0}):
        with pytest.raises(InputError, match="stain perturbation"):
            draw_perturbation(stains, 0, **wrong)


@pytest.mark.data
def test_real_tissue(data):
    with open_image(data / "slides" / "cmu_small_region.svs") as slide:
        pixels = slide.read(900, 1300, 256, 256)
    assert abs(published(pixels).astype(int) - normalise(pixels)).max() <= 1
