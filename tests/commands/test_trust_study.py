"""`medassay trust-study`: every study from files to tables, policies and pages."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.metrics.dimensions import register_given, three

from medassay.cases import Case
from medassay.commands.trust_study import score_runs
from medassay.metrics.base import Metric
from medassay.metrics.trust import Trust
from medassay.scores import Score
from medassay.study import repeat_runs


class Moody(Metric):
    """Another number in every run."""

    name = "moody"
    summary, defined = "runs", "tests"
    needs = frozenset({"candidate"})
    bounds = (None, None)
    count = 0

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        Moody.count += 1
        return [Score(float(Moody.count)) for _ in cases]


def test_runs_are_scored_in_another_order_and_put_back() -> None:
    cases = [Case(str(k), "x", extra={"g": k / 10, "l": 1.0, "s": 0.5}) for k in range(5)]
    values, reasons = score_runs(cases, lambda: [*(whole := Trust(three())).members, whole], 3, 1)
    [*_, trust] = repeat_runs(values, reasons).rows
    assert (trust["mean sd"], trust["largest sd"], trust["bit for bit"], trust["n"]) == (0.0, 0.0, 5, 5)
    [row] = repeat_runs(*score_runs(cases, lambda: [Moody()], 3, 1)).rows
    assert row["mean sd"] == pytest.approx(1.0) and row["bit for bit"] == 0


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    random = np.random.default_rng(3)
    path = tmp_path / "scores.csv"
    columns = ["id", "system", "dataset", "level", "people"]
    columns += [part for name in ("grounding", "logic", "stability", "trust") for part in (name, f"{name}.unscored")]
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*columns, "trust.partial", "route", "route.why", "route.unscored"])
        for k in range(240):
            quality = random.random()
            three = np.clip(quality + random.normal(0, 0.1, 3), 0, 1)
            cells: list[Any] = [k, "ab"[k % 2], ("pub", "priv")[k % 3 == 0], "patch", round(5 * quality)]
            for one in [*three, float(three @ [0.4, 0.3, 0.3])]:
                cells += [one, ""]
            writer.writerow([*cells, "", "review", "because", ""])
    return path


def test_calibrate_writes_a_policy_that_trust_takes(tmp_path: Path, labelled: Path, medassay: Callable) -> None:
    policy, page = tmp_path / "policy.json", tmp_path / "page.html"
    meta = {"signatures": {"logic": "logic|v:1"}, "higher_is_better": {"logic": True}}
    (tmp_path / "scores.csv.meta.json").write_text(json.dumps(meta))
    arguments = ("--human", "people", "--good-at", 1, "--risk", 0.2, "--out", policy, "--report", page)
    ran = medassay("trust-study", "calibrate", labelled, *arguments)
    assert ran.code == 0, ran.err
    record = json.loads(policy.read_text())
    assert record["deploy"] is not None and record["calibration"]["bound"] <= 0.2
    assert record["calibration"]["signatures"] == {"logic": ["logic|v:1"]}
    assert "What deploys" in ran.out and "95 % confidence" in ran.out
    assert '<svg class="curve"' in page.read_text()
    assert Trust(three(), policy=str(policy)).policy.deploy == record["deploy"]
    ran = medassay("trust-study", "calibrate", labelled, "--human", "peple", "--out", policy)
    assert ran.code == 2 and "did you mean 'people'" in ran.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ablation", "--human", "people"], "without logic"),
        (["benchmark"], "data set"),
        (["gap", "--public", "pub", "--private", "priv"], "n private"),
    ],
)
def test_studies_of_scores_files(
    tmp_path: Path, labelled: Path, medassay: Callable, words: list[str], expected: str
) -> None:
    out, page = tmp_path / "t.csv", tmp_path / "t.html"
    ran = medassay("trust-study", words[0], labelled, *words[1:], "--out", out, "--report", page)
    assert ran.code == 0, ran.err
    assert expected in ran.out and expected in out.read_text() and expected in page.read_text()


def test_sensitivity_and_repeat_commands(tmp_path: Path, medassay: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    register_given(monkeypatch, "grounding", "logic", "stability")
    path = tmp_path / "cases.csv"
    path.write_text('id,candidate,g,l\n1,"Colon: adenocarcinoma. No necrosis is seen.",0.5,0.5\n2,"Lung.",0.5,0.5\n')
    ran = medassay("trust-study", "sensitivity", path, "--metrics", "rougeL", "--out", tmp_path / "s.csv")
    assert ran.code == 0, ran.err
    assert "visual hallucination" in ran.out and "rougeL" in ran.out
    rows = list(csv.DictReader((tmp_path / "s.csv").open()))
    assert {"logic(mode=paper)", "grounding(mode=paper)"} <= {row["metric"] for row in rows}
    ran = medassay("trust-study", "repeat", path, "--runs", 2, "--metrics", "risk,rougeL", "--out", tmp_path / "r.csv")
    assert ran.code == 0, ran.err
    assert "bit for bit" in ran.out
    assert {"trust", "risk", "rougeL"} <= {row["score"] for row in csv.DictReader((tmp_path / "r.csv").open())}
    lines = [{"id": "1", "reference": "No tumor. Free.", "kind": kind, "candidate": text} for kind, text in
             [("contradiction", "No tumor. Free. Tumor."), ("paraphrase_a", "Tumor absent.")]]  # fmt: skip
    changes = tmp_path / "changes.jsonl"
    changes.write_text("\n".join(map(json.dumps, lines)))
    ran = medassay("trust-study", "sensitivity", changes, "--metrics", "rougeL")
    assert ran.code == 0 and "logic error" in ran.out and "paraphrase" in ran.out
    ran = medassay("trust-study", "repeat", path, "--runs", 1)
    assert ran.code == 2 and "two or more" in ran.err


def test_a_case_file_with_a_column_kind_is_changed_by_rule(tmp_path: Path, medassay: Callable) -> None:
    path = tmp_path / "cases.csv"
    path.write_text('id,kind,candidate\n1,report,"Colon: adenocarcinoma. No necrosis is seen."\n')
    ran = medassay("trust-study", "sensitivity", path, "--metrics", "rougeL")
    assert ran.code == 0 and "logic error" in ran.out
    path.write_text("id,text\n1,Colon.\n")
    ran = medassay("trust-study", "sensitivity", path, "--metrics", "rougeL")
    assert ran.code == 2 and "no row brings a paraphrase or a contradiction" in ran.err


def test_hierarchy_command(tmp_path: Path, medassay: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    register_given(monkeypatch, "grounding", "logic", "stability")
    path, out = tmp_path / "cases.csv", tmp_path / "h.csv"
    lines = [f"{k},Colon.,{k % 5},{1 - (k % 5) / 5},{1 - (k % 2)},i{k // 5}" for k in range(30)]
    path.write_text("id,candidate,level,g,l,slide\n" + "\n".join(lines) + "\n")
    words = ("--cluster", "slide", "--metrics", "rougeL", "--resamples", 99)
    ran = medassay("trust-study", "hierarchy", path, *words, "--out", out)
    assert ran.code == 0, ran.err
    rows = {(row["mode"], row["score"]): row for row in csv.DictReader(out.open())}
    assert float(rows["clinical", "grounding alone"]["Spearman"]) == pytest.approx(1.0)
    assert float(rows["paper", "grounding alone"]["p"]) == pytest.approx(0.01)
    assert "stability was never assessed" in " ".join(ran.out.split())
    ran = medassay("trust-study", "hierarchy", path, "--level", "grade")
    assert ran.code == 2 and "no column 'grade'" in ran.err


def test_levels_that_grow_with_the_error_calibrate_too(tmp_path: Path, labelled: Path, medassay: Callable) -> None:
    rows = list(csv.DictReader(labelled.open()))
    path, policy = tmp_path / "levels.csv", tmp_path / "policy.json"
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(row | {"people": str(5 - int(row["people"]))} for row in rows)
    words = ("--human", "people", "--lower-is-better", "--good-at", 4, "--risk", 0.2, "--out", policy)
    ran = medassay("trust-study", "calibrate", path, *words)
    assert ran.code == 0, ran.err
    turned = json.loads(policy.read_text())
    ran = medassay(
        "trust-study", "calibrate", labelled, "--human", "people", "--good-at", 1, "--risk", 0.2, "--out", policy
    )
    plain = json.loads(policy.read_text())
    assert turned["deploy"] == plain["deploy"] and turned["weights"] == plain["weights"]
    assert turned["calibration"]["label"] == "people above 4 is bad"


def test_a_cluster_column_that_is_missing_is_told(tmp_path: Path, labelled: Path, medassay: Callable) -> None:
    ran = medassay("trust-study", "ablation", labelled, "--human", "people", "--cluster", "slide")
    assert ran.code == 2 and "no column 'slide' to group rows by" in ran.err
