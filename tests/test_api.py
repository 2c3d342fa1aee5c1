"""The Python door."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.language.checker_double import OverlapChecker, installed

import medassay
from medassay.api import metrics_for
from medassay.errors import InputError, UnknownName
from medassay.metrics.registry import DEFAULT, WITHOUT_REFERENCE


def test_score_by_hand() -> None:
    result = medassay.score(["no tumor seen"], ["no tumour is seen"], metrics="rouge1")
    # Shared words: no, seen. Precision 2/3, recall 2/4, F1 = 4/7.
    assert result.mean["rouge1"] == pytest.approx(4 / 7)
    assert result["rouge1"][0].parts["recall"] == pytest.approx(1 / 2)


def test_several_references_best_or_mean() -> None:
    candidate, references = ["a b"], [["a b", "c d"]]
    assert medassay.score(candidate, references, metrics="rouge1").mean["rouge1"] == 1.0
    assert (
        medassay.score(candidate, references, metrics="rouge1(references=mean)")["rouge1(references=mean)"][0].value
        == 0.5
    )


def test_cases_and_loaded_metrics_go_in_too() -> None:
    cases = [medassay.Case("1", "a b", ("a b",))]
    metric = medassay.load_metric("rouge1", stem=True)
    result = medassay.score(cases, metrics=[metric, "rouge2", metric])
    assert [m.name for m in result.metrics] == ["rouge1", "rouge2"]
    assert "stem:yes" in result.signatures["rouge1"]
    with pytest.raises(medassay.MedassayError, match=r"two metrics are called 'rouge1'.*stem:yes.*stem:no"):
        medassay.score(cases, metrics=[metric, "rouge1"])


def test_check_gives_the_ledger_of_one_text() -> None:
    with installed(OverlapChecker()):
        ledger = medassay.check("She has fever of 39 degrees.", reference="She has fever of 38 degrees.", source=" ")
    assert isinstance(ledger, medassay.Ledger)
    assert ledger.counts["contradicted"] == 1
    assert ledger.quote(ledger.problems()[0]) == "She has fever of 38 degrees."


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (("She has fever.",), "no reference and no source"),
        (("She has fever.", " "), "no reference and no source"),
        (("She has fever.", ["She has fever."]), "reference: expected one text, found list"),
        ((None, "She has fever."), "candidate: expected one text, found NoneType"),
    ],
)
def test_check_says_what_it_lacks(texts: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        medassay.check(*texts)


def test_settings_that_a_metric_does_not_know_are_said() -> None:
    with pytest.raises(medassay.MedassayError, match="no setting 'stemm'; did you mean 'stem'"):
        medassay.load_metric("rouge1", stemm=True)
    with pytest.raises(medassay.MedassayError, match="no dimension has a setting 'budgett'; did you mean 'budget'"):
        medassay.trust([], budgett=3)


def test_metric_alone() -> None:
    (score,) = medassay.load_metric("rouge1").score([medassay.Case("1", "a", ())])
    assert score.unscored == "no reference"


def test_no_cases() -> None:
    assert len(medassay.score([], [], metrics="rouge1")) == 0


def test_refusals() -> None:
    with pytest.raises(InputError, match="one text was given"):
        medassay.score("a", "b")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"candidates\[1\]: expected text, found Case"):
        medassay.score(["a", medassay.Case("1", "b")], metrics="rouge1")  # type: ignore[list-item]
    with pytest.raises(UnknownName, match="did you mean 'rouge1'"):
        medassay.score(["a"], ["b"], metrics="rogue1")


def test_the_public_names_are_all_there() -> None:
    for name in medassay.__all__:
        assert getattr(medassay, name) is not None
    assert set(medassay.__all__) <= set(dir(medassay))
    with pytest.raises(AttributeError, match="no attribute 'scoer'"):
        _ = medassay.scoer


def test_importing_medassay_and_its_help_loads_nothing_heavy() -> None:
    heavy = "{'numpy', 'onnxruntime', 'sacrebleu', 'torch', 'pandas', 'scipy', 'tokenizers', 'arro3'}"
    code = f"import sys, medassay, medassay.cli; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_is_computed_unasked_depends_on_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("candidate,dialogue\nx,y\n")
    (tmp_path / "b.csv").write_text("candidate,reference\nx,y\n")
    assert metrics_for(str(tmp_path / "a.csv"), {"source": "dialogue"}) == ",".join(WITHOUT_REFERENCE)
    assert metrics_for(str(tmp_path / "b.csv")) == metrics_for("-") == ",".join(DEFAULT)
