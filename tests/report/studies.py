"""Small studies that several tests draw: a comparison of systems, a validation, a stress test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from medassay.commands.stress import score_material
from medassay.commands.variants import values_of
from medassay.engine.score_table import Labels, ScoreTable
from medassay.metrics.base import Floats
from medassay.metrics.registry import load_metrics
from medassay.report.stress_page import stress_sections
from medassay.report.study_page import study_html
from medassay.report.validation_page import validation_sections
from medassay.study import Original, Stress, Validation, make_material, sensitivity_cards, validate
from medassay.study.significance import Comparison, compare

HOSTILE = "<script>alert(1)</script>"


def comparison_of(names: Sequence[str], items: int = 40, primary: str | None = None) -> Comparison:
    generator = np.random.default_rng(0)
    count = len(names)
    scores = np.concatenate([generator.random(items) * 0.1 + k for k in range(count)])
    ids = np.tile(np.arange(items), count)
    columns: dict[str, Floats | Labels] = {
        "id": Labels(ids, tuple(map(str, range(items)))),
        "system": Labels(np.repeat(np.arange(count), items), tuple(names)),
        "m": scores,
        "noise": generator.random(items * count),
    }
    table = ScoreTable("t", ids, columns, ("m", "noise"), {"m": True, "noise": False})
    return compare(table, resamples=200, primary=primary)


def validation() -> Validation:
    """Two metrics and one that never varies, against one human column."""
    generator = np.random.default_rng(0)
    m, n, h = generator.normal(size=(3, 40))
    flat = np.ones(40)
    ids = Labels(np.arange(40) // 4, tuple(f"i{k}" for k in range(10)))
    columns = {"id": ids, "system": Labels(np.arange(40) % 4, tuple("abcd")), HOSTILE: m, "n": n, "flat": flat, "h": h}
    table = ScoreTable("t.csv", np.arange(40), columns, (HOSTILE, "n", "flat"))
    return validate(table, ["h"], resamples=50)


def study_page() -> str:
    """The page of the validation."""
    return study_html("Agreement", ["40 cases"], validation_sections(validation()))


def stress() -> Stress:
    """ROUGE-1 on changes of three short reports."""
    texts = [f"{HOSTILE} No tumor in the left breast, {k} cm. Margins are free." for k in range(2, 5)]
    material = make_material([Original(str(i), t) for i, t in enumerate(texts)])
    metrics = load_metrics("rouge1")
    return sensitivity_cards(material, metrics, values_of(score_material(material, metrics)[0]), resamples=20)


def stress_page() -> str:
    """The page of the stress test."""
    return study_html("Stress", ["3 references"], stress_sections(stress()))
