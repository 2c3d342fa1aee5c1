"""Trust policies: weights as typed, the file, and the route of a report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.metrics.dimensions import three

from medassay.errors import InputError, MedassayError
from medassay.metrics.policy import Policy, parse_weights, read_policy
from medassay.metrics.trust import Trust


def test_a_policy_that_deploys_partial_trust_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(json.loads(Policy().to_json()) | {"partial": "deploy"}))
    with pytest.raises(InputError, match="never deploys"):
        read_policy(path)


def test_weights_as_typed() -> None:
    assert parse_weights("2 1 1") == {"grounding": 0.5, "logic": 0.25, "stability": 0.25}
    assert parse_weights("0.4:0.3:0.3") == {"grounding": 0.4, "logic": 0.3, "stability": 0.3}
    for wrong in ("", "1,2", "a,b,c", "0,0,0", "-1,1,1", "nan,1,1", "inf,1,1", "colour=1"):
        with pytest.raises(MedassayError, match="weights"):
            parse_weights(wrong)


def test_a_policy_comes_back_from_its_file(tmp_path: Path) -> None:
    policy = Policy("mine", {"grounding": 1, "logic": 1}, deploy=0.7, reject=None, floors={}, calibration={"n": 80})
    path = tmp_path / "policy.json"
    path.write_text(policy.to_json())
    assert read_policy(path) == policy
    assert Trust(three(), policy=str(path)).signature == Trust(three(), policy=policy).signature


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("{}", "not a trust policy"),
        ('{"kind": "trust policy"}', "weights"),
        ('{"kind": "trust policy", "weights": {"logic": 1}, "deploy": 2, "reject": null}', "between 0 and 1"),
        ('{"kind": "trust policy", "weights": {"logic": 1}, "deploy": 0.2, "reject": 0.4}', "must not be above"),
        ('{"kind": "trust policy", "weights": {"logic": "x"}, "deploy": 0.2, "reject": 0.1}', "number"),
    ],
)
def test_a_broken_policy_is_told(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "policy.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as stop:
        read_policy(path)
    assert str(path) in str(stop.value)


def test_a_route_follows_from_trust_and_floors() -> None:
    policy = Policy(deploy=0.8, reject=0.4, floors={"logic": 0.5})
    good = {"grounding": 0.9, "logic": 0.9, "stability": 0.9}
    assert policy.route(0.9, good, "")[0] == "deploy"
    assert policy.route(0.6, good, "") == ("review", "trust 0.600 is below 0.8")
    assert policy.route(0.3, good, "") == ("reject", "trust 0.300 is below 0.4")
    assert policy.route(0.9, good | {"logic": 0.45}, "") == ("review", "logic 0.450 is below its floor 0.5")


def test_policies_that_route_alike_share_a_digest() -> None:
    assert Policy("a").digest == Policy("b", calibration={"n": 1}).digest != Policy(deploy=0.9).digest
