"""The page of published tables: rendered from the results file alone, published tables whole, rows the same."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import papers, papers_page  # noqa: E402

MODELS = ("hare", "expert", "bertscore", "facts", "fidelity")
RESULTS = json.loads((ROOT / "docs" / "papers.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")


def test_no_number_of_the_page_is_typed_by_hand() -> None:
    assert papers_page.render(RESULTS) == PAGE, "docs/papers.md is not what docs/papers.json renders: make papers"


def test_the_renderer_holds_no_figure() -> None:
    source = (ROOT / "benchmarks" / "papers_page.py").read_text(encoding="utf-8")
    without = re.sub(r'""".*?"""|# .*', "", source.replace(papers_page.HEAD, ""), flags=re.DOTALL)
    assert not re.findall(r"\d*\.\d\d+|\b\d{3,}\b", without)


def test_every_section_has_been_computed() -> None:
    assert tuple(RESULTS) == papers_page.SECTIONS == tuple(papers.COLLECT)


def test_the_page_changes_with_the_results() -> None:
    """The test above can fail: a figure that changes in the file changes the page."""
    changed = json.loads(json.dumps(RESULTS))
    row = next(row for row in changed["hare"]["rows"] if row["ours"])
    row["ours"]["pearson"][0] = 0.1234
    assert ".123" in papers_page.render(changed) and papers_page.render(changed) != PAGE


def test_all_metrics_of_a_table_stand_on_the_same_rows() -> None:
    for section in ("hare", "notes"):
        found = RESULTS[section]
        sizes = {row["n"] for row in found["rows"] if row["ours"]}
        assert sizes == {found["common"]}
    for kind in ("visual", "logic"):
        assert len({row["ours"][kind]["n"] for row in RESULTS["pathgls"]["rows"] if row["ours"]}) == 1


def test_each_row_has_a_figure_of_ours_or_a_reason() -> None:
    for section in ("hare", "notes", "pathgls"):
        for row in RESULTS[section]["rows"]:
            assert row["ours"] or row["remark"], row["row"]
            if row["ours"]:
                assert row["models"] and row["signature"]


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("hare", 10), ("hare_models", 9), ("hare_scores", 6), ("mts_dialog", 21), ("pathgls_sensitivity", 5),
        ("pathgls_hierarchy", 5), ("pathgls_models", 12), ("pathgls_gap", 2), ("fact_counting", 20),
        ("fact_agreement", 9), ("mtsamples", 5),
    ],
)  # fmt: skip
def test_published_tables_are_whole_and_on_the_page(table: str, rows: int) -> None:
    published = [row for row in papers_page.read_published(table) if not row["row"].startswith("ours")]
    assert len(published) == rows
    shown = PAGE.replace("\n", " ")
    assert all(f"| {row['row']} |" in shown for row in published)


def test_published_aggregates_follow_from_their_columns() -> None:
    for row in papers_page.read_published("mts_dialog"):
        if row["factual_f1"]:
            f1, h, o = (float(row[name]) for name in ("factual_f1", "hallucination_rate", "omission_rate"))
            assert (2 * f1 - h - o) / 4 == pytest.approx(float(row["aggregate"]), abs=0.011)


def test_a_part_has_seen_what_its_whole_has() -> None:
    seen, words = papers_page.seen_of("bertscore_r|of:bertscore.recall|models:x|v:1", "mts_dialog", "x")
    assert seen == "texts" and words
    assert papers_page.seen_of("new|models:x|v:1", "hare", "x") == ("not stated", "")


def test_training_is_stated_for_known_metrics_and_sets() -> None:
    from medassay.metrics.registry import names

    for row in papers_page.read_published("training"):
        assert row["metric"] in names() and row["seen"] in ("no", "texts", "scores")
        assert row["set"] in ("hare", "mts_dialog", "graded", "mtsamples")


@pytest.mark.parametrize(
    ("value", "places", "shown"),
    [(0.648, 2, ".65"), (-0.02, 2, "−.02"), (-0.001, 2, ".00"), (40.34, 1, "40.3"), (None, 2, "–")],
)
def test_numbers(value: float | None, places: int, shown: str) -> None:
    assert papers_page.number(value, places) == shown


def test_a_table_beside_ours(tmp_path: Path) -> None:
    reference = "invasive ductal carcinoma of the left breast with no lymphovascular invasion seen"
    words = reference.split()
    path = tmp_path / "hare" / "expert_scores.csv"
    path.parent.mkdir()
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["case", "system", "reference", "candidate", "expert_score"])
        for i, expert in enumerate([0, 1, 1, 2, 3, 4, 5, 5]):
            writer.writerow([i, 0, f"{reference} {i}", " ".join(words[: i + 1]), expert])
    found = papers.hare(tmp_path, MODELS)
    assert (found["pairs"], found["above"], found["common"], found["distribution"]["5"]) == (8, 7, 7, 2)
    rouge = next(row for row in found["rows"] if row["row"] == "ROUGE-L")
    assert rouge["n"] == 7 and rouge["ours"]["pearson"][0] > 0.9
    assert rouge["models"] == "none"
    assert papers_page.seen_of(rouge["signature"], "hare", "none") == ("no", "")
    left = next(row for row in found["rows"] if row["row"] == "HARE_0.7_Threshold")
    assert left["ours"] is None and left["remark"] == "left out of this run"
    page = papers_page.render({"hare": found})
    assert re.search(r"\| ROUGE-L \| ours, n 7 \|", page) and "not available: left out of this run" in page


def test_missing_data_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert papers.main(["--data", str(tmp_path), "--results", str(tmp_path / "papers.json")]) == 2
    assert "hare/expert_scores.csv" in capsys.readouterr().err


def test_reports_that_some_metric_does_not_score_are_left_out_for_all() -> None:
    values = {"one": [np.array([1.0, np.nan])], "two": [np.array([0.5, 0.7])]}
    kept = papers.same_texts(values)
    assert kept["two"][0][0] == 0.5 and np.isnan(kept["two"][0][1])
