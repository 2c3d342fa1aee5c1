"""Encoders of BERT's architecture over rows laid end to end: no padding, few operations per layer, no waiting.

The library pads rows to a matrix, runs some twenty operations per layer from Python and looks at the mask on the
device before every batch; with short rows of unlike lengths that is most of the time. Here the rows of a batch are
one long sequence of tokens, whose bounds keep attention inside each row. The weights, embeddings and heads are the
library's own, so are the numbers, up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

_NORM_FIRST = {"bert": False, "roberta": False, "xlm-roberta": False, "camembert": False, "megatron-bert": True}
"""Families whose layers are understood here, and whether a layer's norm stands before it (Megatron: GatorTron)."""


@dataclass(frozen=True, slots=True)
class Layer:
    """The weights of one layer, each with its bias, and its two norms in the order in which they are met."""

    joined: tuple[Any, Any]
    out: tuple[Any, Any]
    inner: tuple[Any, Any]
    outer: tuple[Any, Any]
    norms: tuple[Any, Any]
    activation: Any


class Packed:
    """The layers and the head of a transformers model."""

    def __init__(self, model: Any, attend: Any) -> None:
        self.model, self.trunk = model, model.base_model
        config = model.config
        self.norm_first = _NORM_FIRST[config.model_type]
        self.heads = int(config.num_attention_heads)
        self.first_position = 0
        if config.model_type not in ("bert", "megatron-bert"):
            self.first_position = int(self.trunk.embeddings.padding_idx) + 1
        self.layers = [self._layer(layer) for layer in self.trunk.encoder.layer]
        self.attend = attend

    def _layer(self, layer: Any) -> Layer:
        import torch

        attention = layer.attention.self
        parts = (attention.query, attention.key, attention.value)
        with torch.no_grad():
            joined = torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts])
        norms = (
            (layer.attention.ln, layer.ln)
            if self.norm_first
            else (layer.attention.output.LayerNorm, layer.output.LayerNorm)
        )
        return Layer(
            joined,
            _weights(layer.attention.output.dense),
            _weights(layer.intermediate.dense),
            _weights(layer.output.dense),
            norms,
            layer.intermediate.intermediate_act_fn,
        )

    def __call__(self, inputs: dict[str, Any], longest: int) -> tuple[Any, Any]:
        """What the library's model would give for the padded rows (logits or last_hidden_state), and their mask."""
        import torch

        states = self._states(inputs, longest)
        bounds = inputs["bounds"]
        lengths = bounds[1:] - bounds[:-1]
        mask = torch.arange(longest, device=bounds.device) < lengths[:, None]
        kind = type(self.model).__name__
        if kind.endswith("ForSequenceClassification"):
            first = states[bounds[:-1].long()][:, None]
            pooler = getattr(self.trunk, "pooler", None)
            return SimpleNamespace(logits=self.model.classifier(pooler(first) if pooler is not None else first)), mask
        if kind.endswith("ForTokenClassification"):
            return SimpleNamespace(logits=_padded(self.model.classifier(states), inputs["places"], mask)), mask
        return SimpleNamespace(last_hidden_state=_padded(states, inputs["places"], mask)), mask

    def _states(self, inputs: dict[str, Any], longest: int) -> Any:
        from torch.nn.functional import layer_norm, linear

        def norm(values: Any, parameters: Any) -> Any:
            return layer_norm(values, parameters.normalized_shape, parameters.weight, parameters.bias, parameters.eps)

        states = self.trunk.embeddings(
            input_ids=inputs["input_ids"][None],
            token_type_ids=inputs["token_type_ids"][None],
            position_ids=inputs["position_ids"][None] + self.first_position,
        )[0]
        # The library's list may have been shortened for a while, to read the states of a lower layer.
        for layer in self.layers[: len(self.trunk.encoder.layer)]:
            first, second = layer.norms
            layer_input = norm(states, first) if self.norm_first else states
            query, key, value = linear(layer_input, *layer.joined).view(len(layer_input), 3, self.heads, -1).unbind(1)
            mixed = self.attend(query, key, value, inputs["bounds"], longest)
            states = linear(mixed.flatten(1), *layer.out).add_(states)
            if self.norm_first:
                layer_input = norm(states, second)
            else:
                layer_input = states = norm(states, first)
            states = linear(layer.activation(linear(layer_input, *layer.inner)), *layer.outer).add_(states)
            if not self.norm_first:
                states = norm(states, second)
        return norm(states, self.trunk.encoder.ln) if self.norm_first else states


def packed(model: Any) -> Packed | None:
    """The model in packed form; None where its architecture is another, or this torch lacks the attention for it."""
    config = model.config
    if config.model_type not in _NORM_FIRST or getattr(config, "is_decoder", False):
        return None
    if getattr(config, "position_embedding_type", None) not in (None, "absolute"):
        return None
    heads = ("ForSequenceClassification", "ForTokenClassification")
    if not type(model).__name__.endswith(heads) and model.base_model is not model:
        return None
    attend = _attention(next(model.parameters()))
    return Packed(model, attend) if attend is not None else None


def _attention(weight: Any) -> Any:
    """Attention inside rows: flash attention on CUDA in half precision, row by row on the CPU."""
    if not weight.is_cuda:
        return _row_by_row
    import torch

    # Flash attention is for half precision, on cards from Ampere on.
    if weight.element_size() != 2 or torch.cuda.get_device_capability(weight.device) < (8, 0):
        return None
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:  # torch before 2.10
        return None

    def attend(query: Any, key: Any, value: Any, bounds: Any, longest: int) -> Any:
        return varlen_attn(query, key, value, bounds, bounds, longest, longest)

    return attend


def _row_by_row(query: Any, key: Any, value: Any, bounds: Any, longest: int) -> Any:
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    sizes = (bounds[1:] - bounds[:-1]).tolist()
    rows = zip(*(part.transpose(0, 1).split(sizes, 1) for part in (query, key, value)))
    return torch.cat([scaled_dot_product_attention(*(part[None] for part in row))[0] for row in rows], 1).transpose(
        0, 1
    )


def _padded(values: Any, places: Any, mask: Any) -> Any:
    padded = values.new_zeros(mask.numel(), values.shape[-1])
    padded[places] = values
    return padded.view(*mask.shape, -1)


def _weights(linear: Any) -> tuple[Any, Any]:
    return linear.weight, linear.bias
