"""The trust example: drawn pictures that pass for stained, histories that are false for their reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.cases import read_cases
from medassay.examples.tissue import draw_tissue
from medassay.metrics.histories import histories, organ_of

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


def test_the_cases_are_whole(tmp_path: Path) -> None:
    from medassay.examples.trust_demo import write_trust_example

    path = write_trust_example(tmp_path / "demo")
    known = {one.id: one for one in histories()}
    cases = [row.case for row in read_cases(path, strict=True)]
    assert len(cases) == 6
    for case in cases:
        assert case is not None and case.image is not None
        assert (path.parent / case.image).is_file()
        told = known[str(case.extra["attack_history"])]
        assert not told.suggests.search(case.candidate) and told.organ == organ_of(case.candidate)
