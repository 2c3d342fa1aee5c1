"""The contract of a metric, and its two relatives: a metric over a whole set, and an ensemble.

A metric is one subclass of `Metric` that fills `measure`. What holds for all metrics (cases that lack a field,
several references, a row that breaks) is dealt with once, in `metrics/scoring.py`. Where a metric runs, how many
cases it is given and what is kept of its scores is decided by the engine, from what the metric declares here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from medassay import __version__
from medassay.cases import ANY_FIELD, Case
from medassay.metrics.settings import check_settings
from medassay.scores import Score, Signature

Floats = npt.NDArray[np.float64]
ScoreSlice = Callable[["Metric", Sequence[Case]], list[Score]]
"""Scores a slice of cases with a metric, from the run's store where it has them."""


class Metric(ABC):
    """One way to turn a case into a number.

    name, summary, defined: what it is called, what it says in a line, where it is defined (paper and section).
    needs: the case fields it cannot do without (`candidate`, `reference`, `source`, `image`, or a column's name).
    reads: fields that it uses where they are there, but does not need.
    parts: the components it reports beside the value, in column order.
    labels: words it says beside the value (`route`), each a column of its own.
    bounds: lowest and highest possible value; None where there is no bound.
    references: with several references, the `best` one's score counts, or the `mean` over them.
    roles: the model roles it holds, each with the specification its model was loaded by (`("nli", "embedded")`).
    waits_for_network: whether it spends its time waiting for an endpoint.
    made_for: the one kind of text that its number means something for (`pathology report`); empty where any.
    version, origin: of the code that makes the number, for the signature; set by the registry for a metric from
        another distribution or from a user's own module.
    """

    name: str
    summary: ClassVar[str]
    defined: ClassVar[str]
    needs: frozenset[str] = frozenset({"candidate", "reference"})
    reads: frozenset[str] = frozenset()
    parts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    higher_is_better: bool = True
    bounds: tuple[float | None, float | None] = (0.0, 1.0)
    roles: tuple[tuple[str, str], ...] = ()
    waits_for_network: bool = False
    made_for: ClassVar[str] = ""
    version: str = __version__
    origin: Mapping[str, object] = {}

    def __new__(cls, *arguments: object, **settings: object) -> Self:
        """Check the settings by the annotations of the constructor (see `metrics/settings.py`)."""
        check_settings(cls, settings)
        return super().__new__(cls)

    def __init__(self, *, references: Literal["best", "mean"] = "best") -> None:
        self.references = references

    @abstractmethod
    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        """Score complete cases: each has every needed field, and one reference if any is needed.

        Args:
            cases: a slice of the set, of any length from one on.
            evidence: whether evidence that costs time is wanted; a report or an evidence file will show it.

        Returns:
            One score per case, in the same order: a value, or `Score.none` where the text cannot be scored.

        Anything else that a metric may do:
            An exception, or `sys.exit`: the cases are measured one at a time, and each that raises again has
            *failed* with `Type: message`. The others keep their scores.
            NaN or infinity: `Score` refuses it with a `ValueError`, so the case has failed.
            None, or anything that is no `Score`: that case has failed. A list of another length: as an exception.
            A process that dies (a crash in native code, memory): with worker processes the case alone has failed.
            `KeyboardInterrupt`: the run is interrupted, as by Ctrl-C; a worker process dies of it.
            It never returns: with a time limit per case (`--case-timeout`) the case has failed and the rest is
            done; without one nothing bounds its time, but Ctrl-C ends the run at once. A metric that waits for
            something (an endpoint) has a time limit of its own.

        A failed case is named, gives exit code 1 and is never kept in a store. A metric that fails on every case
        ends with its error and exit code 2; the results of the other metrics are written.
        """

    def settings(self) -> Mapping[str, object]:
        """Everything that changes the number, for the signature."""
        return {}

    @property
    def signature(self) -> Signature:
        """The line that names what made the number."""
        settings = dict(self.settings())
        if "reference" in self.needs:
            settings["refs"] = self.references
        return Signature.build(getattr(type(self), "name", self.name), {**settings, **self.origin}, self.version)

    @property
    def fields(self) -> frozenset[str]:
        """The case fields that a score may depend on: cases that agree on them have the same score.

        A class from outside this package that declares neither `needs` nor `reads` may read any field.
        """
        return self.needs | self.reads if _declares_fields(self) else frozenset({ANY_FIELD})

    def combine(self, sums: Floats, counts: Floats) -> Floats:
        """The aggregate of sets of cases, from the summed statistics of each set.

        sums: [..., k] statistics summed over a set; counts: [...] cases in it. The mean by default;
        corpus-level metrics override it. Must be vectorised: bootstrap calls it on all resamples at once.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            mean: Floats = sums[..., 0] / counts
        return mean

    def score(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        """Score a set of cases.

        Returns:
            One score per case, in the same order. A metric that depends on the set takes these cases as the set.
        """
        from medassay.metrics.scoring import score_slice, survey_all

        survey_all([self], [cases], score_slice)
        return score_slice(self, cases, evidence)


class SetMetric(Metric):
    """A metric whose numbers depend on the whole set scored: it sees all of it before any of it is measured.

    over_set: whether that is so with the settings at hand.
    """

    over_set: bool = True

    @abstractmethod
    def survey(self, batches: Iterable[Sequence[Case]], scored: ScoreSlice) -> None:
        """See the whole set.

        Args:
            batches: every case of the set, in slices; may be gone through several times.
            scored: gives the scores of another metric (a member) for a slice.
        """


class Ensemble(Metric):
    """A metric that is made of the scores of other metrics, its members, and of nothing else."""

    members: tuple[Metric, ...] = ()

    @abstractmethod
    def compose(self, scores: Sequence[Sequence[Score]], evidence: bool = False) -> list[Score]:
        """One score per case from the members' scores (one sequence per member), none of which has failed."""

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        """As `score`, once the set has been surveyed: members are measured, then composed."""
        from medassay.metrics.scoring import score_slice

        return score_slice(self, cases, evidence)


class Part(Ensemble):
    """One component of another metric as a metric of its own: `rouge1.recall`, `bertscore_f`.

    An ensemble with one member: the engine runs and stores that member.
    """

    summary = "one component of another metric"
    defined = "as the metric it is taken from"

    def __init__(self, whole: Metric, part: str, name: str | None = None) -> None:
        super().__init__(references=whole.references)
        self.members = (whole,)
        self.part = part
        self.name = name or f"{whole.name}.{part}"
        self.needs, self.reads = whole.needs, whole.reads
        self.higher_is_better, self.bounds = whole.higher_is_better, whole.bounds
        self.version, self.origin = whole.version, whole.origin

    def settings(self) -> Mapping[str, object]:
        (whole,) = self.members
        return {"of": f"{whole.signature.name}.{self.part}", **whole.settings()}

    def compose(self, scores: Sequence[Sequence[Score]], evidence: bool = False) -> list[Score]:
        return [self._take(score) for score in scores[0]]

    def _take(self, score: Score) -> Score:
        if score.value is None:
            return Score.none(score.unscored or "")
        if self.part not in score.parts:
            return Score.none(f"no {self.part}")
        return Score(score.parts[self.part], evidence=score.evidence)


def f1(precision: float, recall: float) -> float:
    """The harmonic mean of precision and recall; 0 where either is not positive.

    >>> f1(0.5, 1.0), f1(0.0, 0.0)
    (0.6666666666666666, 0.0)
    """
    return 2 * precision * recall / (precision + recall) if precision > 0 and recall > 0 else 0.0


def members_of(metric: Metric) -> tuple[Metric, ...]:
    """The metrics that an ensemble is made of; none of any other metric."""
    return metric.members if isinstance(metric, Ensemble) else ()


def depends_on_set(metric: Metric) -> bool:
    """Whether this metric, or one it is made of, must see the whole set before it is measured."""
    return (isinstance(metric, SetMetric) and metric.over_set) or any(map(depends_on_set, members_of(metric)))


def _declares_fields(metric: Metric) -> bool:
    """Whether `needs` or `reads` was set by the metric itself and not left as `Metric` has them."""
    ours = type(metric).__module__.partition(".")[0] == "medassay"
    namespaces = [vars(metric), *(vars(kind) for kind in type(metric).__mro__ if kind.__module__ != __name__)]
    return ours or any("needs" in namespace or "reads" in namespace for namespace in namespaces)
