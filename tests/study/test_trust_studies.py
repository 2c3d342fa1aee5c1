"""Sensitivity, repeat runs, ablation, benchmark, gap: arithmetic by hand, and the commands."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.metrics.dimensions import Given, three

from medassay.cases import Case
from medassay.errors import InputError
from medassay.metrics import registry
from medassay.metrics.base import Metric
from medassay.metrics.trust import Trust
from medassay.scores import Score
from medassay.study.trust_sensitivity import CONTROL, LOGIC, PARAPHRASE, VISUAL, Varied, make_tested, sensitivity
from medassay.study.trust_studies import Scores, ablation, benchmark, gap, repeat
from medassay.study.trust_table import Estimate


class Length(Metric):
    """Ten less the words of the text, so that every drop can be done by hand."""

    name = "length"
    summary, defined = "words", "tests"
    needs = frozenset({"candidate"})
    bounds = (None, None)

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return [Score(10.0 - len(case.candidate.split())) for case in cases]


def value(cell: object) -> float:
    assert isinstance(cell, Estimate) and cell.value is not None
    return cell.value


def test_the_drop_by_hand() -> None:
    tested = [
        Varied([(CONTROL, Case("a", "one two")), (LOGIC, Case("b", "one two three four"))]),  # 8 → 6
        Varied([(CONTROL, Case("c", "one two three four")), (LOGIC, Case("d", "one two three four"))]),  # 6 → 6
        Varied([(CONTROL, Case("e", "")), (LOGIC, Case("f", "one"))]),  # unscored control
    ]
    [row] = sensitivity(tested, [Length()]).rows
    assert (row["control"], row["changed"], row["n"], row["unscored"]) == (7.0, 6.0, 2, 1)
    assert value(row["drop %"]) == pytest.approx(100 / 7)
    assert row["AUC"] == pytest.approx((1 + 1 + 0.5 + 0.5 + 0 + 0) / 6)  # {8, 6} above {6, 6, 9}


def test_paraphrases_are_the_control_of_errors() -> None:
    one = Varied([(CONTROL, Case("a", "x")), (PARAPHRASE, Case("b", "x y z")), (LOGIC, Case("c", "x y z w"))])
    rows = sensitivity([one], [Length()]).rows
    assert [row["variant"] for row in rows] == [LOGIC, PARAPHRASE]
    assert rows[0]["AUC"] == 1.0


def test_variants_are_made_or_counted() -> None:
    cases = [Case("1", "Colon: adenocarcinoma. No necrosis is seen."), Case("2", "See comment.")]
    tested, missed = make_tested(cases, 1)
    assert [kind for kind, _ in tested[0].variants] == [CONTROL, VISUAL, LOGIC]
    assert tested[0].variants[0][1].references == (cases[0].candidate,)
    assert [kind for kind, _ in tested[1].variants] == [CONTROL]
    assert sum(missed.values()) == 2


def scores(rows: Sequence[tuple[str, str, str, float, float, float]]) -> Scores:
    """system, data set, level, then the three dimensions; trust by the published weights."""
    dimensions = np.array([row[3:] for row in rows], float)
    values = dict(zip(("grounding", "logic", "stability"), dimensions.T))
    values["trust"] = dimensions @ np.array([0.4, 0.3, 0.3])
    system, dataset, level = ([row[k] for row in rows] for k in range(3))
    return Scores(values, system, dataset, level, np.arange(len(rows)), np.zeros(len(rows), bool))


def test_the_benchmark_by_hand() -> None:
    made = scores(
        [
            ("a", "pub", "patch", 1.0, 0.5, 0.5),
            ("a", "pub", "patch", 0.5, 0.5, np.nan),
            ("b", "pub", "slide", 0.2, 0.2, 0.2),
        ]
    )
    rows = benchmark(made).rows
    assert [(row["data set"], row["level"], row["model"], row["n"], row["whole"]) for row in rows] == [
        ("pub", "patch", "a", 2, 1),
        ("pub", "slide", "b", 1, 1),
    ]
    assert value(rows[0]["grounding"]) == 0.75
    assert value(rows[1]["trust"]) == pytest.approx(0.2)


def test_the_gap_by_hand_and_its_interval() -> None:
    random = np.random.default_rng(0)
    rows = [("a", name, "patch", float(base + random.normal(0, 0.02)), 0.5, 0.5) for name, base in
            [("pub", 0.8)] * 40 + [("priv", 0.6)] * 40]  # fmt: skip
    found = {row["score"]: row for row in gap(scores(rows), "pub", "priv").rows}
    cell = found["grounding"]["gap"]
    assert isinstance(cell, Estimate) and cell.low is not None and cell.high is not None
    assert 0.17 < cell.low < 0.2 < cell.high < 0.23 or abs(value(cell) - 0.2) < 0.02
    assert value(found["logic"]["gap"]) == 0.0
    with pytest.raises(InputError, match="no data set 'other'"):
        gap(scores(rows), "pub", "other")


def test_ablation_sees_what_carries_the_agreement() -> None:
    random = np.random.default_rng(1)
    quality = random.random(120)
    rows = [("a", "d", "patch", random.random(), q, random.random()) for q in quality.tolist()]
    found = {row["trust"]: row for row in ablation(scores(rows), quality, [0.4, 0.3, 0.3]).rows}
    assert value(found["logic alone"]["Spearman"]) == pytest.approx(1.0)
    assert value(found["without logic"]["change %"]) < -50
    assert value(found["without grounding"]["change %"]) > 0
    with pytest.raises(InputError, match="three or more"):
        ablation(scores(rows[:2]), quality[:2], [0.4, 0.3, 0.3])


def test_repeat_runs_are_told_apart_when_they_differ() -> None:
    cases = [Case(str(k), "x", extra={"g": k / 10, "l": 1.0, "s": None}) for k in range(5)]
    [*_, trust] = repeat(cases, lambda: [*(made := Trust(three())).members, made], runs=3).rows
    assert (trust["mean sd"], trust["largest sd"], trust["bit for bit"], trust["n"]) == (0.0, 0.0, 5, 5)

    class Moody(Length):
        count = 0

        def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
            Moody.count += 1
            return [Score(float(Moody.count)) for _ in cases]

    [row] = repeat(cases, lambda: [Moody()], runs=3).rows
    assert row["mean sd"] == pytest.approx(1.0) and row["bit for bit"] == 0
    with pytest.raises(InputError, match="two or more"):
        repeat(cases, lambda: [Length()], runs=1)


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
    arguments = ("--human", "people", "--good-at", 1, "--risk", 0.2, "--out", policy, "--report", page)
    ran = medassay("trust-study", "calibrate", labelled, *arguments)
    assert ran.code == 0, ran.err
    record = json.loads(policy.read_text())
    assert record["deploy"] is not None and record["calibration"]["bound"] <= 0.2
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
    real = registry.load_metric

    def load(request: str, **common: Any) -> Any:
        return Given(request) if request in ("grounding", "logic") else real(request, **common)

    monkeypatch.setattr(registry, "load_metric", load)
    path = tmp_path / "cases.csv"
    path.write_text('id,candidate,g,l\n1,"Colon: adenocarcinoma. No necrosis is seen.",0.5,0.5\n2,"Lung.",0.5,0.5\n')
    ran = medassay("trust-study", "sensitivity", path, "--metrics", "rougeL", "--out", tmp_path / "s.csv")
    assert ran.code == 0, ran.err
    assert "visual hallucination" in ran.out and "rougeL" in ran.out
    ran = medassay("trust-study", "repeat", path, "--runs", 2)
    assert ran.code == 0, ran.err
    assert "bit for bit" in ran.out
    lines = [{"id": "1", "reference": "No tumor. Free.", "kind": kind, "candidate": text} for kind, text in
             [("contradiction", "No tumor. Free. Tumor."), ("paraphrase_a", "Tumor absent.")]]  # fmt: skip
    changes = tmp_path / "changes.jsonl"
    changes.write_text("\n".join(map(json.dumps, lines)))
    ran = medassay("trust-study", "sensitivity", changes, "--metrics", "rougeL")
    assert ran.code == 0 and "logic error" in ran.out and "paraphrase" in ran.out
