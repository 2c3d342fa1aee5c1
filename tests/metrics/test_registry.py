"""What may stand after `--metrics`."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from importlib.resources import files
from pathlib import Path

import pytest

from medassay import __version__
from medassay.cases import Case, make_cases
from medassay.errors import MedassayError, UnknownName
from medassay.language.lexicon import read_table
from medassay.metrics import registry
from medassay.metrics.base import Metric
from medassay.metrics.registry import (
    BUILT_IN,
    DEFAULT,
    FAMILIES,
    WITHOUT_REFERENCE,
    default_metrics,
    load_metric,
    load_metrics,
    metric_class,
)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_metric_has_its_card(name: str) -> None:
    cls = metric_class(name)
    assert issubclass(cls, Metric)
    assert cls.summary and cls.defined and (cls.__doc__ or "").strip()
    assert len(cls.bounds) == 2 and cls.needs


def test_defaults_and_families_name_registered_metrics() -> None:
    named = {*DEFAULT, *WITHOUT_REFERENCE, *(member for members in FAMILIES.values() for member in members)}
    assert named <= set(BUILT_IN)


def test_defaults_follow_what_the_cases_have() -> None:
    bare, sourced, referred = Case("1", "x"), Case("2", "x", (), source="y"), Case("3", "x", ("y",), source="y")
    assert default_metrics([bare, sourced, referred]) == DEFAULT
    assert default_metrics([bare, sourced]) == WITHOUT_REFERENCE
    assert default_metrics([bare]) == DEFAULT == default_metrics([])


def test_hare_and_the_expert_are_for_pathology_only() -> None:
    others = {name for family, members in FAMILIES.items() if family != "pathology" for name in members}
    assert {"hare", "expert"} <= set(FAMILIES["pathology"])
    assert not {"hare", "expert"} & {*others, *DEFAULT, *WITHOUT_REFERENCE}


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


def test_a_signature_carries_the_version_of_the_distribution_that_the_metric_is_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "acme_metrics-3.2.1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-metrics\nVersion: 3.2.1\n")
    (folder / "entry_points.txt").write_text("[medassay.metrics]\nacme = acme_metric_module:Acme\n")
    (tmp_path / "acme_metric_module.py").write_text(
        "from medassay import Metric, Score\n"
        "class Acme(Metric):\n"
        "    name, summary, defined, parts = 'acme', 'theirs', 'there', ('half',)\n"
        "    def measure(self, cases, evidence=False):\n"
        "        return [Score(1.0, parts={'half': 0.5}) for _ in cases]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    whole, part = load_metrics("acme,acme.half")
    assert whole.signature == f"acme|refs:best|from:acme-metrics|medassay:{__version__}|v:3.2.1"
    assert part.signature.endswith("|v:3.2.1") and "from:acme-metrics" in part.signature
    assert load_metric("rouge1").signature.endswith(f"|v:{__version__}")


def test_metric_objects_and_requests_may_be_mixed() -> None:
    ready = load_metric("rouge1(stem=yes)")
    assert load_metrics([ready, "rouge1,bleu"])[0] is ready
    assert [metric.name for metric in load_metrics([ready, "rouge1,bleu"])] == ["rouge1(stem=yes)", "rouge1", "bleu"]


@pytest.mark.parametrize("name", ["RaTEScore", "ratescore", "rate-score", "RATE_SCORE"])
def test_metrics_of_other_tools_are_known_as_such(name: str) -> None:
    with pytest.raises(UnknownName, match=r"^RaTEScore is not part of medassay; see https://.*here is 'facts'$"):
        load_metric(name)


def test_other_tools_name_no_metric_of_ours_and_point_to_one_that_is() -> None:
    for row in read_table(files("medassay.metrics") / "other_tools.tsv"):
        assert row["nearest"] in BUILT_IN and row["see"]
        assert not {spelling.lower() for spelling in row["names"].split("|")} & {name.lower() for name in BUILT_IN}


@pytest.mark.parametrize(("asked", "ours"), [("bert_score", "bertscore"), ("rouge-1", "rouge1"), ("Rouge_L", "rougeL")])
def test_the_nearest_name_is_that_of_the_whole(asked: str, ours: str) -> None:
    with pytest.raises(UnknownName, match=f"^no metric '{asked}'; did you mean '{ours}'"):
        load_metrics(asked)
