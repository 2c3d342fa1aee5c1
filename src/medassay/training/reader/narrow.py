"""Make the layers of a reader narrower, so that it answers faster, before it is trained further.

The inner linear map of a layer has four times as many outputs as the layer has channels, and most of the time is spent
there. Outputs are removed that the others can best stand in for, and what reads the remaining ones is fitted by least
squares to give what the whole map gave (optimal brain surgeon, Hassibi and Stork 1993, by blocks).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from medassay.models.reader_network import Reader

SHARE = 48
"""Of this many outputs one is removed at a time: of outputs that repeat each other not all may go together."""

DAMPING = 1e-3
"""What is added to the diagonal of the covariance, as a share of its mean."""


@dataclass
class Moments:
    """Running sums over tokens of what an inner map gives: its values and their products.

    In 64 bits: the covariance is nearly singular, and what is lost in 32, or in the 19 that a graphics card may
    multiply in, comes back large in its inverse.
    """

    count: float
    sums: Tensor
    products: Tensor

    def add(self, values: Tensor) -> None:
        """Count more tokens; values: [tokens, inner]."""
        self.count += len(values)
        self.sums += values.sum(0)
        self.products += values.T @ values

    @property
    def mean(self) -> Tensor:
        """The mean over tokens, [inner]."""
        return self.sums / self.count

    @property
    def covariance(self) -> Tensor:
        """[inner, inner], with a damped diagonal."""
        covariance = self.products / self.count - torch.outer(self.mean, self.mean)
        damping = DAMPING * covariance.diagonal().mean()
        return covariance + damping * torch.eye(len(covariance), device=covariance.device, dtype=covariance.dtype)


def narrowed(reader: Reader, inner: int, batches: Iterable[tuple[Tensor, Tensor, Tensor]]) -> Reader:
    """A reader with inner maps of `inner` outputs that gives nearly what the given one gives.

    Args:
        reader: the reader; it is not changed.
        inner: outputs of each inner map.
        batches: ids, mask and statement of some pairs, which show what the inner maps give.
    """
    moments = _moments(reader, batches)
    state = dict(reader.state_dict())
    for number, layer in enumerate(reader.encoder.layers):
        name = f"encoder.layers.{number}"
        kept, weight, bias = _reduced(layer.outer, moments[number], inner)
        state[f"{name}.inner.weight"] = state[f"{name}.inner.weight"][kept]
        state[f"{name}.inner.bias"] = state[f"{name}.inner.bias"][kept]
        state[f"{name}.outer.weight"], state[f"{name}.outer.bias"] = weight, bias
    smaller = Reader(replace(reader.shape, inner=inner), reader.encoder.dropout)
    smaller.load_state_dict(state)
    return smaller.to(next(reader.parameters()).device)


def _moments(reader: Reader, batches: Iterable[tuple[Tensor, Tensor, Tensor]]) -> list[Moments]:
    inner, device = reader.shape.inner, next(reader.parameters()).device
    moments = [
        Moments(0.0, *(torch.zeros(*size, device=device, dtype=torch.float64) for size in ((inner,), (inner, inner))))
        for _ in reader.encoder.layers
    ]
    mask = torch.empty(0)
    hooks = []
    for layer, sums in zip(reader.encoder.layers, moments):

        def record(_: nn.Module, given: tuple[Any, ...], sums: Moments = sums) -> None:
            sums.add(given[0][mask.bool()].double())

        hooks.append(layer.outer.register_forward_pre_hook(record))
    training = reader.training
    reader.eval()
    with torch.no_grad():
        for ids, mask, statement in batches:
            reader(ids, mask, statement)
    for hook in hooks:
        hook.remove()
    reader.train(training)
    return moments


def _reduced(outer: nn.Linear, moments: Moments, inner: int) -> tuple[Tensor, Tensor, Tensor]:
    """Which outputs of the inner map are kept, and the weight and bias of what reads them."""
    covariance, mean = moments.covariance, moments.mean
    whole = outer.weight.detach().T.double()
    target = covariance @ whole
    kept = torch.arange(len(mean), device=mean.device)
    while True:
        inverse = torch.linalg.inv(covariance[kept][:, kept])
        weight = inverse @ target[kept]
        if len(kept) <= inner:
            break
        # What removing one output alone would add to the squared error.
        cost = weight.square().sum(1) / inverse.diagonal()
        stay = cost.argsort(descending=True)[: max(inner, len(kept) - max(1, len(kept) // SHARE))]
        kept = kept[stay.sort().values]
    bias = outer.bias.detach() + mean @ whole - mean[kept] @ weight
    return kept, weight.T.float().contiguous(), bias.float()
