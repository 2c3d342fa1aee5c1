"""How a metric takes clinical errors: what it loses by each, and whether it puts texts in the right order.

For one reference a metric should order: copy ≥ faithful paraphrase > the text, or a paraphrase, with one
clinical error > an unrelated text (the *ladder*). All rungs count: each alone can be won by a shortcut.
Rates are over pairs of texts of one reference, intervals over references.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from medassay.cases import Case, Row
from medassay.engine.base import Scored
from medassay.engine.local import run
from medassay.metrics.base import Metric
from medassay.scores import Score
from medassay.study.correlation import interval
from medassay.study.material import FORMS, Material, Variant
from medassay.study.resampling import Floats, bootstrap_sums

_TIE = 1e-6
"""Differences up to this share of the scale are rounding: neither above nor below."""

_MOST_GROUPS = 12
"""With more groups than this the column is no grouping, and no ladder is drawn up for each."""

Scores = Mapping[str, Sequence[Sequence[Score]]]
"""By metric and original, the score of each of its variants."""

Progress = Callable[[Iterator[list[Scored]], int], Iterator[list[Scored]]]
"""Wraps the batches of a run, given how many texts there are."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of pairs, 0…1, with its 95 % interval over references; None where there is no pair."""

    value: float | None
    pairs: int
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Drop:
    """What one kind of change costs.

    made, not_made: in how many references; unscored: made, but without a number.
    drop: mean loss against the copy, in % of the metric's range (of the copy's score where it has none);
        negative where the changed text scores higher. lower: share of texts that score below the copy.
    """

    form: str
    kind: str
    made: int
    not_made: int
    unscored: int
    drop: float | None
    low: float | None
    high: float | None
    lower: float | None


@dataclass(frozen=True)
class Card:
    """One metric's sensitivity card.

    win: share of pairs where a harmless change of the reference scores above an error in it; 1 is best.
    blind: the negation blind spot: share of pairs where a negated text scores no lower than a harmless
        change of the same reference; 0 is best.
    ladder: rung by rung over all errors; by_kind: rungs with errors, by kind of error; by_group: the ladder
        inside each group of references, where the file has several.
    """

    metric: str
    higher_is_better: bool
    signature: str
    drops: tuple[Drop, ...]
    win: Rate
    win_by_kind: Mapping[str, Rate]
    blind: Rate
    ladder: Mapping[str, Rate]
    by_kind: Mapping[str, Mapping[str, Rate]]
    by_group: Mapping[str, Mapping[str, Rate]]


RUNGS = (
    "copy ≥ paraphrase",
    "paraphrase > error",
    "paraphrase > reworded error",
    "copy > error",
    "unrelated lowest",
)


@dataclass(frozen=True)
class Stress:
    """The whole test: a card a metric, what was made, what a reader must know."""

    cards: tuple[Card, ...]
    material: Material
    scores: Scores
    resamples: int
    seed: int
    notes: tuple[str, ...]


def stress(
    material: Material,
    metrics: Sequence[Metric],
    *,
    resamples: int = 1000,
    seed: int = 1,
    progress: Progress | None = None,
) -> Stress:
    """Score every variant against its original with every metric, and draw up the cards."""
    scores = _score(material, metrics, progress)
    cards = tuple(_card(metric, material, scores[metric.name], resamples, seed) for metric in metrics)
    notes = (*material.notes, f"Intervals: {resamples:,} bootstrap resamples over references; seed {seed}.")
    return Stress(cards, material, scores, resamples, seed, notes)


def _score(
    material: Material,
    metrics: Sequence[Metric],
    progress: Progress | None,
) -> dict[str, list[list[Score]]]:
    owners: list[int] = []
    rows: list[Row] = []
    for i, one in enumerate(material.originals):
        for k, variant in enumerate(one.variants):
            number = len(rows) + 1
            case = Case(f"{one.id}#{k}", variant.text, (one.text,), one.source, row=number)
            rows.append(Row(number, case))
            owners.append(i)
    out: dict[str, list[list[Score]]] = {m.name: [[] for _ in material.originals] for m in metrics}
    place = iter(owners)
    batches = run(rows, metrics)
    for batch in progress(batches, len(rows)) if progress else batches:
        for scored in batch:
            owner = next(place)
            for name, score in scored.scores.items():
                out[name][owner].append(score)
    return out


class _Values:
    """One metric's numbers: turned so that more is better, NaN where a text is unscored."""

    def __init__(self, metric: Metric, material: Material, scores: Sequence[Sequence[Score]]) -> None:
        sign = 1.0 if metric.higher_is_better else -1.0
        self.variants: list[list[Variant]] = [list(one.variants) for one in material.originals]
        values = [np.array([np.nan if s.value is None else sign * s.value for s in row]) for row in scores]
        low, high = metric.bounds
        self.span = high - low if low is not None and high is not None else None
        finite = np.concatenate(values) if values else np.zeros(0)
        reach = float(np.nanmax(np.abs(finite))) if np.isfinite(finite).any() else 1.0
        self.tie = _TIE * (self.span or max(reach, 1e-12))

        self.by_form: list[dict[tuple[str, str | None], list[float]]] = []
        for row, numbers in zip(self.variants, values):
            found: dict[tuple[str, str | None], list[float]] = {}
            for variant, value in zip(row, numbers.tolist()):
                if np.isfinite(value):
                    found.setdefault((variant.form, None), []).append(value)
                    found.setdefault((variant.form, variant.kind), []).append(value)
            self.by_form.append(found)

    def of(self, original: int, forms: Iterable[str], kind: str | None = None) -> Floats:
        """The numbers of one original's variants of these forms (and this kind), unscored ones left out."""
        found = self.by_form[original]
        return np.array([value for form in forms for value in found.get((form, kind), ())])

    def rate(self, better: Sequence[str], worse: Sequence[str], kind: str | None, resamples: int, seed: int) -> Rate:
        """Share of pairs where a text of the better forms scores above one of the worse forms (of that kind)."""
        sums = []
        for i in range(len(self.by_form)):
            a, b = self.of(i, better), self.of(i, worse, kind)
            sums.append((float((a[:, None] > b[None, :] + self.tie).sum()), float(len(a) * len(b))))
        return _rate(np.array(sums), resamples, seed)


def _rate(sums: Floats, resamples: int, seed: int) -> Rate:
    """[references, (wins, pairs)] as a share with its interval."""
    used = sums[sums[:, 1] > 0] if len(sums) else sums
    if not len(used):
        return Rate(None, 0)
    wins, pairs = used.sum(axis=0)
    if len(used) < 2 or not resamples:
        return Rate(float(wins / pairs), int(pairs))
    drawn = bootstrap_sums(used, resamples, seed)
    low, high = interval(drawn[:, 0] / drawn[:, 1])
    return Rate(float(wins / pairs), int(pairs), low, high)


def _card(metric: Metric, material: Material, scores: Sequence[Sequence[Score]], resamples: int, seed: int) -> Card:
    values = _Values(metric, material, scores)
    forms = {v.form for one in material.originals for v in one.variants}
    paraphrase = ("paraphrase",) if "paraphrase" in forms else ("rewording",)
    harmless, errors = ("harmless", *paraphrase), ("error", "reworded error")
    kinds = list(dict.fromkeys(v.kind for one in material.originals for v in one.variants if v.form in errors))

    return Card(
        metric=metric.name,
        higher_is_better=metric.higher_is_better,
        signature=str(metric.signature),
        drops=tuple(_drops(values, material, resamples, seed)),
        win=values.rate(harmless, errors, None, resamples, seed),
        win_by_kind={kind: values.rate(harmless, errors, kind, resamples, seed) for kind in kinds},
        blind=_blind(values, harmless, resamples, seed),
        ladder=_ladder(values, paraphrase, resamples, seed),
        by_kind={kind: _rungs(values, paraphrase, kind, resamples, seed) for kind in kinds},
        by_group=_by_group(metric, material, scores, paraphrase, resamples, seed),
    )


def _rungs(values: _Values, paraphrase: Sequence[str], kind: str | None, resamples: int, seed: int) -> dict[str, Rate]:
    """The rungs that have errors on one side, over one kind of error or all."""
    return {
        "paraphrase > error": values.rate(paraphrase, ("error",), kind, resamples, seed),
        "paraphrase > reworded error": values.rate(paraphrase, ("reworded error",), kind, resamples, seed),
        "copy > error": values.rate(("copy",), ("error",), kind, resamples, seed),
    }


def _ladder(values: _Values, paraphrase: Sequence[str], resamples: int, seed: int) -> dict[str, Rate]:
    found = {
        "copy ≥ paraphrase": _not_above(values, ("copy",), paraphrase, resamples, seed),
        **_rungs(values, paraphrase, None, resamples, seed),
        "unrelated lowest": _lowest(values, resamples, seed),
    }
    return {rung: found[rung] for rung in RUNGS}


def _by_group(
    metric: Metric,
    material: Material,
    scores: Sequence[Sequence[Score]],
    paraphrase: Sequence[str],
    resamples: int,
    seed: int,
) -> dict[str, dict[str, Rate]]:
    groups: dict[str, list[int]] = {}
    for i, one in enumerate(material.originals):
        groups.setdefault(one.group, []).append(i)
    out = {}
    for group, members in groups.items() if 1 < len(groups) <= _MOST_GROUPS else ():
        part = replace(material, originals=tuple(material.originals[i] for i in members))
        out[group] = _ladder(_Values(metric, part, [scores[i] for i in members]), paraphrase, resamples, seed)
    return out


def _opposite(rate: Rate) -> Rate:
    if rate.value is None:
        return rate
    low, high = (None if edge is None else 1.0 - edge for edge in (rate.high, rate.low))
    return Rate(1.0 - rate.value, rate.pairs, low, high)


def _not_above(values: _Values, first: Sequence[str], second: Sequence[str], resamples: int, seed: int) -> Rate:
    """Share of pairs where the second does not score above the first."""
    return _opposite(values.rate(second, first, None, resamples, seed))


def _blind(values: _Values, harmless: Sequence[str], resamples: int, seed: int) -> Rate:
    return _opposite(values.rate(harmless, ("error", "reworded error"), "negation", resamples, seed))


def _lowest(values: _Values, resamples: int, seed: int) -> Rate:
    """Share of references whose unrelated text scores below every other text of it."""
    sums = []
    for i in range(len(values.by_form)):
        stranger = values.of(i, ("unrelated",))
        rest = values.of(i, {v.form for v in values.variants[i]} - {"unrelated"})
        if len(stranger) and len(rest):
            sums.append((float(stranger.max() < rest.min() - values.tie), 1.0))
    return _rate(np.array(sums).reshape(-1, 2), resamples, seed)


def _drops(values: _Values, material: Material, resamples: int, seed: int) -> list[Drop]:
    """One line a form and kind, in the order of the forms; a kind that was never made still has its line."""
    seen = {(v.form, v.kind) for one in material.originals for v in one.variants} | set(material.not_made)
    out = []
    for form, kind in sorted(seen - {("copy", "copy")}, key=lambda pair: (FORMS.index(pair[0]), pair[1])):
        sums, made, unscored, fell = [], 0, 0, 0
        for i, row in enumerate(values.variants):
            count = sum((v.form, v.kind) == (form, kind) for v in row)
            made += count
            copy, changed = values.of(i, ("copy",)), values.of(i, (form,), kind)
            unscored += count - len(changed) if len(copy) else count
            scale = values.span or (abs(float(copy[0])) if len(copy) else 0.0)
            if len(copy) and len(changed) and scale > 0:
                sums.append((100.0 * float((copy[0] - changed).sum()) / scale, float(len(changed))))
                fell += int((changed < copy[0] - values.tie).sum())
        missed = sum(material.not_made.get((form, kind), {}).values())
        array = np.array(sums).reshape(-1, 2)
        drop, low, high, lower = None, None, None, None
        if len(array):
            drop, lower = float(array[:, 0].sum() / array[:, 1].sum()), fell / float(array[:, 1].sum())
        if len(array) > 1 and resamples:
            drawn = bootstrap_sums(array, resamples, seed)
            low, high = interval(drawn[:, 0] / drawn[:, 1])
        out.append(Drop(form, kind, made, missed, unscored, drop, low, high, lower))
    return out


def rows(test: Stress) -> list[dict[str, object]]:
    """Every text that was scored, with its scores: one flat record each, for a file."""
    out = []
    for i, one in enumerate(test.material.originals):
        for k, variant in enumerate(one.variants):
            record: dict[str, object] = {"id": one.id, "form": variant.form, "kind": variant.kind}
            record |= {"origin": variant.origin, "reference": one.text, "candidate": variant.text}
            for name, scored in test.scores.items():
                record |= {name: scored[i][k].value, f"{name}.unscored": scored[i][k].unscored}
            out.append(record)
    return out
