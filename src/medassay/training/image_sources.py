"""How well an image model reads images of a laboratory it never saw: each source is left out of the maps in turn.

All figures are 0–1, higher is better, and 0.5 is chance, except a balanced accuracy of more than two classes. Texts
are sentences of words.tsv that no image was learnt from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from medassay.training.annotation import folds_by_group
from medassay.training.familiarity import falling_curve, fit_familiarity
from medassay.training.histology import Sample, words
from medassay.training.image import Floats, Maps
from medassay.training.image_figures import auc

BENIGN = frozenset({"n", "b"})
MALIGNANT = frozenset({"a", "q", "s", "l", "k", "m", "g", "t", "mal"})
INFLAMED = frozenset({"i", "gr", "v", "c", "f", "p", "aut"})
LEAST = 5
"""Images that a source needs to be left out, and each side of a comparison to be measured."""

Fit = Callable[[Floats, Sequence[Sample], Mapping[str, Floats]], Maps]


def leave_sources_out(
    seen: Floats, samples: Sequence[Sample], vectors: Mapping[str, Floats], fit: Fit
) -> dict[str, dict[str, float]]:
    """Figures of each source, by maps fitted without its images; samples that are `test_only` are never fitted on.

    seen: features [views, samples, features]. vectors: of every text of the samples and of `asked_texts`.
    """
    figures = {}
    for source, learnt, test in source_splits(samples):
        maps = fit(seen[:, learnt], [samples[i] for i in learnt], vectors)
        figures[source] = measure_source(maps.images(seen[0, test]), maps, [samples[i] for i in test], vectors)
    return figures


def source_splits(samples: Sequence[Sample]) -> Iterator[tuple[str, list[int], list[int]]]:
    """For each source: its name, the indices of other sources' samples to train on, and those of its own to test on."""
    for source in sorted({sample.source for sample in samples}):
        test = [i for i, sample in enumerate(samples) if sample.source == source]
        learnt = [i for i, sample in enumerate(samples) if sample.source != source and not sample.test_only]
        if len(test) >= LEAST and learnt:
            yield source, learnt, test


def learn_confidence(
    seen: Floats, samples: Sequence[Sample], vectors: Mapping[str, Floats], fit: Fit, seed: int = 0
) -> list[tuple[float, float]]:
    """(distance from the known sources, confidence 0–1): the value of answers about unseen images at that distance.

    Images of known sources (five folds) and of sources left out are asked for organ and malignancy; the share of
    right answers is a curve that never rises with distance. Confidence is what that share has above chance, as a part
    of what it has at distance 1, the median of images of known sources.
    """
    folds = np.array(folds_by_group([sample.group for sample in samples], 5, seed))
    closed = np.array([sample.test_only for sample in samples])
    rounds = [(np.flatnonzero((folds != k) & ~closed), np.flatnonzero((folds == k) & ~closed)) for k in range(5)]
    rounds += [(np.array(learnt), np.array(test)) for _, learnt, test in source_splits(samples)]
    distances, right = [], []
    for learnt, test in rounds:
        inside, outside = [samples[int(i)] for i in learnt], [samples[int(i)] for i in test]
        maps = fit(seen[:, learnt], inside, vectors)
        familiarity = fit_familiarity(seen[0, learnt], [sample.source for sample in inside])
        answers = right_answers(maps.images(seen[0, test]), maps, outside, vectors)
        answered = np.isfinite(answers)
        distances.append(familiarity.distances(seen[0, test])[answered])
        right.append(answers[answered])
    curve = falling_curve(np.concatenate(distances), np.concatenate(right).tolist())
    places, heights = np.array(curve).T
    best = max(float(np.interp(1.0, places, heights)) - 0.5, 1e-6)
    return [(round(distance, 3), round(min(1.0, max(0.0, (share - 0.5) / best)), 3)) for distance, share in curve]


def right_answers(
    images: Floats, maps: Maps, samples: Sequence[Sample], vectors: Mapping[str, Floats]
) -> NDArray[np.float64]:
    """Share of right answers on each image (chance 0.5): its organ against each other one, benign or malignant.

    Both count the same; NaN where the organ is not known.
    """
    share_right = np.full(len(samples), np.nan)
    with_organ = [i for i, sample in enumerate(samples) if words("organ").get(sample.organ)]
    if with_organ:
        share_right[with_organ] = _organ_shares(
            images[with_organ], maps, [samples[i].organ for i in with_organ], vectors
        )
    judged = [i for i in with_organ if samples[i].process in BENIGN | MALIGNANT]
    if judged:
        truth = np.array([samples[i].process in MALIGNANT for i in judged], bool)
        gaps = np.stack(_gaps(images[judged], maps, [samples[i].organ for i in judged], vectors))
        share_right[judged] = (share_right[judged] + ((gaps > 0) == truth).mean(0)) / 2
    return share_right


def measure_source(
    images: Floats, maps: Maps, samples: Sequence[Sample], vectors: Mapping[str, Floats]
) -> dict[str, float]:
    """Organ rank, benign against malignant and inflamed against the rest; a figure with too few images is left out.

    `organ`: share of the other organs that the right one exceeds, each organ with the same weight.
    `malignant_auc`, `malignant_accuracy` (balanced): means over phrasings that name the organ.
    """
    figures = {"images": float(len(samples))}
    with_organ = [i for i, sample in enumerate(samples) if words("organ").get(sample.organ)]
    if with_organ:
        figures["organ"] = _organ_rank(images[with_organ], maps, [samples[i].organ for i in with_organ], vectors)
    judged = [i for i in with_organ if samples[i].process in BENIGN | MALIGNANT]
    truth = np.array([samples[i].process in MALIGNANT for i in judged], bool)
    if min(truth.sum(), (~truth).sum()) >= LEAST:
        gaps = _gaps(images[judged], maps, [samples[i].organ for i in judged], vectors)
        figures["malignant_auc"] = fmean(auc(gap[truth], gap[~truth]) for gap in gaps)
        figures["malignant_accuracy"] = fmean(((gap[truth] > 0).mean() + (gap[~truth] <= 0).mean()) / 2 for gap in gaps)
    sick = np.array([sample.process in INFLAMED for sample in samples], bool)
    if min(sick.sum(), (~sick).sum()) >= LEAST:
        texts = maps.texts(np.stack([vectors[text] for text in words("process")["i"]]))
        scores = (images @ texts.T).mean(1)
        figures["inflamed_auc"] = auc(scores[sick], scores[~sick])
    return figures


def asked_texts() -> list[str]:
    """Texts that the figures ask about, beyond those that images are learnt from."""
    names = [names[0] for names in words("organ").values() if names]
    questions = [pattern.format(organ=name) for name in names for side in words("judged").values() for pattern in side]
    return sorted({*names, *questions, *words("process")["i"]})


def _organ_rank(images: Floats, maps: Maps, organs: Sequence[str], vectors: Mapping[str, Floats]) -> float:
    below = _organ_shares(images, maps, organs, vectors)
    names = np.array(organs)
    return fmean(float(below[names == organ].mean()) for organ in sorted(set(organs)))


def _organ_shares(
    images: Floats, maps: Maps, organs: Sequence[str], vectors: Mapping[str, Floats]
) -> NDArray[np.floating]:
    """Of each image, the share of the other organs that its own exceeds."""
    names = {organ: phrases[0] for organ, phrases in words("organ").items() if phrases}
    keys = list(names)
    table = images @ maps.texts(np.stack([vectors[name] for name in names.values()])).T
    organ_columns = np.array([keys.index(organ) for organ in organs])
    return np.asarray((table < table[np.arange(len(organ_columns)), organ_columns][:, None]).sum(1) / (len(keys) - 1))


def _gaps(
    images: Floats, maps: Maps, organs: Sequence[str], vectors: Mapping[str, Floats]
) -> list[NDArray[np.floating]]:
    """For each phrasing, how much nearer each image is to the malignant than to the benign sentence."""
    names, judged = words("organ"), words("judged")
    gaps = []
    for pair in zip(judged["malignant"], judged["benign"]):
        rows = [
            maps.texts(np.stack([vectors[pattern.format(organ=names[organ][0])] for organ in organs]))
            for pattern in pair
        ]
        gaps.append((images * (rows[0] - rows[1])).sum(1))
    return gaps
