"""Ensembles: the mean of several metrics' z-scores.

A z-score says how many standard deviations a case stands above the mean of a metric: over the set being
scored, or over a stored distribution, so that a single note can be scored. As published for MIST-Comb1 and
MIST-Comb2 (Ben Abacha et al. 2023, section 4.4): MIST, ROUGE-1 recall and BERTScore or BLEURT, z over the set
scored.
"""

from __future__ import annotations

import hashlib
import json
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from medassay import __version__
from medassay.cases import Case
from medassay.errors import InputError, MedassayError
from medassay.files import write_text
from medassay.metrics.base import Ensemble, Metric, ScoreSlice, SetMetric
from medassay.scores import Score


@dataclass(frozen=True, slots=True)
class Distribution:
    """How one metric is distributed over a set: its signature, cases, mean and standard deviation.

    sd has n in the denominator: over the set it came from, z-scores have mean 0 and deviation 1.
    """

    signature: str
    n: int
    mean: float
    sd: float

    @classmethod
    def of(cls, signature: str, values: Sequence[float]) -> Distribution:
        """The distribution of these values; exact sums, so that the order of the set does not change the result."""
        n = len(values)
        mean = math.fsum(values) / n if n else math.nan
        variance = math.fsum((value - mean) ** 2 for value in values) / n if n else math.nan
        return cls(signature, n, mean, math.sqrt(variance))

    @property
    def problem(self) -> str | None:
        """Why no z-score can be computed, or None."""
        if self.n < 2:
            return (
                f"has {self.n} scored case{'s' * (self.n != 1)} in the set; z-scores need two or a stored distribution"
            )
        if not self.sd > 1e-12 * max(1.0, abs(self.mean)):
            return "is the same for every case of the set, so there is no z-score"
        return None


class ZMean(Ensemble, SetMetric):
    """Mean of z-scores of the members: 0 is the average case, 1 a standard deviation above it; higher is better.

    `z(rouge1_r,bertscore_f)`; any metric, family, part or setting may be a member. A member of which lower
    is better counts with its sign turned. z is taken over the cases of the set that every member scores, or
    with `reference=FILE` over a distribution that `medassay score … --save-distribution FILE` has stored
    (`reference=notes`: the bundled one, of clinical notes). A case that a member does not score is unscored.
    Over the set itself the mean is 0 by construction: compare systems, not runs.

    missing: what becomes of a case that a member does not score: `unscored` (default), or `skip`, the mean over
    the members that do score it (unscored where none does).
    """

    name = "z"
    summary = "mean of z-scores of other metrics, over the set scored or a stored distribution"
    defined = "Ben Abacha et al., Evaluation Methods in Automatic Medical Note Generation, 2023, section 4.4"
    needs = frozenset({"candidate"})
    bounds = (None, None)

    def __init__(
        self,
        members: Sequence[str] = (),
        *,
        reference: str | None = None,
        missing: Literal["unscored", "skip"] = "unscored",
        models: str | None = None,
        references: Literal["best", "mean"] = "best",
    ) -> None:
        super().__init__(references=references)
        from medassay.metrics.registry import load_metrics

        self.skip = missing == "skip"

        if not members:
            raise MedassayError("z: name its members, as in z(rouge1_r,chrf)")
        self.members = tuple(load_metrics(members, models=models, references=references))
        if any(isinstance(member, ZMean) for member in self.members):
            raise MedassayError("z: an ensemble cannot be a member of another; list the metrics themselves")
        self.needs = frozenset().union(*(member.needs for member in self.members))
        self.reads = frozenset().union(*(member.reads for member in self.members))
        self.over_set = reference is None
        self.source = "set"
        self.bundled = False
        self.distributions: Mapping[str, Distribution] | None = None
        if reference is not None:
            self._load_stored(str(reference))

    def _load_stored(self, reference: str) -> None:
        self.bundled = reference in bundled_names()
        path = _BUNDLED / f"{reference}.json" if self.bundled else Path(reference)
        stored, digest = read_distributions(path)
        for member in self.members:
            if member.name not in stored:
                raise InputError(
                    f"{path}: holds no distribution of '{member.name}', only of {', '.join(sorted(stored))}; "
                    f"score a set with z({','.join(m.name for m in self.members)}) and --save-distribution"
                )
        self.distributions = stored
        self.source = f"{path.stem}@{digest}"

    def _checked(self) -> Mapping[str, Distribution]:
        """The distributions; raises where a stored one was made with other settings than its member has now.

        Not checked at the start: a member that depends on the set has its full signature only after the survey.
        """
        assert self.distributions is not None, "z: scored before the set was seen"
        for member in self.members:
            distribution = self.distributions[member.name]
            if not self.over_set and not self._agree(distribution.signature, str(member.signature)):
                raise InputError(
                    f"the stored distribution of '{member.name}' was made with {distribution.signature}; here it is "
                    f"{member.signature}. Use the same settings, or store it anew with --save-distribution"
                )
        return self.distributions

    def _agree(self, stored: str, now: str) -> bool:
        """Whether two signatures mean the same number; the version that a bundled file names does not count."""
        if self.bundled:
            stored, now = stored.rpartition("|v:")[0], now.rpartition("|v:")[0]
        return stored == now

    def settings(self) -> Mapping[str, object]:
        signatures = "\n".join(str(member.signature) for member in self.members)
        n = min((d.n for d in self.distributions.values()), default=0) if self.distributions else "none"
        return {
            "members": "+".join(member.name for member in self.members),
            "made": hashlib.sha256(signatures.encode()).hexdigest()[:8],
            "z": self.source,
            "n": n,
            **({"missing": "skip"} if self.skip else {}),
        }

    def survey(self, batches: Iterable[Sequence[Case]], scored: ScoreSlice) -> None:
        """Mean and deviation of each member over the cases that all of them score (`skip`: that it scores itself)."""
        values = [array("d") for _ in self.members]
        for cases in batches:
            for scores in zip(*(scored(member, cases) for member in self.members)):
                if self.skip or all(score.value is not None for score in scores):
                    for column, score in zip(values, scores):
                        if score.value is not None:
                            column.append(score.value)
        self.distributions = {
            member.name: Distribution.of(str(member.signature), column) for member, column in zip(self.members, values)
        }

    def compose(self, scores: Sequence[Sequence[Score]], evidence: bool = False) -> list[Score]:
        known = self._checked()
        ours = [known[member.name] for member in self.members]
        for member, distribution in zip(self.members, ours):
            if distribution.problem:
                return [Score.none(f"{member.name} {distribution.problem}") for _ in scores[0]]
        return [self._mean(case, ours, evidence) for case in zip(*scores)]

    def _mean(self, scores: Sequence[Score], distributions: Sequence[Distribution], evidence: bool) -> Score:
        shown: list[dict[str, Any]] = []
        for member, score, distribution in zip(self.members, scores, distributions):
            if score.value is None:
                if self.skip:
                    continue
                return Score.none(f"{member.name}: {score.unscored}")
            z = (score.value - distribution.mean) / distribution.sd * (1 if member.higher_is_better else -1)
            shown.append({"name": member.name, "value": score.value, "z": z})
        if not shown:
            return Score.none(f"{self.members[0].name}: {scores[0].unscored}")
        mean = math.fsum(item["z"] for item in shown) / len(shown)
        return Score(mean, evidence={"members": shown} if evidence else {})


_BUNDLED = Path(str(files("medassay.metrics"))) / "distributions"


def bundled_names() -> list[str]:
    """The distributions that come with medassay."""
    return sorted(path.stem for path in _BUNDLED.glob("*.json"))


def save_distributions(path: Path, metrics: Iterable[Metric], values: Mapping[str, Sequence[float]]) -> None:
    """Store how the metrics of a run, and the members of its ensembles, are distributed.

    values: the scored values of each plain metric of the run.
    """
    distributions: dict[str, Distribution] = {}
    for metric in metrics:
        if isinstance(metric, ZMean):
            distributions.update(metric.distributions or {})
        else:
            distributions.setdefault(metric.name, Distribution.of(str(metric.signature), values.get(metric.name, ())))
    record = {
        "medassay": __version__,
        "distributions": {
            name: {
                "signature": distribution.signature,
                "n": distribution.n,
                "mean": distribution.mean,
                "sd": distribution.sd,
            }
            for name, distribution in sorted(distributions.items())
            if distribution.n
        },
    }
    write_text(path, json.dumps(record, ensure_ascii=False, indent=1) + "\n")


def read_distributions(path: Path) -> tuple[dict[str, Distribution], str]:
    """The stored distributions by metric name, and a short hash of the file."""
    remedy = "make it with medassay score … --save-distribution FILE"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); {remedy}, or name a bundled one: {', '.join(bundled_names())}"
        ) from error
    try:
        listed: Mapping[str, Any] = json.loads(content)["distributions"]
        distributions = {
            name: Distribution(
                str(distribution["signature"]),
                int(distribution["n"]),
                float(distribution["mean"]),
                float(distribution["sd"]),
            )
            for name, distribution in listed.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a file of distributions ({type(error).__name__}: {error}); {remedy}") from error
    bad = [
        name
        for name, distribution in distributions.items()
        if not (math.isfinite(distribution.mean) and distribution.sd >= 0 and distribution.n >= 0)
    ]
    if bad:
        raise InputError(f"{path}: mean, sd or n of '{bad[0]}' is not a number that can be; {remedy}")
    return distributions, hashlib.sha256(content).hexdigest()[:8]
