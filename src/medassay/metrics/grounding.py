"""PathGLS grounding: does the image show what the report names? No reference is needed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from medassay.cases import Case
from medassay.errors import InputError
from medassay.files import is_file
from medassay.language.assessable import why_unseen
from medassay.language.graph import Entity, Report, read_reports
from medassay.language.impression import impression, stated_organs, stated_processes
from medassay.metrics.base import Metric
from medassay.metrics.settings import Range
from medassay.models import load
from medassay.models.base import Matrix, Phrases
from medassay.scores import Score

if TYPE_CHECKING:
    from medassay.slides.views import Views

IMPRESSION_WEIGHT = 0.75
"""What the impression counts in the value; the entities count the rest."""
RIVALS = 9
"""Phrases of the bank that stand beside an entity in its line-up of ten."""
BEST_PATCHES = 3
"""Patches kept as evidence for each entity."""
MAP_CELLS = 1024
"""Patches of the heat map, the best first."""
_Z_90 = 1.645
"""Deviations on either side of the mean that hold nine tenths of a normal distribution."""
_KEPT_VIEWS = 200_000
"""Patch vectors kept between cases (200 MB), since several systems report on one image."""


class Grounding(Metric):
    """S_g of PathGLS (section 3.2), and a form of it that means the same with every image model. Higher is better.

    Entities of the candidate that are stated as present and that an image model can see (a diagnosis, finding or
    site in its vocabulary) are embedded as t_j, the image's patches as v_i. Part `raw` is S_g as published, the
    mean over entities of max_i v_i·t_j (−1 to 1; its level depends on the encoder). The value is the calibrated
    form, 0 to 1: the probability that an entity wins a line-up against nine phrases drawn from a fixed bank, by its
    best similarity on the same patches. A phrase drawn at random has 0.1; 1 means that no phrase of the bank fits
    better. The mean over entities counts a quarter. Part `impression`, what the report comes to, counts three quarters:
    how likely the organ that it names is in the image (part `organ`) times how likely the processes are that its
    diagnoses speak of (part `process`: normal, benign, dysplasia, malignant, inflamed, other), both relative to the
    likeliest of their kind. A model that tells no organs and processes apart lines up site and diagnosis as one phrase
    instead.

    Absent and possible entities, markers, grades, margins, sizes and whatever lies outside the model's vocabulary
    are not assessed and say why. Parts `confidence`, `low` and `high`: how much of what the model can tell of
    images of known laboratories it can tell of one like this (0–1, by its distance from them; where the model
    measured it), and an interval. The less the confidence, the nearer the value is drawn to 0.1 and the wider the
    interval. A case without an assessable entity or impression, without tissue, with an unreadable image or, in mode
    `clinical`, with an image that is not H&E is unscored.

    mode: `clinical`, as above, or `paper`: the value is S_g itself, −1 to 1, over every entity of the report, whatever
    is said of it, through windows of 224 pixels, with no vocabulary and no line-up (PathGLS section 3.2).

    The embedded image model holds for images like those it learnt from, and is much weaker on other sources (model
    card); a pathology CLIP model (`models=`) or maps fitted on one's own images (`medassay train image`) go further.

    images: folder that relative image paths start from. mpp: micrometres per pixel where the file does not say.
    budget: patches of a slide that are looked at, drawn by `seed`; `none` looks at all.
    windows: look through windows of 224 pixels (the paper) or at whole patches; by default as the model learnt.

    Evidence (plain JSON)::

        {"image": path, "width": pixels, "height": pixels, "patches": how many were looked at,
         "warning": why it may not be histology (only where there is a doubt),
         "groundings": [{"start", "end", "text", "type", "assertion", "assessable": true,
                         "similarity": max_i v_i·t_j, "calibrated": its chance in the line-up, 0–1,
                         "patches": [{"x", "y", "width", "height", "similarity"}, … the best 3]},
                        {"start", "end", "text", "type", "assertion", "assessable": false, "why": reason}],
         "impression": {"text", "similarity", "calibrated", "patches"}, or, from a model that tells organs and processes
                       apart, {"calibrated", "organ": {"stated": [names], "likeliest": name, "relative": 0–1},
                       "process": the same} (only where it was looked for),
         "map": [[x, y, width, height, 0–1], …]}

    Boxes are pixels of the full-resolution image. An absent entity that the model can see also has `similarity` and
    `calibrated`, without being counted. `map` is for a heat map: how well each patch fits the assessed entities,
    from the worst (0) to the best patch (1) of this image.
    """

    name = "grounding"
    summary = "does the image show what the report names (PathGLS, no reference)"
    defined = "PathGLS §3.2 (raw, mode paper); docs/metrics/grounding.md (calibrated)"
    needs = frozenset({"candidate", "image"})
    parts = ("raw", "impression", "organ", "process", "assessed", "entities", "confidence", "low", "high")

    def __init__(
        self,
        *,
        mode: Literal["clinical", "paper"] = "clinical",
        models: str = "embedded",
        images: str = "",
        mpp: Annotated[float | None, Range(0.001, 1000)] = None,
        budget: Annotated[int | None, Range(1)] = 512,
        seed: Annotated[int, Range(0)] = 0,
        windows: bool | None = None,
    ) -> None:
        super().__init__()
        self.mode, self.models, self.images = mode, models, images
        self.mpp, self.budget, self.seed = mpp, budget, seed
        self.model = load("image", models)
        self.roles = (("image", models), ("ner", models), ("re", models))
        self.windows = (mode == "paper" or self.model.windows) if windows is None else windows
        if mode == "paper":
            self.bounds = (-1.0, 1.0)
        self._seen: OrderedDict[tuple[str, int, int], Views] = OrderedDict()

    def settings(self) -> Mapping[str, object]:
        look = "windows" if self.windows else "patches"
        stated = {} if self.mpp is None else {"mpp": self.mpp}
        compared = (
            {"entities": "all"}
            if self.mode == "paper"
            else {
                "rivals": RIVALS,
                "impression": IMPRESSION_WEIGHT,
            }
        )
        return {
            "mode": self.mode,
            "models": self.model.name,
            **compared,
            "look": look,
            "budget": self.budget,
            "seed": self.seed,
            **stated,
        }

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        from medassay.language.checks import problem

        reasons = [problem(case.candidate) for case in cases]
        texts = [case.candidate for case, reason in zip(cases, reasons) if reason is None]
        reports = iter(read_reports(texts, self.models))
        return [
            Score.none(f"candidate {reason}") if reason is not None else self._score(case, next(reports), evidence)
            for case, reason in zip(cases, reasons)
        ]

    def _score(self, case: Case, report: Report, with_map: bool) -> Score:
        groundings, queried = self._entities(report)
        stated = self._stated(report)
        counted = [item for item in groundings if item["assessable"]]
        if not counted and not any(stated.values()):
            return Score.none(_not_assessable(groundings))
        try:
            views = self._look(str(case.image))
        except InputError as error:
            return Score.none(str(error))
        if views.refused and self.mode == "clinical":
            return Score.none(f"not assessed: {views.refused}")
        whole: list[dict[str, Any]] = [{"text": text} for text in self._phrase(report)]
        if queried or whole:
            phrases = self.model.read_phrases([item["text"] for item in [*queried, *whole]])
            ground([*queried, *whole], phrases, self.model.bank(), views)
        looked = self._impression(stated, views) or (whole[0] if whole else None)
        evidence: dict[str, Any] = {
            "image": str(case.image),
            "width": views.width,
            "height": views.height,
            "patches": len(views),
            **_warning(views),
            "groundings": groundings,
            **({"impression": looked} if looked else {}),
        }
        if with_map and counted:
            chosen = [i for i, item in enumerate(queried) if item["assessable"]]
            evidence["map"] = heat_map(views, phrases.vectors[chosen])
        parts = {"assessed": float(len(counted)), "entities": float(len(groundings))}
        if counted:
            parts["raw"] = float(np.mean([item["similarity"] for item in counted]))
        if self.mode == "paper":
            return Score(parts["raw"], parts=parts, evidence=evidence)
        value = float(np.mean([item["calibrated"] for item in counted])) if counted else 0.0
        if looked:
            parts["impression"] = float(looked["calibrated"])
            parts |= {name: looked[name]["relative"] for name in ("organ", "process") if name in looked}
            weight = IMPRESSION_WEIGHT if counted else 1.0
            value = weight * parts["impression"] + (1 - weight) * value
        if views.confidence is not None:
            value = shrink_to_chance(value, views.confidence)
            low, high = interval(value, (len(counted) + (looked is not None)) * views.confidence)
            parts |= {"confidence": views.confidence, "low": low, "high": high}
        return Score(value, parts=parts, evidence=evidence)

    def _entities(self, report: Report) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """A record for each entity, and those that are looked for in the image: stated as present or as absent."""
        distinct: dict[tuple[str, str, str], Entity] = {}
        for entity in report.entities:
            distinct.setdefault((entity.text.lower(), entity.type, entity.assertion), entity)
        entities = list(distinct.values())
        if self.mode == "paper":
            records = [_record(entity, assessable=True) for entity in entities]
            return records, records
        unseen = dict(zip((id(e) for e in entities), why_unseen(report, entities)))
        outside = self._outside([e for e in entities if unseen[id(e)] is None])
        groundings, queried = [], []
        for entity in entities:
            why = unseen[id(entity)] or outside.get(entity.text)
            record = _record(entity, assessable=why is None and entity.assertion == "present")
            if why is None:
                queried.append(record)
            if not record["assessable"]:
                record["why"] = why or _NOT_ASSERTED[entity.assertion]
            groundings.append(record)
        return groundings, queried

    def _stated(self, report: Report) -> dict[str, tuple[str, ...]]:
        """The organs and the processes that a report states, of those that the model tells apart."""
        concepts = self.model.concepts
        if concepts is None or self.mode == "paper":
            return {}
        organs = stated_organs(report, concepts.organs)
        name = concepts.organs[organs[0]][0] if organs else ""
        processes = tuple(group for group in stated_processes(report, name) if group in concepts.processes)
        return {"organ": organs, "process": processes}

    def _impression(self, stated: Mapping[str, Sequence[str]], views: Views) -> dict[str, Any] | None:
        """How well the stated organs and processes fit the image; None where none is stated or can be told."""
        concepts = self.model.concepts
        if concepts is None or views.organs is None or views.processes is None or not any(stated.values()):
            return None
        record: dict[str, Any] = {"calibrated": 1.0}
        organ_names = {key: names[0] for key, names in concepts.organs.items()}
        for name, shown, chances, joined in (
            ("organ", organ_names, views.organs, max),
            ("process", {key: key for key in concepts.processes}, views.processes, fmean),
        ):
            if stated[name]:
                # Of several sites one is the organ; of several diagnoses each has to fit.
                keys = list(shown)
                fits = [float(chances[keys.index(key)] / chances.max()) for key in stated[name]]
                relative = round(joined(fits), 4)
                likeliest = shown[keys[int(chances.argmax())]]
                record[name] = {
                    "stated": [shown[key] for key in stated[name]],
                    "likeliest": likeliest,
                    "relative": relative,
                }
                record["calibrated"] = round(record["calibrated"] * relative, 4)
        return record

    def _phrase(self, report: Report) -> list[str]:
        """Site and diagnosis as one phrase, for a model that tells no classes apart but knows such phrases."""
        text = impression(report) if self.mode == "clinical" and self.model.concepts is None else None
        least = self.model.least_coverage
        if text is None or (least is not None and float(self.model.read_phrases([text]).coverage[0]) < least):
            return []
        return [text]

    def _outside(self, entities: Sequence[Entity]) -> dict[str, str]:
        """Texts that lie outside the model's vocabulary, with the reason."""
        least = self.model.least_coverage
        texts = list(dict.fromkeys(entity.text for entity in entities))
        if least is None or not texts:
            return {}
        read = self.model.read_phrases(texts)
        return {
            text: f"outside the image model's vocabulary (nearest: {near}, {coverage:.2f})"
            for text, coverage, near in zip(texts, read.coverage.tolist(), read.nearest)
            if coverage < least
        }

    def _look(self, image: str) -> Views:
        """What is seen of an image; kept while the next cases may speak of it too."""
        from medassay.slides import open_image
        from medassay.slides.views import view_patches

        path = Path(self.images, image).expanduser()
        key = (str(path), *((path.stat().st_mtime_ns, path.stat().st_size) if is_file(path) else (0, 0)))
        if key not in self._seen:
            with open_image(path, mpp=self.mpp) as slide:
                views = view_patches(slide, self.model, budget=self.budget, seed=self.seed, windows=self.windows)
            self._seen[key] = views
            while len(self._seen) > 1 and sum(map(len, self._seen.values())) > _KEPT_VIEWS:
                self._seen.popitem(last=False)
        self._seen.move_to_end(key)
        return self._seen[key]


def _warning(views: Views) -> dict[str, str]:
    """The warning of an image that may not be what the model was made for."""
    if views.refused:
        return {"warning": views.refused}
    return {"warning": f"may not be histology: {views.warning}"} if views.warning else {}


def _record(entity: Entity, *, assessable: bool) -> dict[str, Any]:
    """The record of an entity before the image is opened."""
    return {
        "start": entity.start,
        "end": entity.end,
        "text": entity.text,
        "type": entity.type,
        "assertion": entity.assertion,
        "assessable": assessable,
    }


_NOT_ASSERTED = {
    "absent": "stated as absent: its presence in the image would not speak for the report",
    "possible": "stated as possible only",
}


def ground(records: Sequence[dict[str, Any]], phrases: Phrases, bank: Phrases, views: Views) -> None:
    """Write similarity, calibrated value and best patches into the records, one per phrase."""
    similarities = phrases.vectors @ views.vectors.T
    calibrated = calibrate(similarities.max(axis=1), phrases, (bank.vectors @ views.vectors.T).max(axis=1), bank)
    for record, row, value in zip(records, similarities, calibrated.tolist()):
        best = np.argsort(-row, kind="stable")[:BEST_PATCHES]
        record["similarity"] = round(float(row.max()), 4)
        record["calibrated"] = round(value, 4)
        record["patches"] = [
            {
                **dict(zip(("x", "y", "width", "height"), views.boxes[i].tolist())),
                "similarity": round(float(row[i]), 4),
            }
            for i in best.tolist()
        ]


def calibrate(best: Matrix, phrases: Phrases, others: Matrix, bank: Phrases) -> Matrix:
    """Chance (0–1) that each phrase fits these patches better than `RIVALS` phrases of the bank; ties count half.

    best, others: highest similarity over the patches of each phrase and of each phrase of the bank. Both are
    first put on one scale by what the phrase reaches on images at large, since some phrases are close to all.

    >>> one = Phrases(np.ones((1, 1)), np.zeros(1), np.ones(1), np.ones(1))
    >>> four = Phrases(np.ones((4, 1)), np.zeros(4), np.ones(4), np.ones(4))
    >>> calibrate(np.array([0.5]), one, np.array([0.1, 0.2, 0.3, 0.4]), four).tolist()
    [1.0]
    """
    scaled = np.sort((others - bank.mean) / bank.spread)
    wanted = (best - phrases.mean) / phrases.spread
    low, high = np.searchsorted(scaled, wanted, "left"), np.searchsorted(scaled, wanted, "right")
    return win_line_up((low + high) / (2 * len(scaled)))


def win_line_up(shares: Any) -> Matrix:
    """From the share of phrases that one exceeds to its chance against `RIVALS` of them drawn at random.

    >>> [round(float(x), 2) for x in win_line_up(np.array([0.5, 0.9, 0.99, 1.0]))]
    [0.0, 0.39, 0.91, 1.0]
    """
    return np.asarray(np.asarray(shares, np.float64) ** RIVALS, np.float32)


def shrink_to_chance(value: float, confidence: float) -> float:
    """A value drawn towards what a phrase at random reaches, the less the model can tell of such images.

    >>> round(shrink_to_chance(0.9, 1.0), 2), round(shrink_to_chance(0.9, 0.25), 2), shrink_to_chance(0.9, 0.0)
    (0.9, 0.3, 0.1)
    """
    chance = 1 / (RIVALS + 1)
    return chance + confidence * (value - chance)


def interval(value: float, weight: float) -> tuple[float, float]:
    """Wilson's interval (nine in ten) of a share seen on so many entities; all of 0 to 1 on none.

    >>> [tuple(round(end, 2) for end in interval(0.8, weight)) for weight in (0, 1, 10)]
    [(0.0, 1.0), (0.17, 0.99), (0.54, 0.93)]
    """
    if weight <= 0:
        return 0.0, 1.0
    over = _Z_90**2 / weight
    middle = (value + over / 2) / (1 + over)
    half = _Z_90 * float(np.sqrt(value * (1 - value) / weight + over / (4 * weight))) / (1 + over)
    return max(0.0, middle - half), min(1.0, middle + half)


def heat_map(views: Views, vectors: Matrix) -> list[list[float]]:
    """Box and fit (0 worst to 1 best patch of this image) of the patches that fit the given phrases best."""
    fit = (views.vectors @ vectors.T).mean(axis=1)
    low, high = float(fit.min()), float(fit.max())
    order = np.argsort(-fit, kind="stable")[:MAP_CELLS]
    return [
        [*views.boxes[i].tolist(), round((float(fit[i]) - low) / (high - low), 3) if high > low else 1.0] for i in order
    ]


def _not_assessable(groundings: Sequence[Mapping[str, Any]]) -> str:
    """Why no entity of a report can be assessed."""
    if not groundings:
        return "no entities found in the candidate"
    first = groundings[0]
    more = f" and {len(groundings) - 1} more" if len(groundings) > 1 else ""
    return f"none of its entities can be assessed on an image ({first['text']}: {first['why']}{more})"
