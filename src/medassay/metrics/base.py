"""The contract of a metric.

A metric is one subclass of `Metric` that fills `measure`: complete cases in (every needed field
there, exactly one reference), one `Score` a case out. Everything that holds for all metrics (cases
that lack a field, several references, a row that breaks) is dealt with here, once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from medassay import __version__
from medassay.cases import Case
from medassay.errors import MedassayError
from medassay.scores import Score, Signature

Floats = npt.NDArray[np.float64]
Scorer = Callable[["Metric", Sequence[Case]], list[Score]]
"""Scores a slice of cases with a metric, from the run's store where it has them."""


class Metric(ABC):
    """One way to turn a case into a number.

    needs: the case fields it reads (`candidate`, `reference`, `source`, `image`, or a column's name).
    parts: the components it reports beside the value, in column order.
    labels: words it says beside the value (`route`), each a column of its own.
    bounds: lowest and highest possible value; None where there is no bound.
    defined: where the number is defined (paper and section).
    references: with several references, the `best` one's score counts, or the `mean` over them.
    reads: fields that it uses where they are there, but does not need.
    members: metrics whose scores this one is made of, by `compose`.
    over_set: whether a number depends on the whole set scored; such a metric sees all of it first (`survey`).
    runs_on: what measuring takes, which decides where an engine does it. `cores`: worker processes, one a core.
        `device`: a model that fills a graphics card, or all cores, by itself: one thread. `network`: it waits
        for an endpoint: one thread.
    """

    name: str
    summary: ClassVar[str]
    defined: ClassVar[str]
    needs: frozenset[str] = frozenset({"candidate", "reference"})
    parts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    higher_is_better: bool = True
    bounds: tuple[float | None, float | None] = (0.0, 1.0)
    reads: frozenset[str] = frozenset()
    members: tuple[Metric, ...] = ()
    over_set: bool = False
    runs_on: Literal["cores", "device", "network"] = "cores"
    keeps_unscored: ClassVar[bool] = True
    """Whether the store may keep the reason a case is unscored; no where it may have gone by the next run."""
    with_evidence: bool = False
    """Whether evidence that costs time is wanted; whoever draws it turns it on."""
    keep_every: ClassVar[int] = 1024
    """Cases scored between two writes to the store; a slow metric names fewer, so that a kill loses little."""

    def __init__(self, *, references: Literal["best", "mean"] = "best") -> None:
        if references not in ("best", "mean"):
            raise MedassayError(f"references: '{references}' is neither 'best' nor 'mean'")
        self.references = references

    @abstractmethod
    def measure(self, cases: Sequence[Case]) -> list[Score]:
        """Score complete cases: each has every needed field, and one reference if any is needed."""

    def settings(self) -> Mapping[str, object]:
        """Everything that changes the number, for the signature."""
        return {}

    @property
    def signature(self) -> Signature:
        """The line that names what made the number."""
        settings = dict(self.settings())
        if "reference" in self.needs:
            settings["refs"] = self.references
        return Signature.build(getattr(type(self), "name", self.name), settings, __version__)

    @property
    def depends_on_set(self) -> bool:
        """Whether this metric, or one it is made of, is over the set scored."""
        return self.over_set or any(member.depends_on_set for member in self.members)

    def combine(self, sums: Floats, counts: Floats) -> Floats:
        """The aggregate of sets of cases, from the summed statistics of each set.

        sums: [..., k] statistics summed over a set; counts: [...] cases in it. The mean by default;
        corpus-level metrics override it. Must be vectorised: bootstrap calls it on all resamples at once.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            mean: Floats = sums[..., 0] / counts
        return mean

    def survey(self, batches: Iterable[Sequence[Case]], scored: Scorer) -> None:
        """See the whole set before any of it is scored; for metrics that are `over_set`.

        batches: every case of the set, in slices; scored: gives the scores of a member for a slice.
        """
        raise NotImplementedError(f"metric '{self.name}' is over the set and has no survey")

    def compose(self, scores: Sequence[Sequence[Score]]) -> list[Score]:
        """One score a case from the members' scores (one sequence a member); for metrics with `members`."""
        raise NotImplementedError(f"metric '{self.name}' has members and no compose")

    def stop(self) -> None:  # noqa: B027 - most metrics have nothing to end
        """The run was interrupted while this metric may be at work in another thread: end waits at once."""

    def score(self, cases: Sequence[Case]) -> list[Score]:
        """One score a case, same order, same length, always; the cases are the set, where that matters."""
        survey_all([self], [cases], lambda metric, some: metric.score_slice(some))
        return self.score_slice(cases)

    def score_slice(self, cases: Sequence[Case]) -> list[Score]:
        """Scores of a slice of the set that has been surveyed."""
        if self.members:
            return self.compose([member.score_slice(cases) for member in self.members])
        needs = sorted(self.needs)
        reasons = [_lacking(case, needs) for case in cases]
        complete = [case for case, reason in zip(cases, reasons) if reason is None]
        many = "reference" in self.needs and any(len(case.references) != 1 for case in complete)
        scores = iter(self._each_reference(complete) if many else self._isolated(complete))
        return [next(scores) if reason is None else Score.none(reason) for reason in reasons]

    def _each_reference(self, cases: Sequence[Case]) -> list[Score]:
        """Every case against each of its references alone, then brought together."""
        single = [one for case in cases for one in _one_reference_each(case)]
        scores = iter(self._isolated(single))
        each = [[next(scores) for _ in case.references] for case in cases]
        return [many[0] if len(many) == 1 else self._over_references(many) for many in each]

    def _isolated(self, cases: Sequence[Case]) -> list[Score]:
        """Measure all at once; where that breaks, one by one, so that one row never loses the others."""
        if not cases:
            return []
        try:
            scores = self.measure(cases)
        except (MedassayError, MemoryError, ImportError):
            raise
        except Exception as error:
            if len(cases) == 1:
                return [Score.none(f"{type(error).__name__}: {error}")]
            return [score for case in cases for score in self._isolated([case])]
        if len(scores) != len(cases):
            raise MedassayError(f"metric '{self.name}' returned {len(scores)} scores for {len(cases)} cases")
        return scores

    def _over_references(self, scores: Sequence[Score]) -> Score:
        """The best reference's score, or the mean over references (evidence from the best)."""
        scored = [score for score in scores if score.value is not None]
        if not scored:
            return scores[0]
        best = (max if self.higher_is_better else min)(scored, key=lambda score: score.value or 0.0)
        if best.evidence:
            # Offsets speak of one reference; the evidence says which (counted from 0).
            which = next(i for i, score in enumerate(scores) if score is best)
            best = replace(best, evidence={**best.evidence, "reference": which})
        if self.references == "best":
            return best
        return Score(
            float(np.mean([score.value for score in scored])),
            parts={p: float(np.mean([s.parts[p] for s in scored if p in s.parts])) for p in best.parts},
            evidence=best.evidence,
            statistics=tuple(np.mean([score.statistics for score in scored], axis=0).tolist()),
        )


def survey_all(metrics: Sequence[Metric], batches: Iterable[Sequence[Case]], scored: Scorer) -> None:
    """Let every metric that is over the set see it, members before what is made of them.

    `batches` is gone through once for each such metric, so it must be something that can be: a list, or
    an object that starts anew with each loop.
    """
    for metric in metrics:
        if not metric.depends_on_set:
            continue
        survey_all(metric.members, batches, scored)
        if metric.over_set:
            metric.survey(batches, scored)


def _lacking(case: Case, needs: Sequence[str]) -> str | None:
    """Why the case cannot be scored: the first need it lacks."""
    for need in needs:
        if not case.has(need):
            return "empty candidate" if need == "candidate" else f"no {need}"
    return None


def _one_reference_each(case: Case) -> list[Case]:
    if len(case.references) == 1:
        return [case]
    return [replace(case, references=(reference,)) for reference in case.references]


class Part(Metric):
    """One component of another metric as a metric of its own: `rouge1.recall`, `bertscore_f`."""

    summary = "one component of another metric"
    defined = "as the metric it is taken from"

    def __init__(self, whole: Metric, part: str, name: str | None = None) -> None:
        super().__init__(references=whole.references)
        self.whole = whole
        self.part = part
        self.name = name or f"{whole.name}.{part}"
        self.needs = whole.needs
        self.higher_is_better = whole.higher_is_better
        self.bounds = whole.bounds
        self.reads = whole.reads
        self.over_set = whole.over_set
        self.runs_on = whole.runs_on

    def survey(self, batches: Iterable[Sequence[Case]], scored: Scorer) -> None:
        self.whole.survey(batches, scored)

    def settings(self) -> Mapping[str, object]:
        return {"of": f"{self.whole.signature.name}.{self.part}", **self.whole.settings()}

    def measure(self, cases: Sequence[Case]) -> list[Score]:
        self.whole.with_evidence = self.with_evidence
        return [self._take(score) for score in self.whole.measure(cases)]

    def _take(self, score: Score) -> Score:
        if score.value is None:
            return score
        if self.part not in score.parts:
            return Score.none(f"no {self.part}")
        return Score(score.parts[self.part], evidence=score.evidence)
