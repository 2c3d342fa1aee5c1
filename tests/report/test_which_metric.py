"""Which metric for which text: made from a run of the benchmark and the published tables, shown in two places."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medassay.report.which_metric import metric_lines, which_metric, which_page

ROOT = Path(__file__).resolve().parents[2]


def card(metric: str, texts: str, value: float, high: float) -> dict[str, Any]:
    rate = [value, value - 0.1, high, 40]
    by_kind = {"side": [0.9, None, None, 40], "person": [0.2, None, None, 40], "other": [0.0, None, None, 2]}
    return {
        "metric": metric,
        "texts": texts,
        "signature": f"{metric}|models:m@1|v:1",
        "sensitivity": rate,
        "false_alarms": [0.25, None, None, 20],
        "by_severity": {"critical": rate},
        "by_kind": by_kind,
        "medians": {"paraphrase": 0.8, "critical": 0.4},
    }


@pytest.fixture
def data() -> dict[str, Any]:
    sys.path.insert(0, str(ROOT))
    build = pytest.importorskip("tools.which_metric", reason="needs a checkout").build
    groups = ("all", "pathology", "notes", "radiology")
    cards = [card("rouge1", texts, 0.3, 0.4) for texts in groups] + [card("bleu", texts, 0.6, 0.7) for texts in groups]
    cards += [card("chrf", texts, 0.55, 0.65) for texts in groups] + [card("hare", texts, 0.7, 0.8) for texts in groups]
    bench = {"documents": 60, "available": 300, "version": "1", "margin": 0.01, "cards": cards}
    row = {"signature": "bleu|x", "ours": {"pearson": [0.5, 0.4, 0.6]}, "n": 117, "models": "none"}
    paper = {"signature": "hare|mode:paper|v:1", "ours": {"pearson": [0.4, None, None]}, "n": 117, "models": "m@1"}
    clinical = {**paper, "signature": "hare|models:m@1|v:2", "ours": {"pearson": [0.7, None, None]}}
    found: dict[str, Any] = build(bench, {"hare": {"rows": [{"ours": None}, row, paper, clinical]}})
    return found


def test_the_best_and_those_that_reach_it_are_recommended(data: dict[str, Any]) -> None:
    kinds = {kind["kind"]: kind for kind in data["kinds"]}
    assert list(kinds) == ["pathology report", "note section", "full note", "summary", "radiology report"]
    # HARE is made for pathology reports: it is best there, and is not listed elsewhere.
    assert kinds["pathology report"]["recommended"] == ["hare", "bleu"]
    assert kinds["radiology report"]["recommended"] == ["bleu", "chrf"]
    assert [row["metric"] for row in kinds["summary"]["rows"]] == ["bleu", "chrf", "rouge1"]


def test_what_is_said_of_a_metric(data: dict[str, Any]) -> None:
    lines = metric_lines("bleu", data)
    assert lines[0] == (
        "pathology report: paraphrase above error in 60 % (50–70) of pairs; false alarms 25 %; faithful texts about "
        "0.80, with a critical error 0.40; misses most: person (20 %), side (90 %); people: Pearson 0.50 (0.40 to "
        "0.60) with an expert's 0–5 score, n 117, recommended."
    )
    assert "people: not measured" in lines[-1]
    # HARE stands in the table with two settings, and its readers have seen texts of the set.
    hare = metric_lines("hare", data)[0]
    assert "people: Pearson 0.70 with an expert's 0–5 score, n 117; has seen these texts" in hare
    assert metric_lines("unheard", data) == []


def test_the_page_has_every_kind_and_equal_figures_once(data: dict[str, Any]) -> None:
    page = which_page(data)
    assert page.count("\n## ") == 5 and page.count("| hare |") == 1
    assert page.count("| bleu |") == 2
    assert page.count("The figures are those of the [note section](#note-section).") == 3
    assert "60 of the 300 documents" in page and "models: m@1" in page


def test_the_page_of_the_repository_is_up_to_date() -> None:
    page = ROOT / "docs" / "which-metric.md"
    if not page.is_file():
        pytest.skip("needs a checkout")
    assert page.read_text(encoding="utf-8") == which_page(which_metric())


def test_the_card_of_a_metric_shows_the_same_lines(medassay: Callable) -> None:
    ran = medassay("metrics", "rouge1")
    assert ran.code == 0
    flat = " ".join(ran.out.split())
    for line in metric_lines("rouge1"):
        assert line in flat
    assert metric_lines("rouge1"), "the benchmark has ROUGE"


def test_the_tool_writes_both_files(tmp_path: Path, data: dict[str, Any]) -> None:
    from tools.which_metric import main

    cards = [card("bleu", "all", 0.6, 0.7), card("chrf", "notes", 0.4, 0.6)]
    bench = {"documents": 300, "available": 300, "version": "1", "margin": 0.01, "cards": cards}
    (tmp_path / "bench.json").write_text(json.dumps(bench))
    files = {"--bench": "bench.json", "--page": "p.md", "--data": "d.json"}
    main([word for option, name in files.items() for word in (option, str(tmp_path / name))])
    assert "all 300 documents" in (tmp_path / "p.md").read_text(encoding="utf-8")
    kinds = json.loads((tmp_path / "d.json").read_text())["kinds"]
    assert [kind["recommended"] for kind in kinds] == [[], [], [], ["bleu"], []]
