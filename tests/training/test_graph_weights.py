"""Exported graphs give back the weights that they were written from, and a model set is trained further."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.errors import ModelError
from medassay.training.annotation import Segment

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
pytestmark = pytest.mark.hf
from medassay.training import ner, relations  # noqa: E402
from medassay.training.bert import load_encoder  # noqa: E402
from medassay.training.export import export_ner, export_relations, export_trunk, write_set  # noqa: E402
from medassay.training.graph_weights import encoder_of, graph_weights, is_model_set, load_part  # noqa: E402
from medassay.training.loop import Schedule  # noqa: E402

NONE = Schedule(epochs=1, rate=0.0, head_rate=0.0, batch=8)


def _varied(model: torch.nn.Module) -> None:
    """Give biases and norms values of their own: the exporter keeps one of several equal vectors."""
    for value in model.parameters():
        if value.ndim == 1:
            torch.nn.init.normal_(value, 1.0, 0.1)


def _entity_set(base: Path, out: Path) -> ner.EntityModel:
    torch.manual_seed(1)
    model = ner.EntityModel(load_encoder(base, 2), len(ner.bio_labels()))
    _varied(model)
    export_trunk(model.encoder, out)
    export_ner(model, out)
    write_set(out, str(base), "ner", {"graph": "ner.onnx"}, {})
    return model


def test_weights_come_back_within_their_rounding(tiny_base: Path, tmp_path: Path) -> None:
    model = _entity_set(tiny_base, tmp_path)
    state = model.encoder.trunk.state_dict() | {f"model.{name}": value for name, value in model.state_dict().items()}
    for file in ("trunk.onnx", "ner.onnx"):
        for name, value in graph_weights(tmp_path / file).items():
            step = state[name].abs().max() / 127
            assert torch.allclose(value, state[name], atol=float(step)), name


def test_a_model_set_is_trained_further_from_its_own_weights(
    tiny_base: Path, tmp_path: Path, segments: list[Segment]
) -> None:
    model = _entity_set(tiny_base, tmp_path)
    assert is_model_set(tmp_path)
    assert not is_model_set(tiny_base)
    again, _ = ner.train_ner(segments, tmp_path, NONE)
    assert len(again.encoder.upper.layers) == len(model.encoder.upper.layers)
    assert torch.allclose(again.head.weight, model.head.weight, atol=0.01)


def test_relations_are_trained_further_too(tiny_base: Path, tmp_path: Path, segments: list[Segment]) -> None:
    torch.manual_seed(2)
    model = relations.RelationModel(load_encoder(tiny_base, 2))
    _varied(model)
    export_trunk(model.encoder, tmp_path)
    export_relations(model, tmp_path)
    write_set(tmp_path, str(tiny_base), "re", {"graph": "relations.onnx"}, {})
    again, _ = relations.train_re(segments, tmp_path, NONE)
    for name, value in model.state_dict().items():
        assert torch.allclose(again.state_dict()[name].cpu(), value, atol=float(value.abs().max() / 100 + 1e-6)), name


def test_another_role_is_refused(tiny_base: Path, tmp_path: Path) -> None:
    _entity_set(tiny_base, tmp_path)
    with pytest.raises(ModelError, match="other parts than the recipe"):
        load_part(relations.RelationModel(encoder_of(tmp_path, "ner")), tmp_path, "ner")
