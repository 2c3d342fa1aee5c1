"""Settings of every metric: a wrong one is an error before anything runs, never a number."""

from __future__ import annotations

import inspect
import pickle
from typing import Annotated, Any, Literal, get_args, get_origin

import numpy as np
import pytest

from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.metrics.hare import Hare
from medassay.metrics.registry import BUILT_IN, load_metric, metric_class
from medassay.metrics.settings import Range, describe, parameters, read_setting

PLAIN = (str, bool, int, float, type(None))
NOT_PLAIN = {("trust", "members"), ("trust", "weights"), ("trust", "policy"), ("z", "members")}
"""Settings that a metric reads itself."""


def every_setting() -> list[tuple[str, str, Any]]:
    return [(name, p.name, p.annotation) for name in BUILT_IN for p in parameters(metric_class(name)).values()]


def options(annotation: Any) -> tuple[Any, ...]:
    inner = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    return get_args(inner) if type(None) in get_args(inner) or len(get_args(inner)) > 1 else (inner,)


@pytest.mark.parametrize(("metric", "setting", "annotation"), every_setting())
def test_every_setting_of_ours_says_its_type_and_every_number_its_range(
    metric: str, setting: str, annotation: Any
) -> None:
    if (metric, setting) in NOT_PLAIN or get_origin(annotation) is Literal:
        return
    kinds = options(annotation)
    assert all(kind in PLAIN or get_origin(kind) is Literal for kind in kinds)
    if setting != "layer" and (int in kinds or float in kinds):  # which layers there are, the encoder says
        assert any(isinstance(note, Range) for note in annotation.__metadata__)


@pytest.mark.parametrize(
    "request_",
    [
        *(
            f"hare(threshold={value})"
            for value in ("abc", "nan", "-5", "inf", "-inf", "1e999", "yes", "0.5%", "1.01", "''")
        ),
        *(f"hare({setting}=x)" for setting in ("mode", "keep", "total", "references")),
        *("logic(k=0)", "logic(k=1.5)", "logic(k=yes)", "logic(mode=none)"),
        *("bleu(smooth_value=-1)", "bleu(smooth_value=nan)", "bleu(lowercase=none)", "bleu(tokenizer=7)"),
        *("chrf(beta=0)", "chrf(char_order=6.0)", "chrf(word_order=none)", "chrf(char_order=1e3)"),
        *("meteor(alpha=1.1)", "meteor(gamma=-0.1)", "meteor(beta=nan)", "meteor(synonyms=none)"),
        *("medbertscore(alpha=inf)", "bertscore(layer=first)", "bertscore(idf=1)"),
        *(
            "grounding(budget=0)",
            "grounding(mpp=0)",
            "grounding(mpp=nan)",
            "grounding(seed=-1)",
            "grounding(windows=2)",
        ),
        *("stability(distance=cosine)", "z(rouge1,bleu,missing=drop)", "mist-comb1(missing=1)", "mist(negation=none)"),
        *("hallucination(counts=perhaps)", "medbartscore(alpha=-0.5)", "bartscore(lift=2)"),
        *("judge(url=http://localhost/v1,model=m,timeout=nan)", "judge(url=http://localhost/v1,model=m,calls=-1)"),
        "judge(url=http://localhost/v1,model=m,repeats=1.5)",
    ],
)
def test_a_wrong_setting_is_named(request_: str) -> None:
    with pytest.raises(MedassayError) as caught:
        load_metric(request_)
    wrong = request_.rstrip(")").rpartition(",")[2].rpartition("(")[2].partition("=")[0]
    assert f": {wrong}: '" in str(caught.value) and "' is not " in str(caught.value)


def test_a_setting_is_given_once() -> None:
    with pytest.raises(MedassayError, match="metric 'hare': setting 'threshold' is given twice"):
        load_metric("hare(threshold=0.5,threshold=0.7)")
    assert load_metric("rouge1(stem=yes)", stem=False).signature.startswith("rouge1|stem:yes")  # the nearer one counts


def test_python_is_checked_as_the_command_line_is() -> None:
    for threshold in ("0.7", float("nan"), -5, True, [0.7], np.inf):
        with pytest.raises(MedassayError, match="hare: threshold"):
            Hare(threshold=threshold)  # type: ignore[arg-type]
    assert Hare(threshold=np.float64(0.5)).rules.threshold == 0.5
    assert Hare(threshold=None).rules.threshold is None


def test_text_is_read_as_the_type_that_the_setting_has() -> None:
    assert read_setting("7", str) == "7"  # the name of a model may be a number
    assert read_setting("none", Literal["none", "nfkc"] | None) == "none"
    assert read_setting("none", Annotated[int | None, Range(1)]) is None
    assert read_setting("1", bool) == "1"  # neither yes nor no: left for the check to refuse
    assert [read_setting(text, Any) for text in ("7", "yes", "none", "x")] == [7, True, None, "x"]
    assert describe(Annotated[int | None, Range(1)]) == "a whole number of at least 1, or none"


class Theirs(Metric):
    """A metric of a third party whose annotations mean nothing at run time."""

    name, summary, defined = "theirs", "theirs", "there"

    def __init__(self, depth: Nowhere = 1, **more: Any) -> None:  # type: ignore[name-defined]  # noqa: F821
        super().__init__(**more)
        self.depth = depth

    def measure(self, cases: Any, evidence: bool = False) -> list[Any]:
        return []


def test_annotations_that_cannot_be_read_leave_the_value_to_the_metric() -> None:
    assert Theirs(depth="x").depth == "x"
    with pytest.raises(MedassayError, match="theirs: references: 'worst' is not one of best, mean"):
        Theirs(references="worst")
    assert pickle.loads(pickle.dumps(Theirs(depth=3))).depth == 3
    assert list(parameters(Theirs)) == ["depth", "references"]
    assert parameters(Theirs)["depth"].default == 1 and inspect.signature(Theirs.__init__).parameters["depth"]
