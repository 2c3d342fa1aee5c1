"""Where metrics are measured, and how many cases they are given."""

from __future__ import annotations

import pickle

import pytest
from tests.engine.sample import Deadly

from medassay.engine.placement import checkpoint_every, placement
from medassay.metrics.registry import load_metric, load_metrics
from medassay.metrics.scoring import leaves


class Waiting(Deadly):
    name = "waiting"
    waits_for_network = True


def test_placements() -> None:
    rouge, part, ensemble = load_metrics("rouge1,rouge1_r,z(bleu,chrf)")
    assert [metric.name for metric in leaves([rouge, ensemble, rouge, part])] == ["rouge1", "bleu", "chrf", "rouge1"]
    assert placement(rouge) == "cores"
    assert placement(Waiting()) == "network"
    onnx, torch = Deadly(), Deadly()
    onnx.roles, torch.roles = (("nli", "embedded"),), (("nli", "paper"),)
    assert (placement(onnx), placement(torch)) == ("cores", "device")


def test_a_part_is_placed_as_its_whole() -> None:
    part = load_metric("judge(url=http://127.0.0.1:9/v1,model=m).accuracy")
    (whole,) = leaves([part])
    assert (placement(whole), checkpoint_every(whole)) == ("network", 16)
    assert pickle.loads(pickle.dumps(whole)).signature == whole.signature


@pytest.mark.parametrize(
    "request_", ["hare", "expert", "bertscore", "logic", "grounding", "stability", "bartscore", "fidelity", "note"]
)
def test_every_model_that_a_metric_holds_is_declared(request_: str) -> None:
    """A metric is placed by its roles, so a model that is loaded must be among them."""
    (metric,) = load_metrics(request_)
    held = {one.loaded_from[0] for one in vars(metric).values() if hasattr(one, "loaded_from")}
    assert held <= {role for role, _ in metric.roles} and metric.roles
    assert placement(metric) == "cores"
