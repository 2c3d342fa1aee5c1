"""Harnesses: their conventions without them, and the harnesses themselves where they are installed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import medassay
from medassay.errors import InputError, MedassayError
from medassay.serving.harnesses import inspect_scorer, lm_eval_results

CANDIDATES = ["no tumor seen", "tubular adenoma", "", "grade 2 carcinoma, invasive"]
REFERENCES = ["no tumor", "villous adenoma", "gastritis", "invasive carcinoma of grade 2"]


def wanted(metrics: str = "rouge1") -> dict[str, float]:
    return medassay.score(CANDIDATES, REFERENCES, metrics=metrics).mean


def test_a_document_has_a_value_per_metric_and_none_without_a_score() -> None:
    process = lm_eval_results("rouge1,rougeL", reference="report")
    assert process({"report": "no tumor"}, ["no tumor seen"]) == {"rouge1": 0.8, "rougeL": 0.8}
    assert process({"report": "no tumor"}, [["no tumor seen", "gastritis"]]) == {"rouge1": 0.8, "rougeL": 0.8}
    assert process({"report": "no tumor"}, [""]) == {}
    with pytest.raises(InputError, match=r"no column 'report'; did you mean 'reports'\?; name yours. Columns: reports"):
        process({"reports": "no tumor"}, ["no tumor"])


def test_sources_are_handed_over() -> None:
    process = lm_eval_results(SourceLength(), reference=None, source="dialogue")
    assert process({"dialogue": "Hello."}, ["text"]) == {"length": 6.0}


class SourceLength(medassay.Metric):
    """The length of the source."""

    name = "length"
    summary = defined = "here"
    needs = frozenset({"candidate", "source"})
    bounds = (0, None)

    def measure(self, cases: Any, evidence: bool = False) -> list[medassay.Score]:
        return [medassay.Score(float(len(case.source or ""))) for case in cases]


def test_without_inspect_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai.scorer", None)
    with pytest.raises(MedassayError, match="pip install inspect-ai"):
        inspect_scorer("rouge1")


TASK = """\
task: reports
dataset_path: csv
dataset_kwargs:
  data_files:
    test: DATA
test_split: test
output_type: generate_until
doc_to_text: "{{prompt}}"
doc_to_target: "{{report}}"
process_results: !function judged.process_results
metric_list:
  - metric: rouge1
    aggregation: mean
    higher_is_better: true
  - metric: rougeL
    aggregation: mean
    higher_is_better: true
"""
JUDGED = """\
from medassay.serving.harnesses import lm_eval_results

process_results = lm_eval_results("rouge1,rougeL", reference="report")
"""


@pytest.mark.hf
def test_a_task_of_the_harness_has_our_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lm_eval = pytest.importorskip("lm_eval")
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "kept")

    class Fixed(LM):  # type: ignore[misc]
        """Says what stands in the list, in the order of the prompts."""

        def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
            return [CANDIDATES[int(request.args[0])] for request in requests]

        def loglikelihood(self, requests: Any) -> Any:
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

    folder = tmp_path / "task"
    folder.mkdir()
    rows = "".join(f'{i},"{text}"\n' for i, text in enumerate(REFERENCES))
    (tmp_path / "data.csv").write_text("prompt,report\n" + rows)
    (folder / "reports.yaml").write_text(TASK.replace("DATA", str(tmp_path / "data.csv")))
    (folder / "judged.py").write_text(JUDGED)
    tasks = TaskManager(include_path=str(folder), include_defaults=False)
    told = lm_eval.simple_evaluate(Fixed(), tasks=["reports"], task_manager=tasks, log_samples=True)
    figures = told["results"]["reports"]
    for name, value in wanted("rouge1,rougeL").items():
        assert figures[f"{name},none"] == pytest.approx(value, rel=1e-12)
        assert figures[f"{name}_stderr,none"] > 0
    assert told["samples"]["reports"][0]["rouge1"] == pytest.approx(0.8)


def test_a_task_of_inspect_has_our_means(tmp_path: Path) -> None:
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import solver

    @solver
    def fixed() -> Any:
        """Says what stands in the list; no model is asked."""

        async def solve(state: Any, generate: Any) -> Any:
            state.output = ModelOutput.from_content("fixed", CANDIDATES[int(state.input_text)])
            return state

        return solve

    samples = [Sample(input=str(i), target=target) for i, target in enumerate(REFERENCES)]
    task = inspect_ai.Task(dataset=samples, solver=fixed(), scorer=inspect_scorer("rouge1,rougeL"))
    (log,) = inspect_ai.eval(task, model="mockllm/model", log_dir=str(tmp_path), display="none")
    assert log.status == "success", log.error
    means = {score.name: score.metrics["mean"].value for score in log.results.scores}
    assert means == pytest.approx(wanted("rouge1,rougeL"), rel=1e-12)
    assert {score.unscored_samples for score in log.results.scores} == {1}
    empty = next(sample for sample in log.samples if sample.id == 3).scores["medassay"]
    assert "rouge1: " in empty.explanation
    full = log.samples[0].scores["medassay"]
    assert full.value["rouge1"] == pytest.approx(0.8) and full.metadata["parts"]["rouge1"]["recall"] == 1
