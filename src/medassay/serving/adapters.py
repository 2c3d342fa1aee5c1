"""Metrics in the shape that other libraries expect: TRL rewards, Hugging Face `evaluate`, torchmetrics.

Harnesses that run whole evaluations: `harnesses.py`.

None of these libraries is needed here: the functions and objects only follow their conventions. All of them keep
their metrics warm and give the numbers of `medassay.score`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from medassay.errors import InputError, MedassayError, nearest
from medassay.metrics.base import Metric
from medassay.scores import Score
from medassay.serving.scorer import Scorer

Reward = Callable[..., list[float | None]]
Texts = Iterable[str]
References = Iterable[str | Sequence[str] | None]


def trl_reward(
    metric: str | Metric,
    *,
    reference: str = "reference",
    source: str | None = None,
    workers: int = 0,
    models: str | None = None,
) -> Reward:
    """A reward function for TRL's trainers: `GRPOTrainer(reward_funcs=[trl_reward("rouge1")], …)`.

    reference: the dataset's column with what completions are judged against. source: the column with what they were
    written from (`prompt` for the prompt itself), for metrics that read it. The reward is the metric's value, with
    its sign turned where lower is better; a completion without a score has None, which TRL leaves out.

    >>> reward = trl_reward("rouge1")
    >>> reward(prompts=["?"], completions=["no tumor seen"], reference=["no tumor"])
    [0.8]
    """
    scorer = Scorer(metric, models=models, workers=workers)
    (only,) = _only_metric(scorer)
    sign = 1.0 if only.higher_is_better else -1.0

    def reward(
        prompts: Sequence[Any] | None = None, completions: Sequence[Any] = (), **columns: Any
    ) -> list[float | None]:
        texts = [_text_of(item) for item in completions]
        wanted = "reference" in only.needs or reference in columns
        references = _listed(_column(columns, reference), reference) if wanted else None
        sources = None
        if source is not None:
            given = prompts if source in ("prompt", "prompts") else _column(columns, source)
            sources = [] if given is None else [_text_of(item) for item in given]
        scores = scorer.score_batch(texts, references, sources=sources)[only.name]
        return [None if score.value is None else sign * score.value for score in scores]

    reward.__name__ = only.name
    reward.__doc__ = f"{only.summary} ({only.signature})"
    return reward


def _only_metric(scorer: Scorer) -> tuple[Metric, ...]:
    if len(scorer.metrics) != 1:
        names = ", ".join(metric.name for metric in scorer.metrics)
        raise MedassayError(f"one metric is wanted here, not {names}; make one for each")
    return scorer.metrics


def _column(columns: Mapping[str, Any], name: str) -> Any:
    if name not in columns:
        raise InputError(
            f"the dataset has no column '{name}'{nearest(name, columns)}; name yours. "
            f"Columns: {', '.join(columns) or 'none'}"
        )
    return columns[name]


def _text_of(text: Any) -> str:
    """The text of a completion or prompt: as it is, or the last message of a conversation."""
    if isinstance(text, str):
        return text
    if isinstance(text, Mapping):
        return _text_of(text.get("content"))
    if isinstance(text, Sequence) and text and all(isinstance(item, Mapping) for item in text):
        if "content" in text[-1]:
            return _text_of(text[-1]["content"])
        return "".join(str(item.get("text", "")) for item in text)  # a message in pieces, some of them not text
    return ""


def _listed(values: Iterable[Any], what: str) -> list[Any]:
    """Texts as a list, whatever held them (list, array, column of a table); several references as a list each.

    Missing values of a table become None.
    """
    if isinstance(values, str):
        raise InputError(f"{what}: one text was given; write a list of texts, even for one case")
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return None
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else value


class EvaluateMetric:
    """Metrics with the interface of Hugging Face `evaluate`: `compute(predictions=, references=)`, `add_batch`.

    `compute` gives each metric's aggregate (`medassay.Result.mean`) under its name and, where cases are unscored or
    have failed, how many under `<metric>.unscored` and `<metric>.failed`. What was added before is scored with it and
    then forgotten.
    """

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self.name = ",".join(metric.name for metric in scorer.metrics)
        self._added: list[tuple[Any, Any, Any]] = []

    def add(self, *, prediction: str, reference: str | Sequence[str] | None = None, source: str | None = None) -> None:
        """One more text, with what it is judged against where a metric reads that."""
        self.add_batch(
            predictions=[prediction],
            references=None if reference is None else [reference],
            sources=None if source is None else [source],
        )

    def add_batch(
        self, *, predictions: Texts, references: References | None = None, sources: Texts | None = None
    ) -> None:
        """More texts. Lists, arrays and columns of tables are taken."""
        columns = {"predictions": _listed(predictions, "predictions")}
        number = len(columns["predictions"])
        for what, need, values in (("references", "reference", references), ("sources", "source", sources)):
            if values is None:
                self._check(what, need)
            columns[what] = [None] * number if values is None else _listed(values, what)
            if len(columns[what]) != number:
                raise InputError(f"{number} predictions but {len(columns[what])} {what}")
        self._added += zip(*columns.values())

    def _feature_names(self) -> list[str]:
        """What `evaluate.combine` hands to `add_batch`."""
        reads_sources = any("source" in metric.needs for metric in self.scorer.metrics)
        return ["predictions", "references", *(["sources"] if reads_sources else [])]

    def _check(self, what: str, need: str) -> None:
        wanting = [metric.name for metric in self.scorer.metrics if need in metric.needs]
        if wanting:
            raise InputError(f"{what} are missing: {', '.join(wanting)} cannot do without")

    def compute(
        self,
        *,
        predictions: Texts | None = None,
        references: References | None = None,
        sources: Texts | None = None,
    ) -> dict[str, float]:
        """The aggregates of what was given and added."""
        if predictions is not None:
            self.add_batch(predictions=predictions, references=references, sources=sources)
        elif references is not None or sources is not None:
            raise InputError("predictions are missing: give them with their references")
        if not self._added:
            raise InputError("nothing to compute: give predictions and references, or add them first")
        given = [list(column) for column in zip(*self._added)]
        self._added = []
        result = self.scorer.score_batch(given[0], given[1], sources=given[2])
        figures: dict[str, float] = {}
        for name, value in result.mean.items():
            figures[name] = value
            for kind in ("unscored", "failed"):
                missing = sum(getattr(score, kind) is not None for score in result[name])
                if missing:
                    figures[f"{name}.{kind}"] = missing
        return figures


def evaluate_metric(
    metrics: str | Metric | Sequence[str | Metric], *, models: str | None = None, workers: int = 0
) -> EvaluateMetric:
    """Metrics as an object of Hugging Face `evaluate`.

    >>> evaluate_metric("rouge1").compute(predictions=["no tumor seen"], references=["no tumor"])
    {'rouge1': 0.8}
    """
    return EvaluateMetric(Scorer(metrics, models=models, workers=workers))


class RunningMetric:
    """A metric with the interface of torchmetrics, without torch: `update(preds, target)`, `compute()`, `reset()`.

    What is kept are the summed statistics and the number of scored cases, so `compute` gives the aggregate that one
    run over all cases would give (corpus BLEU, not a mean of means). Across processes, gather every `state()` and
    `merge` the others': `torch.distributed.all_gather_object` does.

    >>> running = RunningMetric("rouge1")
    >>> running.update(["no tumor seen"], ["no tumor"])
    >>> running.compute()
    0.8
    """

    def __init__(self, metric: str | Metric, *, models: str | None = None, workers: int = 0) -> None:
        self.scorer = Scorer(metric, models=models, workers=workers)
        (self.metric,) = _only_metric(self.scorer)
        self.higher_is_better = self.metric.higher_is_better
        self.reset()

    def reset(self) -> None:
        """Forget all cases."""
        self.sums: list[float] = []
        self.count = self.unscored = self.failed = 0

    def update(self, preds: str | Texts, target: str | References | None = None) -> None:
        """Take in predictions with their references; of one text given as it is, a list has several."""
        self(preds, target)

    def compute(self) -> float:
        """The aggregate of all cases so far; NaN where none is scored."""
        return combined(self.metric, self.sums, self.count)

    def __call__(self, preds: str | Texts, target: str | References | None = None) -> float:
        """Take in a batch; its own aggregate."""
        batch = statistics(self.scorer.score_batch(*paired(preds, target))[self.metric.name])
        self.merge(batch)
        return combined(self.metric, batch["sums"], batch["count"])

    def state(self) -> dict[str, Any]:
        """What another process needs to go on from here: plain numbers."""
        counts = {"count": self.count, "unscored": self.unscored, "failed": self.failed}
        return {"sums": list(self.sums), **counts}

    def merge(self, state: Mapping[str, Any]) -> None:
        """Add another process's cases."""
        ours, theirs = self.sums, state["sums"]
        self.sums = [a + b for a, b in zip(ours, theirs)] if ours and theirs else list(ours or theirs)
        self.count += state["count"]
        self.unscored += state["unscored"]
        self.failed += state["failed"]


def paired(preds: str | Texts, target: str | References | None) -> tuple[list[str], list[Any] | None]:
    """Predictions and their references as lists. As in torchmetrics, one text may be given as it is: then target is
    its reference, or a list of several.

    >>> paired("no tumor", ["no tumor seen", "tumor absent"])
    (['no tumor'], [['no tumor seen', 'tumor absent']])
    """
    several = None if target is None else [target] if isinstance(target, str) else _listed(target, "target")
    if not isinstance(preds, str):
        return _listed(preds, "preds"), several
    if several is not None and not isinstance(target, str) and all(isinstance(item, str) for item in several):
        several = [several]
    return [preds], several


def statistics(scores: Sequence[Score]) -> dict[str, Any]:
    """The summed statistics of the scored cases (`sums`), how many these are, and how many are unscored or failed."""
    rows = [score.statistics for score in scores if score.value is not None]
    return {
        "sums": [math.fsum(column) for column in zip(*rows)],
        "count": len(rows),
        "unscored": sum(score.unscored is not None for score in scores),
        "failed": sum(score.failed is not None for score in scores),
    }


def combined(metric: Metric, sums: Sequence[float], count: int) -> float:
    """The aggregate of summed statistics; NaN of none."""
    return float(metric.combine(np.asarray(sums, np.float64), np.asarray(count, np.float64))) if count else math.nan


def torchmetrics_metric(metric: str | Metric, *, models: str | None = None, **settings: Any) -> Any:
    """A `torchmetrics.Metric` (that library must be installed): states are summed across processes by itself.

    `update(preds, target)` takes texts; `compute()` gives a tensor. settings: those of every torchmetrics metric
    (`dist_sync_on_step` …). It can be pickled, and opens its models anew where it arrives.
    """
    return _torch_class()(metric, models, **settings)


def __getattr__(name: str) -> Any:
    if name == "TorchMetric":  # where pickles look for the class, which is made when it is asked for
        return _torch_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _torch_class() -> Any:
    """The class behind `torchmetrics_metric`."""
    try:
        import torch
        from torchmetrics import Metric as Base
    except ImportError as error:
        raise MedassayError("torchmetrics_metric needs torchmetrics: pip install torchmetrics") from error

    class TorchMetric(Base):  # type: ignore[misc]
        full_state_update = False
        is_differentiable = False

        def __init__(self, metric: str | Metric, models: str | None = None, **settings: Any) -> None:
            super().__init__(**settings)
            self.asked = (metric, models)
            width = _width(_opened(*self.asked))
            self.add_state("sums", torch.zeros(width, dtype=torch.float64), dist_reduce_fx="sum")
            self.add_state("count", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")
            self.add_state("unscored", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")
            self.add_state("failed", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

        @property
        def higher_is_better(self) -> bool:
            return _opened(*self.asked).metrics[0].higher_is_better

        def update(self, preds: str | Texts, target: str | References | None = None) -> None:
            scorer = _opened(*self.asked)
            batch = statistics(scorer.score_batch(*paired(preds, target))[scorer.metrics[0].name])
            if batch["count"]:
                self.sums += torch.tensor(batch["sums"], dtype=torch.float64, device=self.sums.device)
            self.count += batch["count"]
            self.unscored += batch["unscored"]
            self.failed += batch["failed"]

        def compute(self) -> Any:
            value = combined(_opened(*self.asked).metrics[0], self.sums.tolist(), int(self.count))
            return torch.tensor(value, dtype=torch.float64, device=self.sums.device)

    TorchMetric.__qualname__ = "TorchMetric"
    return TorchMetric


@lru_cache(maxsize=16)
def _opened(metric: str | Metric, models: str | None) -> Scorer:
    """The scorer of a metric: copies of a torchmetrics metric share it."""
    scorer = Scorer(metric, models=models)
    _only_metric(scorer)
    return scorer


def _width(scorer: Scorer) -> int:
    """How many statistics a case has: seen on a pair that every metric of texts can score."""
    text = "Invasive adenocarcinoma, grade 2. No lymphovascular invasion."
    probe = scorer.score_batch([text], [text], sources=[text])[scorer.metrics[0].name][0]
    return len(probe.statistics) or 1
