"""What may stand after `--metrics`."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from medassay.cases import make_cases
from medassay.errors import MedassayError, UnknownName
from medassay.metrics import registry
from medassay.metrics.base import Metric
from medassay.metrics.registry import BUILT_IN, DEFAULT, FAMILIES, load_metric, load_metrics, metric_class


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_metric_has_its_card(name: str) -> None:
    cls = metric_class(name)
    assert issubclass(cls, Metric)
    assert cls.summary and cls.defined and (cls.__doc__ or "").strip()
    assert len(cls.bounds) == 2 and cls.needs


def test_defaults_and_families_name_registered_metrics() -> None:
    named = {*DEFAULT, *(member for members in FAMILIES.values() for member in members)}
    assert named <= set(BUILT_IN)


@pytest.mark.parametrize(
    ("request_", "names"),
    [
        ("rouge1", ["rouge1"]),
        (" rouge1 , bleu ", ["rouge1", "bleu"]),
        ("rouge", ["rouge1", "rouge2", "rougeL", "rougeLsum"]),
        ("rouge1,rouge,rouge1", ["rouge1", "rouge2", "rougeL", "rougeLsum"]),
        ("rouge1.recall,rouge1_r", ["rouge1.recall", "rouge1_r"]),
        ("rouge1(stem=yes, normalize=nfkc)", ["rouge1(stem=yes,normalize=nfkc)"]),
        ("rouge1(stem=yes)_p", ["rouge1(stem=yes)_p"]),
        ("rouge1,rouge1(stem=yes)", ["rouge1", "rouge1(stem=yes)"]),
    ],
)
def test_requests(request_: str, names: list[str]) -> None:
    assert [metric.name for metric in load_metrics(request_)] == names


def test_a_part_with_settings_is_that_part_of_that_metric() -> None:
    cases = make_cases(["tumours"], ["tumour seen"])
    assert load_metric("rouge1.recall").score(cases)[0].value == 0.0
    assert load_metric("rouge1(stem=yes).recall").score(cases)[0].value == 0.5
    assert "stem:yes" in load_metric("rouge1(stem=yes)_r").signature


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ("rogue1", "did you mean 'rouge1'"),
        ("qqqq", r"no metric 'qqqq'\. Known: .*bleu"),
        ("rouge1(stemm=yes)", "no setting 'stemm'; did you mean 'stem'"),
        ("rouge1(yes)", "'yes' is not key=value"),
        ("rouge1(stem=yes).precison", "no part 'precison'; parts: precision, recall, f1"),
        ("bleu(lowercase=yes)_r", "no part 'recall'; parts: none"),
        ("rouge1.precison", "no part 'precison'; parts: precision, recall, f1"),
        ("rouge1((", "not a metric request|no metric"),
        ("", "no metric named"),
        (" , ", "no metric named"),
    ],
)
def test_what_is_wrong_is_said(request_: str, message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        load_metrics(request_)


def test_common_settings_go_to_the_metrics_that_know_them() -> None:
    rouge, bleu = load_metrics("rouge1,bleu", stem=True, models="embedded", lowercase=None)
    assert "stem:yes" in rouge.signature and "stem" not in bleu.signature


def test_third_parties_register_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = EntryPoints(
        [
            EntryPoint("their-rouge", "medassay.metrics.rouge:Rouge1", "medassay.metrics"),
            EntryPoint("broken", "medassay.metrics.nowhere:Nothing", "medassay.metrics"),
            EntryPoint("bleu", "medassay.metrics.rouge:Rouge1", "medassay.metrics"),
        ]
    )
    monkeypatch.setattr(registry, "entry_points", lambda group: theirs.select(group=group))
    assert load_metric("their-rouge").score(make_cases(["a"], ["a"]))[0].value == 1.0
    assert metric_class("bleu").name == "bleu"  # ours cannot be replaced unseen
    with pytest.raises(MedassayError, match="'broken' cannot be loaded"):
        load_metric("broken")
