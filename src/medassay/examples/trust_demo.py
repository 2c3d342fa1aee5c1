"""The trust demonstration: drawn pictures, made-up reports, every part of `medassay trust`.

The pictures are synthetic (`tissue.py`) and the reports were written for medassay: the numbers show that the
parts work, and nothing else.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from medassay.errors import InputError, MissingExtra
from medassay.examples.tissue import Kind, draw_tissue

PICTURES: dict[str, tuple[Kind, int]] = {
    "glands-1.png": ("glands", 1),
    "sheets-1.png": ("sheets", 2),
    "pearls-1.png": ("pearls", 3),
}


def write_trust_example(folder: Path) -> Path:
    """The pictures and the case file, in a folder; returns the case file."""
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise MissingExtra("the trust demonstration", "slides") from error
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, (kind, seed) in PICTURES.items():
            Image.fromarray(draw_tissue(kind, seed=seed)).save(folder / name)
        shutil.copyfile(Path(__file__).with_name("trust.csv"), folder / "trust.csv")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); choose another --out") from error
    return folder / "trust.csv"
