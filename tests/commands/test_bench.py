"""`medassay bench`: what it prints and writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

PERFECT = '''
import json
from medassay.examples.bench import read_bench

GOOD = {v.text: v.form for d in read_bench() for v in d.versions if v.form in ("copy", "paraphrase")}
CLAIMS = {c.text: c.label for d in read_bench() for c in d.claims}
LEVELS = {v.text: v.level for d in read_bench() for v in d.versions if v.form == "graded"}
REST = {d.text: {v.text for v in d.versions[:-1]} for d in read_bench()}


def perfect(candidate, reference):
    """1 for what is right, 0 for what is unrelated."""
    if candidate in CLAIMS:
        return float(CLAIMS[candidate] == "supported")
    if candidate not in REST[reference]:
        return 0.0
    if candidate in LEVELS:
        return 1.0 - LEVELS[candidate] / 8
    return 1.0 if candidate in GOOD else 0.5


def constant(candidate, reference):
    return 0.5
'''


@pytest.fixture
def own_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_bench_metrics.py").write_text(PERFECT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_perfect_and_a_constant_metric(own_metrics: Path, medassay: Callable) -> None:
    wanted = "py:own_bench_metrics:perfect,py:own_bench_metrics:constant"
    ran = medassay("bench", "--metrics", wanted, "--out", "cards.json", "--resamples", 50)
    assert (ran.code, ran.err) == (0, "medassay: cards written to cards.json\n")
    assert "60 of the 300 documents" in " ".join(ran.out.split())
    run = json.loads((own_metrics / "cards.json").read_text())
    assert (run["documents"], run["available"], run["margin"]) == (60, 300, 0.01)
    cards = {(card["metric"], card["texts"]): card for card in run["cards"]}
    assert {texts for _, texts in cards} == {"all", "pathology", "notes", "radiology"}
    perfect, constant = (cards[f"py:own_bench_metrics:{name}", "all"] for name in ("perfect", "constant"))
    for rate in ("sensitivity", "copy", "unrelated", "spearman", "claims", "contradicted"):
        assert perfect[rate][0] == pytest.approx(1.0), rate
    assert perfect["false_alarms"][0] == 0.0
    assert all(found[0] == 1.0 for found in perfect["by_kind"].values())
    assert (constant["sensitivity"][0], constant["false_alarms"][0], constant["copy"][0]) == (0.0, 1.0, 1.0)
    assert (constant["unrelated"][0], constant["claims"][0], constant["spearman"][0]) == (0.0, 0.5, None)


def test_markdown_of_one_kind_of_text(tmp_path: Path, medassay: Callable) -> None:
    out = tmp_path / "cards.md"
    assert medassay("bench", "--metrics", "rouge1", "--kind", "notes", "--out", out, "--resamples", 0).code == 0
    page = out.read_text(encoding="utf-8")
    assert "20 of the 100 documents" in page and "| rouge1 |" in page
    assert "Sensitivity by kind of text" not in page


def test_a_metric_that_reads_the_candidate_alone_is_not_asked_about_claims(tmp_path: Path, medassay: Callable) -> None:
    out = tmp_path / "cards.json"
    assert medassay("bench", "--metrics", "logic", "--kind", "radiology", "--out", out, "--resamples", 0).code == 0
    (card,) = json.loads(out.read_text())["cards"]
    assert card["claims"][0] is None and card["by_kind"]["self"][3] > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--kind", "dental"), "no benchmark texts of kind 'dental'"),
        (("--out", "cards.xlsx"), "the cards are written as .json or .md"),
        (("--margin", "2"), "--margin must be from 0 to below 1"),
        (("--metrics", "rouge9"), "no metric 'rouge9'"),
    ],
)
def test_wrong_options(options: tuple[str, str], message: str, medassay: Callable) -> None:
    ran = medassay("bench", *options)
    assert ran.code == 2 and message in ran.err


def test_a_metric_that_breaks_is_named(own_metrics: Path, medassay: Callable) -> None:
    (own_metrics / "own_bench_broken.py").write_text("def broken(candidate, reference):\n    raise ValueError('no')\n")
    ran = medassay("bench", "--metrics", "rouge1,py:own_bench_broken:broken", "--kind", "notes", "--resamples", 0)
    assert ran.code == 2
    assert "failed on every case: ValueError: no" in ran.err
    assert "rouge1" in ran.out
