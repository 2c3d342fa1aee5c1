"""Case files and images of trust runs."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

REPORT = "Colon, biopsy: Invasive adenocarcinoma. No necrosis is seen."


def table(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as CSV."""
    header = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, header)
        writer.writeheader()
        writer.writerows(rows)
    return path


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def write_images(folder: Path) -> Path:
    """Three tiles of tissue, `t0.png` to `t2.png`."""
    from PIL import Image
    from tests.slides.made import tissue

    folder.mkdir()
    for k in range(3):
        Image.fromarray(tissue(256, 256, seed=k)).save(folder / f"t{k}.png")
    return folder
