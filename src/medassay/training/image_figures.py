"""Held-out figures of an image model: how well it identifies what an image shows, with controls.

Every figure is measured on images of folds that the maps were not fitted on: PathVQA parted by image or by
caption string, LC25000 by source group. A figure is a share or an area under the curve, 0–1; 0.5 (five classes: 0.2)
is chance, higher is better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from medassay.metrics.grounding import win_line_up
from medassay.training.annotation import folds_by_group
from medassay.training.histology import Sample, words
from medassay.training.image import Floats, Maps, fit

NEGATIVES = 25
"""Other captions each image is held against."""
SWAPS = (("lung_aca", "lung_scc"), ("colon_aca", "colon_n"), ("lung_aca", "lung_n"))
"""Classes of one organ that a hard swap exchanges, in both directions."""


def auc(right: NDArray[np.floating], wrong: NDArray[np.floating]) -> float:
    """Share of (right, wrong) pairs in which the right one is higher; ties count half.

    >>> auc(np.array([0.9, 0.4]), np.array([0.1, 0.4]))
    0.875
    """
    ordered = np.sort(wrong)
    below = np.searchsorted(ordered, right, "left") + np.searchsorted(ordered, right, "right")
    return float(below.mean() / (2 * len(ordered)))


def cross_validate(
    seen: Floats,
    samples: Sequence[Sample],
    vectors: Mapping[str, Floats],
    by: str = "caption",
    seed: int = 0,
    fit: Callable[[Floats, Sequence[Sample], Mapping[str, Floats]], Maps] = fit,
) -> dict[str, float]:
    """Means over five folds of the maps that `fit` makes; `by`: `image` parts PathVQA by image, `caption` by string."""
    keys = [s.file.name if by == "image" and s.source == "pathvqa" else s.group for s in samples]
    folds = np.array(folds_by_group(keys, 5, seed))
    values_of: dict[str, list[float]] = {}
    for fold in range(5):
        learnt, test = np.flatnonzero(folds != fold).tolist(), np.flatnonzero(folds == fold).tolist()
        maps = fit(seen[:, learnt], [samples[i] for i in learnt], vectors)
        known = {samples[i].caption for i in learnt}
        for name, value in measure(maps, seen[0, test], [samples[i] for i in test], vectors, known).items():
            values_of.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in values_of.items()}


def measure(
    maps: Maps, seen: Floats, samples: Sequence[Sample], vectors: Mapping[str, Floats], known: set[str]
) -> dict[str, float]:
    """All figures on held-out samples; `known` are the caption strings learnt from."""
    images = maps.images(seen)
    figures: dict[str, float] = {}
    captioned = [i for i, s in enumerate(samples) if s.source == "pathvqa" and s.caption]
    if len(captioned) > NEGATIVES:
        figures |= _captions(maps, images[captioned], [samples[i] for i in captioned], vectors, known)
    for source, name in (("lc25000", "lc25000_zero_shot"), ("oral", "oral_zero_shot")):
        chosen = [i for i, s in enumerate(samples) if s.source == source]
        if chosen:
            figures |= _zero_shot(maps, images[chosen], [samples[i].label for i in chosen], vectors, name)
    return figures


def _captions(
    maps: Maps, images: Floats, samples: Sequence[Sample], vectors: Mapping[str, Floats], known: set[str]
) -> dict[str, float]:
    """True against shuffled captions: all, unseen strings, of the same style; and phrases as in a report."""
    random = np.random.default_rng(1)
    captions = [s.caption for s in samples]
    table = images @ maps.texts(np.stack([vectors[c] for c in captions])).T
    right = table.diagonal()
    count = len(samples)
    others = [[j for j in random.permutation(count).tolist() if captions[j] != captions[i]] for i in range(count)]
    drawn = [table[i, others[i][:NEGATIVES]] for i in range(count)]
    alike = [table[i, [j for j in others[i] if samples[j].label == samples[i].label]] for i in range(count)]
    figures = {
        "caption_auc": auc(right, np.concatenate(drawn)),
        "same_style_auc": auc(right, np.concatenate(alike)),
    }
    unseen = [i for i, caption in enumerate(captions) if caption not in known]
    if unseen:
        figures["unseen_caption_auc"] = auc(right[unseen], np.concatenate([drawn[i] for i in unseen]))
    return figures | _reports(maps, images, samples, vectors)


def _reports(maps: Maps, images: Floats, samples: Sequence[Sample], vectors: Mapping[str, Floats]) -> dict[str, float]:
    """The tagged phrases of an image as a report on it: calibrated grounding, true against another organ's report."""
    bank = maps.texts(np.stack([vectors[p] for p in sorted({p for s in samples for p in s.phrases})]))
    scaled = np.sort(_standing(maps, bank, images), axis=0)
    described = [i for i, s in enumerate(samples) if s.phrases and s.process != "G"]
    random = np.random.default_rng(2)
    true, false, single, shuffled, high, low = [], [], [], [], [], []
    for i in described:
        far = [j for j in random.permutation(described).tolist() if samples[j].organ != samples[i].organ][:8]
        true_scores = _calibrated(maps, samples[i], images[i], scaled[:, i], vectors)
        false_scores = [_calibrated(maps, samples[j], images[i], scaled[:, i], vectors) for j in far]
        true.append(true_scores.mean())
        false += [scores.mean() for scores in false_scores]
        single.append(true_scores)
        shuffled += false_scores
        high.append(maps.texts(np.stack([vectors[p] for p in samples[i].phrases])) @ images[i])
        low += [maps.texts(np.stack([vectors[p] for p in samples[j].phrases])) @ images[i] for j in far]
    if not shuffled:
        return {}
    return {
        "phrase_auc": auc(np.concatenate(single), np.concatenate(shuffled)),
        "report_auc": auc(np.array(true), np.array(false)),
        "grounding_true": float(np.mean(true)),
        "grounding_hallucinated": float(np.mean(false)),
        "grounding_drop": 1 - float(np.mean(false) / np.mean(true)),
        "raw_drop": 1 - float(np.mean(np.concatenate(low)) / np.mean(np.concatenate(high))),
    }


def _standing(maps: Maps, texts: Floats, images: Floats) -> Floats:
    """Similarity [texts, images], standardised by each text's mean and spread on images in general."""
    spread = np.linalg.norm(texts @ maps.bank_root, axis=1)
    standardised: Floats = (texts @ images.T - (texts @ maps.bank_mean)[:, None]) / spread[:, None]
    return standardised


def _calibrated(
    maps: Maps, sample: Sample, image: Floats, scaled: Floats, vectors: Mapping[str, Floats]
) -> NDArray[np.float64]:
    standing = _standing(maps, maps.texts(np.stack([vectors[p] for p in sample.phrases])), image[None])[:, 0]
    return np.asarray(win_line_up(np.searchsorted(scaled, standing) / len(scaled)), np.float64)


def _zero_shot(
    maps: Maps, images: Floats, labels: Sequence[str], vectors: Mapping[str, Floats], name: str
) -> dict[str, float]:
    """Balanced accuracy from phrasings never learnt, and hard swaps within an organ; means over phrasings."""
    phrasings = {label: texts for label, texts in words("asked").items() if label in set(labels)}
    classes = list(phrasings)
    truth = np.array([classes.index(label) for label in labels])
    accuracies, swaps = [], []
    for texts in zip(*phrasings.values()):
        scores = images @ maps.texts(np.stack([vectors[text] for text in texts])).T
        best = scores.argmax(1)
        accuracies.append(np.mean([np.mean(best[truth == i] == i) for i in range(len(classes))]))
        for right, wrong in (pair for a, b in SWAPS if {a, b} <= set(classes) for pair in ((a, b), (b, a))):
            rows = scores[truth == classes.index(right)]
            swaps.append(np.mean(rows[:, classes.index(right)] > rows[:, classes.index(wrong)]))
    figures = {name: float(np.mean(accuracies)), f"{name}_worst_phrasing": float(np.min(accuracies))}
    return figures | ({"hard_swap": float(np.mean(swaps))} if swaps else {})
