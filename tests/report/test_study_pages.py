"""Study pages: hostile names stay text, the policy admits only the page's own style, all is there."""

from __future__ import annotations

import base64
import hashlib
import re

import numpy as np

from medassay.commands.stress import score_material
from medassay.commands.variants import values_of
from medassay.engine.score_table import Labels, ScoreTable
from medassay.report.stress_page import stress_sections
from medassay.report.study_page import shade, study_html
from medassay.report.validation_page import validation_sections
from medassay.study import Original, make_material, sensitivity_cards, validate

HOSTILE = "<script>alert(1)</script>"


def study_page() -> str:
    generator = np.random.default_rng(0)
    m, n, h = generator.normal(size=(3, 40))
    flat = np.ones(40)
    ids = Labels(np.arange(40) // 4, tuple(f"i{k}" for k in range(10)))
    columns = {"id": ids, "system": Labels(np.arange(40) % 4, tuple("abcd")), HOSTILE: m, "n": n, "flat": flat, "h": h}
    table = ScoreTable("t.csv", np.arange(40), columns, (HOSTILE, "n", "flat"))
    return study_html("Agreement", ["40 cases"], validation_sections(validate(table, ["h"], resamples=50)))


def stress_page() -> str:
    from medassay.metrics.registry import load_metrics

    texts = [f"{HOSTILE} No tumor in the left breast, {k} cm. Margins are free." for k in range(2, 5)]
    material = make_material([Original(str(i), t) for i, t in enumerate(texts)])
    metrics = load_metrics("rouge1")
    test = sensitivity_cards(material, metrics, values_of(score_material(material, metrics)[0]), resamples=20)
    return study_html("Stress", ["3 references"], stress_sections(test))


def test_names_and_texts_are_never_markup() -> None:
    for page in (study_page(), stress_page()):
        assert "<script" not in page
        assert "&lt;script&gt;" in page
        assert not re.search(r"\sstyle=|\son\w+=", page)


def test_the_policy_names_every_style_and_nothing_else() -> None:
    for page in (study_page(), stress_page()):
        policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
        assert policy is not None and "default-src 'none'" in policy[1]
        styles = re.findall(r"<style>(.*?)</style>", page, re.S)
        digests = {base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in styles}
        assert set(re.findall(r"'sha256-([^']+)'", policy[1])) == digests


def test_what_is_not_assessed_is_said_and_plots_are_drawn() -> None:
    page = study_page()
    assert "not assessed" in page
    assert page.count('<svg class="scatter"') == 2
    assert page.count('class="dot') == 80
    assert all(f'id="{name}"' in page for name in ("heat", "levels", "rivals", "scatter", "made"))
    assert all(f'id="{name}"' in stress_page() for name in ("ladder", "drops", "kinds", "examples", "made"))


def test_shades_run_from_bad_to_good() -> None:
    assert [shade(value) for value in (-1.0, -0.26, 0.0, 0.5, 1.0)] == ["n10", "n3", "p0", "p5", "p10"]
