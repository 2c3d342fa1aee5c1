"""The image recipe: reading the sets, the tower, the ridge map, and a model folder that loads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("PIL")
from medassay.training.histology import Sample, tagged_texts
from medassay.training.image import fit, vocabulary_of

from .planted import planted_map

pytestmark = pytest.mark.hf


def test_standing_of_a_text_is_its_cosine_with_the_images() -> None:
    seen, samples, vectors = planted_map()
    maps = fit(seen, samples, vectors)
    text = maps.texts(np.stack(list(vectors.values()))[:1])
    cosines = (maps.images(seen[0]) @ text.T)[:, 0]
    assert float(text[0] @ maps.bank_mean) == pytest.approx(float(cosines.mean()), abs=1e-4)
    assert float(np.linalg.norm(text @ maps.bank_root)) == pytest.approx(float(cosines.std()), rel=1e-3)


def section(number: int, source: str, organ: str, process: str, closed: bool = False) -> Sample:
    texts = tuple(tagged_texts((f"{organ} tissue",), organ, process))
    place = (Path(f"{number}.jpg"), source, "label", f"{source} {number}")
    return Sample(*place, organ, process, "", (f"{organ} tissue",), texts, closed)


def test_the_vocabulary_keeps_organs_and_counted_diagnoses() -> None:
    samples = [section(i, "one", "liver", "n") for i in range(5)] + [section(9, "one", "breast", "a")]
    known = {text: (kind, count) for text, kind, count in vocabulary_of(samples, least=5)}
    assert known["liver tissue"] == ("phrase", 5) and known["breast"] == ("organ", 1) and known["carcinoma"][1] == 1
    assert "breast tissue" not in known
    assert "breast tissue" in {text for text, _, _ in vocabulary_of(samples)}
