"""Adapters: the conventions of TRL, evaluate and torchmetrics, with the numbers of a run."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import medassay
from medassay.errors import InputError, MedassayError
from medassay.serving.adapters import RunningMetric, evaluate_metric, torchmetrics_metric, trl_reward

CANDIDATES = ["no tumor seen", "tubular adenoma", "", "grade 2 carcinoma, invasive"]
REFERENCES = ["no tumor", "villous adenoma", "gastritis", "invasive carcinoma of grade 2"]


def test_a_reward_for_plain_completions() -> None:
    reward = trl_reward("rouge1", reference="answer")
    values = reward(prompts=["q"] * 4, completions=CANDIDATES, answer=REFERENCES, trainer_state=object())
    wanted = medassay.score(CANDIDATES, REFERENCES, metrics="rouge1")["rouge1"]
    assert values == [score.value for score in wanted]
    assert values[2] is None
    assert reward.__name__ == "rouge1"


def test_a_reward_for_conversations_takes_the_last_message() -> None:
    talks = [
        [{"role": "assistant", "content": "let me see"}, {"role": "assistant", "content": text}] for text in CANDIDATES
    ]
    pieces = [[{"role": "assistant", "content": [{"type": "text", "text": text}]}] for text in CANDIDATES]
    reward = trl_reward("rouge1")
    plain = reward(completions=CANDIDATES, reference=REFERENCES)
    assert reward(completions=talks, reference=REFERENCES) == plain
    assert reward(completions=pieces, reference=REFERENCES) == plain


def test_a_metric_of_which_less_is_better_becomes_a_reward_with_its_sign_turned() -> None:
    reward = trl_reward(Distance(), source="prompt")
    assert reward(prompts=["abc", [{"role": "user", "content": "abcd"}]], completions=["a", "ab"]) == [-0.02, -0.02]


def test_a_missing_column_is_named() -> None:
    with pytest.raises(InputError, match=r"no column 'reference'; did you mean 'references'\?; name yours"):
        trl_reward("rouge1")(completions=["a"], references=["a"])
    with pytest.raises(MedassayError, match="one metric is wanted here, not rouge1, rouge2"):
        trl_reward("rouge")


def test_evaluate_computes_the_aggregates_of_a_run() -> None:
    metric = evaluate_metric("rouge1,bleu")
    wanted = medassay.score(CANDIDATES, REFERENCES, metrics="rouge1,bleu").mean
    told = metric.compute(predictions=CANDIDATES, references=REFERENCES)
    assert told == {**wanted, "rouge1.unscored": 1, "bleu.unscored": 1}
    metric.add_batch(predictions=CANDIDATES[:2], references=REFERENCES[:2])
    metric.add(prediction=CANDIDATES[3], reference=[REFERENCES[3]])
    assert metric.compute() == wanted
    with pytest.raises(InputError, match="nothing to compute"):
        metric.compute()
    with pytest.raises(InputError, match="1 predictions but 0 references"):
        metric.add_batch(predictions=["a"], references=[])
    with pytest.raises(InputError, match="references are missing: rouge1, bleu cannot do without"):
        metric.compute(predictions=["a"])
    with pytest.raises(InputError, match="predictions are missing"):
        metric.compute(references=["a"])
    with pytest.raises(InputError, match=r"references\[0\]: expected a text or a list of texts, found int"):
        metric.compute(predictions=["a"], references=[5])  # type: ignore[list-item]
    with pytest.raises(InputError, match="predictions: one text was given"):
        metric.compute(predictions="a text", references=["a text"])
    with pytest.raises(InputError, match="nothing to compute"):
        metric.compute()


@pytest.mark.parametrize(
    "held",
    [
        tuple,
        np.array,
        lambda texts: np.array(texts, dtype=object),
        lambda texts: pytest.importorskip("pandas").Series(texts, index=range(7, 7 + len(texts))),
    ],
)
def test_texts_may_be_held_by_arrays_and_tables(held: Callable[[list[str]], Any]) -> None:
    wanted = medassay.score(CANDIDATES, REFERENCES, metrics="rouge1").mean["rouge1"]
    told = evaluate_metric("rouge1").compute(predictions=held(CANDIDATES), references=held(REFERENCES))
    assert told["rouge1"] == wanted
    running = RunningMetric("rouge1")
    running.update(held(CANDIDATES), held(REFERENCES))
    assert running.compute() == pytest.approx(wanted, rel=1e-12)
    reward = trl_reward("rouge1", source="prompt")
    values = reward(prompts=held(CANDIDATES), completions=held(CANDIDATES), reference=held(REFERENCES))
    assert values == trl_reward("rouge1")(completions=CANDIDATES, reference=REFERENCES)


def test_a_missing_reference_of_a_table_is_none() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"said": ["no tumor", "gastritis"], "is": ["no tumor", None]})
    told = evaluate_metric("rouge1").compute(predictions=table["said"], references=table["is"])
    assert told == {"rouge1": 1.0, "rouge1.unscored": 1}


class Distance(medassay.Metric):
    """How far the lengths of candidate and source are apart; it reads no reference."""

    name = "distance"
    summary = defined = "here"
    higher_is_better = False
    needs = frozenset({"candidate", "source"})

    def measure(self, cases: Sequence[medassay.Case], evidence: bool = False) -> list[medassay.Score]:
        return [medassay.Score(abs(len(case.candidate) - len(case.source or "")) / 100) for case in cases]


def test_evaluate_without_references() -> None:
    metric = evaluate_metric(Distance())
    assert metric.compute(predictions=["a", "ab"], sources=["abc", "abcd"]) == {"distance": 0.02}
    metric.add(prediction="a", source="ab")
    metric.add_batch(predictions=["a"], references=["not read"], sources=["abcd"])
    assert metric.compute() == {"distance": 0.02}
    with pytest.raises(InputError, match="sources are missing: distance cannot do without"):
        metric.add(prediction="a")


def test_sources_stay_with_their_texts() -> None:
    metric = evaluate_metric(LongestSource())
    metric.add(prediction="a")
    metric.add(prediction="b", source="of b")
    assert metric.compute() == {"source": 2.0}


class LongestSource(Distance):
    """The length of the source, which may be missing."""

    name = "source"
    needs = frozenset({"candidate"})
    reads = frozenset({"source"})
    bounds = (0, None)

    def measure(self, cases: Sequence[medassay.Case], evidence: bool = False) -> list[medassay.Score]:
        return [medassay.Score(float(len(case.source or ""))) for case in cases]


def test_one_text_may_be_given_as_it_is() -> None:
    whole = medassay.score(["no tumor seen"], [["tumor", "no tumor"]], metrics="rouge1").mean["rouge1"]
    assert RunningMetric("rouge1")("no tumor seen", "no tumor") == whole == 0.8
    assert RunningMetric("rouge1")("no tumor seen", ["tumor", "no tumor"]) == whole
    assert RunningMetric("rouge1")("no tumor seen", [["tumor", "no tumor"]]) == whole
    running = RunningMetric("rouge1")
    running.update("no tumor seen", "no tumor")
    assert running.count == 1
    with pytest.raises(InputError, match="2 candidates but 1 references"):
        running.update(["no", "tumor"], "no tumor")


@pytest.mark.parametrize("name", ["rouge1", "bleu", "chrf"])
def test_a_running_metric_ends_where_one_run_does(name: str) -> None:
    whole = medassay.score(CANDIDATES, REFERENCES, metrics=name).mean[name]
    running, other = RunningMetric(name), RunningMetric(name)
    assert math.isnan(running.compute())
    running.update(CANDIDATES[:1], REFERENCES[:1])
    other.update(CANDIDATES[1:], REFERENCES[1:])
    running.merge(other.state())
    assert running.compute() == pytest.approx(whole, rel=1e-12)
    assert running.unscored == 1
    running.reset()
    assert running(CANDIDATES[:1], REFERENCES[:1]) == running.compute()


def test_evaluate_itself_combines_and_bootstraps_our_metrics() -> None:
    evaluate = pytest.importorskip("evaluate")
    both = evaluate.combine([evaluate_metric("rouge1"), evaluate_metric("chrf")])
    wanted = medassay.score(CANDIDATES[:2], REFERENCES[:2], metrics="rouge1,chrf").mean
    assert both.compute(predictions=CANDIDATES[:2], references=REFERENCES[:2]) == wanted
    both.add_batch(predictions=CANDIDATES[:2], references=REFERENCES[:2])
    assert both.compute() == wanted
    pytest.importorskip("transformers")
    from evaluate.evaluator.base import Evaluator

    class Ours(Evaluator):  # type: ignore[misc]
        def __init__(self) -> None:
            self.task, self.default_metric_name = "texts", None

        def predictions_processor(self, *arguments: Any, **named: Any) -> None: ...

    metric = Ours().prepare_metric(evaluate_metric("rouge1"))
    given = {"predictions": CANDIDATES[:2], "references": REFERENCES[:2]}
    told = Ours().compute_metric(metric, given, strategy="bootstrap", n_resamples=20)
    assert told["rouge1"]["score"] == wanted["rouge1"]


@pytest.mark.hf
def test_a_trainer_of_trl_takes_our_reward(tmp_path: Path) -> None:
    """A step with a model of a few weights: what it says is noise, and is rewarded as the metric says."""
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = {word: i for i, word in enumerate(["<pad>", "<eos>", "no", "tumor", "seen", "gastritis"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    size = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    ends = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 1}
    reward = trl_reward("rouge1", reference="report")
    given: list[tuple[list[str], list[float | None]]] = []

    def watched(completions: list[str], **columns: Any) -> list[float | None]:
        given.append((completions, reward(completions=completions, **columns)))
        return given[-1][1]

    settings = trl.GRPOConfig(
        output_dir=str(tmp_path),
        per_device_train_batch_size=2,
        num_generations=2,
        max_completion_length=4,
        max_steps=1,
        logging_steps=1,
        use_cpu=True,
        report_to="none",
        save_strategy="no",
    )
    trainer = trl.GRPOTrainer(
        model=LlamaForCausalLM(LlamaConfig(vocab_size=len(words), num_key_value_heads=1, **size, **ends)),
        reward_funcs=[reward, watched],
        args=settings,
        train_dataset=datasets.Dataset.from_list([{"prompt": "tumor", "report": "no tumor"}] * 4),
        processing_class=PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>"),
    )
    trainer.train()
    ((completions, values),) = given
    scored = medassay.score(completions, ["no tumor"] * 2, metrics="rouge1")["rouge1"]
    assert values == [score.value for score in scored]
    logged = trainer.state.log_history[0]
    known = [value for value in values if value is not None]
    if known:
        assert logged["rewards/rouge1/mean"] == pytest.approx(sum(known) / len(known), rel=1e-5)


@pytest.mark.hf
def test_torchmetrics_gives_the_same_and_sums_across_processes() -> None:
    pytest.importorskip("torchmetrics")
    metric = torchmetrics_metric("bleu")
    metric.update(CANDIDATES[:2], REFERENCES[:2])
    metric.update(CANDIDATES[2:], REFERENCES[2:])
    whole = medassay.score(CANDIDATES, REFERENCES, metrics="bleu").mean["bleu"]
    assert float(metric.compute()) == pytest.approx(whole, rel=1e-12)
    assert int(metric.unscored) == 1
    # What a gather over processes does: states of the same shape, summed; one process may have seen nothing.
    idle = torchmetrics_metric("bleu")
    assert idle.sums.shape == metric.sums.shape
    idle.sums, idle.count = idle.sums + metric.sums, idle.count + metric.count
    assert float(idle.compute()) == pytest.approx(whole, rel=1e-12)
    metric.reset()
    assert math.isnan(float(metric.compute()))
    assert float(metric("no tumor seen", ["tumor", "no tumor seen"])) == pytest.approx(100)
    assert metric.compute().device == metric.sums.device


@pytest.mark.hf
def test_a_metric_for_torchmetrics_can_be_pickled_and_copied() -> None:
    torchmetrics = pytest.importorskip("torchmetrics")
    metric = torchmetrics_metric("rouge1", dist_sync_on_step=True)
    metric.update(CANDIDATES, REFERENCES)
    again = pickle.loads(pickle.dumps(metric))
    assert type(again) is type(metric) and again.dist_sync_on_step
    for copy in (again, metric.clone()):
        assert float(copy.compute()) == float(metric.compute())
        copy.update(["gastritis"], ["gastritis"])
        assert int(copy.count) == int(metric.count) + 1
        assert copy.higher_is_better
    both = torchmetrics.MetricCollection({"one": metric, "other": torchmetrics_metric(Distance())})
    assert not pickle.loads(pickle.dumps(both))["other"].higher_is_better
