"""How a metric reacts to clinical errors: how much its score falls, and whether it orders texts correctly.

For one reference a metric should order: copy ≥ faithful paraphrase > the text, or a paraphrase, with one
clinical error > an unrelated text (the *ladder*). All rungs count, since a metric can pass each alone by a shortcut.
Rates are over pairs of texts of one reference, intervals over references. A text stands above another where it scores
higher by more than a margin, a share of the metric's range that is stated with the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.study.material import FORMS, Material, Variant
from medassay.study.resampling import Estimate, Floats
from medassay.study.studentised import ratio

MARGIN = 0.01
"""Differences up to this share of the scale count as none, so that no metric is credited for a trace of a drop."""

_ROUNDING = 1e-6

_MOST_GROUPS = 12
"""The most groups for which a ladder is computed; a column with more values is not a grouping."""

Values = Sequence[Floats]
"""By original, the number of each of its variants; NaN where one is unscored."""


@dataclass(frozen=True, slots=True)
class Drop:
    """What one kind of change costs.

    made, not_made: in how many references; unscored: made, but without a number.
    drop: mean loss against the copy, in % of the metric's range (of the copy's score where it has none);
        negative where the changed text scores higher.
    lower: share of texts that score below the copy by more than the margin; NaN, like the drop, where no text is
        scored.
    """

    form: str
    kind: str
    made: int
    not_made: int
    unscored: int
    drop: Estimate
    lower: float


@dataclass(frozen=True)
class Card:
    """One metric's sensitivity card. Rates are shares of pairs, 0…1, over `n` pairs; NaN where there is none.

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
    win: Estimate
    win_by_kind: Mapping[str, Estimate]
    blind: Estimate
    ladder: Mapping[str, Estimate]
    by_kind: Mapping[str, Mapping[str, Estimate]]
    by_group: Mapping[str, Mapping[str, Estimate]]


RUNGS = (
    "copy ≥ paraphrase",
    "paraphrase > error",
    "paraphrase > reworded error",
    "copy > error",
    "unrelated lowest",
)


@dataclass(frozen=True)
class Stress:
    """The whole test: a card per metric, what was made, what a reader must know.

    margin: share of a metric's range (of its largest score where it has none) up to which two scores count as equal.
    """

    cards: tuple[Card, ...]
    material: Material
    notes: tuple[str, ...]
    margin: float = MARGIN


def sensitivity_cards(
    material: Material,
    metrics: Sequence[Metric],
    values: Mapping[str, Values],
    *,
    margin: float = MARGIN,
    resamples: int = 1000,
    seed: int = 1,
) -> Stress:
    """Compute the card of every metric.

    Args:
        material: the originals with their variants.
        metrics: what is judged: names, directions, bounds and signatures.
        values: by metric, the scores of every original's variants against it.
        margin: share of the metric's range by which a text must score higher to stand above another.
        resamples: of the bootstrap over references; 0 for no intervals.
        seed: of the resampling.
    """
    if not 0 <= margin < 1:
        raise MedassayError(f"margin must be from 0 to 1, a share of the metric's range, not {margin:g}")
    cards = tuple(
        _card(metric, material, _Values(metric, material, values[metric.name], margin), resamples, seed)
        for metric in metrics
    )
    notes = (
        *material.notes,
        f"A text stands above another where it scores higher by more than {100 * margin:g} % of the metric's range (of "
        "its largest score where it has none).",
        f"Intervals: {resamples:,} bootstrap resamples over references; seed {seed}.",
    )
    return Stress(cards, material, notes, margin)


class _Values:
    """One metric's numbers, turned so that more is better; unscored texts left out."""

    def __init__(self, metric: Metric, material: Material, scores: Values, margin: float) -> None:
        sign = 1.0 if metric.higher_is_better else -1.0
        self.variants: list[list[Variant]] = [list(original.variants) for original in material.originals]
        values = [sign * row for row in scores]
        low, high = metric.bounds
        self.span = high - low if low is not None and high is not None else None
        finite = np.concatenate(values) if values else np.zeros(0)
        reach = float(np.nanmax(np.abs(finite))) if np.isfinite(finite).any() else 1.0
        # Below a millionth of the scale a difference is rounding, whatever margin is asked for.
        self.scale = self.span or max(reach, 1e-12)
        self.margin = max(margin, _ROUNDING) * self.scale

        self.by_form: list[dict[tuple[str, str | None], list[float]]] = []
        for row, numbers in zip(self.variants, values):
            grouped: dict[tuple[str, str | None], list[float]] = {}
            for variant, value in zip(row, numbers.tolist()):
                if np.isfinite(value):
                    grouped.setdefault((variant.form, None), []).append(value)
                    grouped.setdefault((variant.form, variant.kind), []).append(value)
            self.by_form.append(grouped)

    def only(self, originals: Sequence[int]) -> _Values:
        """The numbers of some of the originals, with the margin of all."""
        part = copy(self)
        part.variants = [self.variants[i] for i in originals]
        part.by_form = [self.by_form[i] for i in originals]
        return part

    def of(self, original: int, forms: Iterable[str], kind: str | None = None) -> Floats:
        """The numbers of one original's variants of these forms (and this kind), unscored ones left out."""
        grouped = self.by_form[original]
        return np.array([value for form in forms for value in grouped.get((form, kind), ())])

    def rate(
        self, better: Sequence[str], worse: Sequence[str], kind: str | None, resamples: int, seed: int
    ) -> Estimate:
        """Share of pairs where a text of the better forms stands above one of the worse forms (of that kind)."""
        sums = []
        for i in range(len(self.by_form)):
            a, b = self.of(i, better), self.of(i, worse, kind)
            sums.append((float((a[:, None] > b[None, :] + self.margin).sum()), float(len(a) * len(b))))
        return _rate(np.array(sums), resamples, seed)


def _rate(sums: Floats, resamples: int, seed: int) -> Estimate:
    """[references, (wins, pairs)] as a share with its interval; references without a pair are not resampled."""
    sums = sums.reshape(-1, 2)
    return replace(ratio(sums[sums[:, 1] > 0], resamples, seed, (0.0, 1.0)), n=int(sums[:, 1].sum()))


def _card(metric: Metric, material: Material, values: _Values, resamples: int, seed: int) -> Card:
    forms = {v.form for original in material.originals for v in original.variants}
    paraphrase = ("paraphrase",) if "paraphrase" in forms else ("rewording",)
    harmless, errors = ("harmless", *paraphrase), ("error", "reworded error")
    kinds = list(
        dict.fromkeys(v.kind for original in material.originals for v in original.variants if v.form in errors)
    )

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
        by_group=_by_group(material, values, paraphrase, resamples, seed),
    )


def _rungs(
    values: _Values, paraphrase: Sequence[str], kind: str | None, resamples: int, seed: int
) -> dict[str, Estimate]:
    """The rungs that have errors on one side, over one kind of error or all."""
    return {
        "paraphrase > error": values.rate(paraphrase, ("error",), kind, resamples, seed),
        "paraphrase > reworded error": values.rate(paraphrase, ("reworded error",), kind, resamples, seed),
        "copy > error": values.rate(("copy",), ("error",), kind, resamples, seed),
    }


def _ladder(values: _Values, paraphrase: Sequence[str], resamples: int, seed: int) -> dict[str, Estimate]:
    rungs = {
        "copy ≥ paraphrase": _not_above(values, ("copy",), paraphrase, resamples, seed),
        **_rungs(values, paraphrase, None, resamples, seed),
        "unrelated lowest": _lowest(values, resamples, seed),
    }
    return {rung: rungs[rung] for rung in RUNGS}


def _by_group(
    material: Material,
    values: _Values,
    paraphrase: Sequence[str],
    resamples: int,
    seed: int,
) -> dict[str, dict[str, Estimate]]:
    groups: dict[str, list[int]] = {}
    for i, original in enumerate(material.originals):
        groups.setdefault(original.group, []).append(i)
    out = {}
    for group, members in groups.items() if 1 < len(groups) <= _MOST_GROUPS else ():
        out[group] = _ladder(values.only(members), paraphrase, resamples, seed)
    return out


def _not_above(values: _Values, first: Sequence[str], second: Sequence[str], resamples: int, seed: int) -> Estimate:
    """Share of pairs where the second does not score above the first."""
    return values.rate(second, first, None, resamples, seed).scaled(-1.0, 1.0)


def _blind(values: _Values, harmless: Sequence[str], resamples: int, seed: int) -> Estimate:
    return values.rate(harmless, ("error", "reworded error"), "negation", resamples, seed).scaled(-1.0, 1.0)


def _lowest(values: _Values, resamples: int, seed: int) -> Estimate:
    """Share of references whose unrelated text scores below every other text of it."""
    sums = []
    for i in range(len(values.by_form)):
        unrelated = values.of(i, ("unrelated",))
        rest = values.of(i, {v.form for v in values.variants[i]} - {"unrelated"})
        if len(unrelated) and len(rest):
            sums.append((float(unrelated.max() < rest.min() - values.margin), 1.0))
    return _rate(np.array(sums), resamples, seed)


def _drops(values: _Values, material: Material, resamples: int, seed: int) -> list[Drop]:
    """One line per form and kind, in the order of the forms; a kind that was never made still has its line."""
    form_kinds = {(v.form, v.kind) for original in material.originals for v in original.variants} | set(
        material.not_made
    )
    drops = []
    for form, kind in sorted(form_kinds - {("copy", "copy")}, key=lambda pair: (FORMS.index(pair[0]), pair[1])):
        sums, made, unscored, lower_count = [], 0, 0, 0
        for i, row in enumerate(values.variants):
            count = sum((v.form, v.kind) == (form, kind) for v in row)
            made += count
            copies, changed = values.of(i, ("copy",)), values.of(i, (form,), kind)
            unscored += count - len(changed) if len(copies) else count
            scale = values.span or (abs(float(copies[0])) if len(copies) else 0.0)
            if len(copies) and len(changed) and scale > 0:
                sums.append((100.0 * float((copies[0] - changed).sum()) / scale, float(len(changed))))
                lower_count += int((changed < copies[0] - values.margin).sum())
        not_made = sum(material.not_made.get((form, kind), {}).values())
        drop_sums = np.array(sums).reshape(-1, 2)
        lower = lower_count / float(drop_sums[:, 1].sum()) if len(drop_sums) else math.nan
        drops.append(Drop(form, kind, made, not_made, unscored, ratio(drop_sums, resamples, seed), lower))
    return drops
