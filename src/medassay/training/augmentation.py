"""Augmentation of histology images: other staining, magnification, angle, blur and noise.

Stains change in optical density, where they add up (Ruifrok and Johnston 2001): hematoxylin, eosin and the residual
each get stronger or weaker.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

STAINS = ((0.65, 0.70, 0.29), (0.07, 0.99, 0.11), (0.27, 0.57, 0.78))
"""Red, green and blue density of hematoxylin, eosin and the residual."""
GAINS = (0.28, 0.28, 0.4)
"""How much stronger or weaker each may get."""
SMALLEST, LARGEST = 0.55, 1.15
"""Share of the field's side that is shown; beyond 1 the field is mirrored at its edge."""


def augment(pixels: Tensor, random: torch.Generator) -> Tensor:
    """One augmented copy of each of the images, bytes [images, side, side, 3], of the same shape."""
    changed = _moved(_stained(pixels.permute(0, 3, 1, 2).float(), random), random)
    soft = F.avg_pool2d(F.pad(changed, (1, 1, 1, 1), mode="replicate"), 3, 1)
    count = len(changed)
    blur = (_uniform((count, 1, 1, 1), 0, 1, random) < 0.3) * _uniform((count, 1, 1, 1), 0, 1, random)
    changed = changed * (1 - blur) + soft * blur
    changed = changed + 3 * torch.randn(changed.shape, generator=random)
    return changed.clamp(0, 255).round().byte().permute(0, 2, 3, 1)


def _stained(pixels: Tensor, random: torch.Generator) -> Tensor:
    count = len(pixels)
    stains = F.normalize(torch.tensor(STAINS), dim=1)
    gain = 1 + _uniform((count, 3), -1, 1, random) * torch.tensor(GAINS)
    mixed = torch.linalg.inv(stains) @ (gain[:, :, None] * stains)
    mixed = mixed + 0.03 * torch.randn((count, 3, 3), generator=random)
    mixed = mixed * _uniform((count, 1, 3), 0.88, 1.12, random) * _uniform((count, 1, 1), -0.28, 0.28, random).exp()
    density = torch.einsum("nchw,ncd->ndhw", -torch.log((pixels + 1) / 256), mixed)
    density = density + _uniform((count, 3, 1, 1), -0.03, 0.03, random)
    return (torch.exp(-density) * 256 - 1).clamp(0, 255)


def _moved(pixels: Tensor, random: torch.Generator) -> Tensor:
    """Scaled, turned, mirrored, and moved within the field."""
    count, side = len(pixels), pixels.shape[-1]
    size = _uniform((count,), math.log(SMALLEST), math.log(LARGEST), random).exp()
    ratio = _uniform((count,), -0.12, 0.12, random).exp()
    quarter = torch.randint(0, 4, (count,), generator=random) * (math.pi / 2)
    angle = quarter + _uniform((count,), -0.35, 0.35, random)
    mirror = torch.randint(0, 2, (count,), generator=random) * 2 - 1
    room = (1 - size).clamp(min=0)
    across, down = size * ratio, size / ratio
    x, y = _uniform((count,), -1, 1, random) * room, _uniform((count,), -1, 1, random) * room
    rows = (angle.cos() * across * mirror, -angle.sin() * down, x, angle.sin() * across * mirror, angle.cos() * down, y)
    grid = F.affine_grid(torch.stack(rows, 1).view(count, 2, 3), [count, 3, side, side], align_corners=False)
    return F.grid_sample(pixels, grid, padding_mode="reflection", align_corners=False)


def _uniform(shape: tuple[int, ...], low: float, high: float, random: torch.Generator) -> Tensor:
    return low + (high - low) * torch.rand(shape, generator=random)
