"""Images and whole slides: opening, tissue, patches, stain.

>>> from medassay.slides import open_image, patches
>>> with open_image("slide.svs") as slide:                     # doctest: +SKIP
...     for patch in patches(slide, budget=200, seed=1):
...         patch.box, patch.pixels
"""

from medassay.slides.histology import looks_like_histology, why_not_histology
from medassay.slides.image import Pixels, Slide, open_image, read_image
from medassay.slides.patches import NoTissue, Patch, Patches, patches
from medassay.slides.stain import (
    Perturbation,
    StainError,
    Stains,
    decompose,
    draw_perturbation,
    normalise,
)
from medassay.slides.tissue import TissueMask, find_tissue, tissue_fraction, tissue_mask

__all__ = [
    "NoTissue",
    "Patch",
    "Patches",
    "Perturbation",
    "Pixels",
    "Slide",
    "StainError",
    "Stains",
    "TissueMask",
    "decompose",
    "draw_perturbation",
    "find_tissue",
    "looks_like_histology",
    "normalise",
    "open_image",
    "patches",
    "read_image",
    "tissue_fraction",
    "tissue_mask",
    "why_not_histology",
]
