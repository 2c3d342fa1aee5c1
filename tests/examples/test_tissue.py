"""The trust example: drawn pictures that pass for stained."""

from __future__ import annotations

import pytest

from medassay.examples.tissue import draw_tissue

pytest.importorskip("PIL", reason="needs the extra slides")
pytest.importorskip("openslide", reason="needs the extra slides")


def test_the_pictures_have_two_stains_and_tissue() -> None:
    from medassay.slides import decompose, looks_like_histology, tissue_fraction

    for kind in ("glands", "sheets", "pearls"):
        pixels = draw_tissue(kind, 256)  # type: ignore[arg-type]
        assert looks_like_histology(pixels) and tissue_fraction(pixels) > 0.5
        assert decompose(pixels).vectors.shape == (2, 3)
        assert (pixels == draw_tissue(kind, 256)).all()  # type: ignore[arg-type]
    assert tissue_fraction(draw_tissue("blank", 256)) < 0.01
