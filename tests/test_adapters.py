"""Adapters: the conventions of TRL, evaluate and torchmetrics, with the numbers of a run."""

from __future__ import annotations

import math

import pytest

import medassay
from medassay.adapters import RunningMetric, evaluate_metric, torchmetrics_metric, trl_reward
from medassay.errors import InputError, MedassayError

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
    class Distance(medassay.Metric):
        name = "distance"
        summary = defined = "here"
        higher_is_better = False
        needs = frozenset({"candidate", "source"})

        def measure(self, cases):  # type: ignore[no-untyped-def]
            return [medassay.Score(abs(len(case.candidate) - len(case.source)) / 100) for case in cases]

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
