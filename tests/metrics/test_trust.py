"""Trust: a weighted mean of three dimensions, honest about what is missing; and the route."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.dimensions import Given, three

from medassay.cases import Case
from medassay.engine.scores_file import FlatRecords
from medassay.errors import MedassayError
from medassay.metrics.policy import Policy
from medassay.metrics.trust import Trust
from medassay.scores import Score


def case(**extra: float | str | None) -> Case:
    return Case("1", "A report.", extra=extra)


def only(metric: Trust, **extra: float | str | None) -> Score:
    [score] = metric.score([case(**extra)])
    return score


def test_the_published_weights() -> None:
    score = only(Trust(three()), g=0.9, l=0.8, s=0.5)
    # 0.4 · 0.9 + 0.3 · 0.8 + 0.3 · 0.5
    assert score.value == pytest.approx(0.75)
    assert score.parts == {"grounding": 0.9, "logic": 0.8, "stability": 0.5, "weight": 1.0}
    assert "trust.partial" not in score.labels


def test_a_missing_dimension_is_named_and_leaves_no_number() -> None:
    score = only(Trust(three()), g=0.9, l=0.8)
    assert score.value is None and score.unscored == "partial: stability: not given"
    assert score.parts == {"grounding": 0.9, "logic": 0.8, "weight": pytest.approx(0.7)}
    assert score.labels["trust.partial"] == "stability: not given"
    assert score.labels["route"] == "review"
    assert score.labels["route.why"] == "trust is partial (stability: not given)"


def test_half_a_stability_is_partial_too() -> None:
    score = only(Trust(three()), g=1.0, l=1.0, s="1½")
    assert score.value is None
    # 0.4 + 0.3 + half of 0.3
    assert score.parts["weight"] == pytest.approx(0.85)
    assert score.labels["trust.partial"] == "stability in part: only stain"
    assert score.labels["route"] == "review"


def test_nothing_assessed_is_no_number_and_goes_to_a_person() -> None:
    score = only(Trust(three()))
    assert score.value is None
    assert score.unscored == "grounding: not given; logic: not given; stability: not given"
    assert score.labels["route"] == "review"


def test_no_report_has_no_route() -> None:
    [score] = Trust(three()).score([Case("1", " ")])
    assert score.unscored == "empty candidate"
    assert score.labels == {"route.unscored": "empty candidate"}


def test_a_dimension_of_weight_0_is_not_missed() -> None:
    score = only(Trust(three(), weights="0.5,0.5,0"), g=1.0, l=1.0)
    assert score.value == 1.0
    assert score.labels["route"] == "deploy"


@pytest.mark.parametrize(
    ("g", "l", "s", "route"),
    [
        (1.0, 1.0, 1.0, "deploy"),
        (1.0, 0.49, 1.0, "review"),  # 0.847 is below 0.85
        (1.0, 0.8, 0.49, "review"),
        (0.7, 0.7, 0.7, "review"),
        (0.3, 0.4, 0.4, "reject"),
    ],
)
def test_default_routes(g: float, l: float, s: float, route: str) -> None:  # noqa: E741
    assert only(Trust(three()), g=g, l=l, s=s).labels["route"] == route


def test_a_floor_keeps_one_bad_dimension_from_hiding() -> None:
    policy = Policy(deploy=0.6)
    score = only(Trust(three(), policy=policy), g=1.0, l=0.2, s=1.0)
    assert score.labels["route"] == "review"
    assert score.labels["route.why"] == "logic 0.200 is below its floor 0.5"


@pytest.mark.parametrize("policy", [Policy(), Policy(deploy=0.0, reject=0.0, floors={}), Policy(deploy=None)])
def test_partial_trust_has_no_number_and_never_deploys(policy: Policy) -> None:
    for extra in ({"l": 1.0}, {"g": 1.0, "l": 1.0}, {"s": 1.0}, {"g": 1.0, "l": 1.0, "s": "1½"}):
        score = only(Trust(three(), policy=policy), **extra)
        assert score.value is None and score.unscored is not None and score.unscored.startswith("partial: ")
        assert score.labels["route"] == "review"


def test_partial_trust_is_rejected_only_where_nothing_could_save_it() -> None:
    # With a perfect stability trust would be 0.3, below 0.4.
    rejected = only(Trust(three()), g=0.0, l=0.0)
    assert rejected.value is None and rejected.labels["route"] == "reject"
    assert "whatever is missing" in rejected.labels["route.why"]
    # With a perfect grounding 0.4: not below.
    assert only(Trust(three()), l=0.0, s=0.0).labels["route"] == "review"
    # Half of a stability may be outweighed by the other half.
    assert only(Trust(three()), g=0.3, l=0.0, s="0½").labels["route"] == "review"


def test_the_row_has_its_columns_in_order() -> None:
    metric = Trust(three())
    one = case(g=1.0, l=1.0, s=1.0)
    record = FlatRecords([metric])(one, {"trust": metric.score([one])[0]})
    ours = [name for name in record if name.startswith(("trust", "route"))]
    assert ours == [
        *("trust", "trust.grounding", "trust.logic", "trust.stability", "trust.weight"),
        *("trust.unscored", "trust.failed", "trust.partial", "route", "route.why", "route.unscored"),
    ]
    assert record["route"] == "deploy" and record["trust.partial"] is None


def test_labels_survive_the_store() -> None:
    partial = only(Trust(three()), g=0.5)
    for score in (Score(0.5, labels={"route": "review"}), Score.none("why", {"route": "review"}), partial):
        assert Score.from_json(score.to_json()) == score


def test_members_must_be_the_dimensions() -> None:
    with pytest.raises(MedassayError, match="no further dimension"):
        Trust([Given("colour")])
    with pytest.raises(MedassayError, match="no further dimension"):
        Trust([Given("logic"), Given("logic")])


share = st.floats(0, 1)


@given(st.lists(share, min_size=3, max_size=3), st.lists(st.floats(0.01, 1), min_size=3, max_size=3))
def test_trust_lies_between_its_dimensions(values: list[float], weights: list[float]) -> None:
    metric = Trust(three(), weights=dict(zip(("grounding", "logic", "stability"), weights)))
    score = only(metric, g=values[0], l=values[1], s=values[2])
    assert score.value is not None
    assert min(values) - 1e-9 <= score.value <= max(values) + 1e-9


@given(share, share, share, share)
def test_more_trust_never_means_a_worse_route(g: float, l: float, s: float, more: float) -> None:  # noqa: E741
    order = ["reject", "review", "deploy"]
    metric = Trust(three())
    before = only(metric, g=g, l=l, s=s).labels["route"]
    after = only(metric, g=max(g, more), l=max(l, more), s=max(s, more)).labels["route"]
    assert order.index(after) >= order.index(before)


def test_the_evidence_is_json() -> None:
    json.dumps(dict(only(Trust(three()), g=0.5).evidence))


def test_a_dimension_is_measured_once_though_asked_for_twice() -> None:
    from medassay.engine.local import score_cases

    class Counted(Given):
        count = 0

        def measure(self, cases, evidence=False):  # type: ignore[no-untyped-def]
            Counted.count += 1
            return super().measure(cases, evidence)

    metric = Trust([Counted("logic"), *three()[::2]])
    result = score_cases([case(g=1.0, l=0.5, s=1.0)], [*metric.members, metric])
    assert Counted.count == 1
    assert result["trust"][0].parts["logic"] == result["logic"][0].value == 0.5


def test_a_contradiction_never_deploys_unless_the_policy_says_so() -> None:
    scores = [Score(1.0), Score(0.9, parts={"contradictions": 1.0}), Score(1.0)]
    score = Trust(three()).compose_case(scores)
    assert score.labels["route"] == "review" and "contradicts itself" in score.labels["route.why"]
    assert Trust(three(), policy=Policy(contradictions="deploy")).compose_case(scores).labels["route"] == "deploy"


def test_the_published_trust_takes_the_cosine_as_it_is() -> None:
    scores = [Score(-0.5), Score(0.8), Score(0.6)]
    # 0.4 · −0.5 + 0.3 · 0.8 + 0.3 · 0.6
    assert Trust(three(), mode="paper").compose_case(scores).value == pytest.approx(0.22)
    # A share of grounding cannot be below 0.
    assert Trust(three()).compose_case(scores).value == pytest.approx(0.42)
    metric = Trust(three(), mode="paper")
    assert "mode:paper" in metric.signature and metric.bounds == (-1.0, 1.0)
    assert Trust(three(), mode="paper").compose_case([Score.none("no image"), *scores[1:]]).value is None
