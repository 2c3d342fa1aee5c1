"""Ensembles of z-scores: over the set, against a stored distribution, through the engine."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medassay.api import score
from medassay.cases import Case, make_cases
from medassay.engine.local import score_cases
from medassay.errors import InputError, MedassayError, UnknownName
from medassay.metrics.base import Metric
from medassay.metrics.ensemble import Distribution, ZMean, read_distributions
from medassay.metrics.registry import load_metric
from medassay.scores import Score

CANDIDATES = ["no mass seen", "a mass in the lung", "chest pain", "mass"]
REFERENCES = ["no mass was seen", "the lung has a mass", "no chest pain today", "no mass"]


def write_cases(path: Path) -> Path:
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "candidate", "reference"])
        writer.writerows([i, c, r] for i, (c, r) in enumerate(zip(CANDIDATES, REFERENCES)))
    return path


def z_scores(values: list[float]) -> np.ndarray:
    return (np.array(values) - np.mean(values)) / np.std(values)


def test_it_is_the_mean_of_z_scores() -> None:
    result = score(CANDIDATES, REFERENCES, metrics="rouge1_r,chrf,z(rouge1_r,chrf)")
    columns = [[s.value for s in result[name]] for name in ("rouge1_r", "chrf")]
    wanted = (z_scores(columns[0]) + z_scores(columns[1])) / 2
    assert [s.value for s in result["z(rouge1_r,chrf)"]] == pytest.approx(wanted.tolist())
    assert result.mean["z(rouge1_r,chrf)"] == pytest.approx(0, abs=1e-12)


class Errors(Metric):
    """Fewer is better."""

    name = "errors"
    higher_is_better = False

    def measure(self, cases: Any, evidence: bool = False) -> list[Score]:
        return [Score(float(len(case.candidate))) for case in cases]


def test_lower_is_better_is_turned() -> None:
    metric = load_metric("z(rouge1)")
    metric.members = (Errors(),)
    values = [s.value for s in metric.score(make_cases(["a", "aa", "aaa"], ["x"] * 3))]
    assert values == pytest.approx((-z_scores([1, 2, 3])).tolist())


def test_families_and_settings_may_be_members() -> None:
    metric = load_metric("z(rouge,chrf(word_order=2),rouge1(stem=yes)_r)")
    assert [m.name for m in metric.members][-2:] == ["chrf(word_order=2)", "rouge1(stem=yes)_r"]
    assert metric.needs == {"candidate", "reference"}


def test_a_case_that_a_member_does_not_score() -> None:
    cases = [*make_cases(CANDIDATES, REFERENCES), Case("5", "mass"), Case("6", "", ("x",))]
    scores = load_metric("z(rouge1_r,chrf)").score(cases)
    assert [s.unscored for s in scores[4:]] == ["rouge1_r: no reference", "rouge1_r: empty candidate"]
    assert [s.value for s in scores[:4]] == [s.value for s in load_metric("z(rouge1_r,chrf)").score(cases[:4])]


def test_where_there_is_no_z_score() -> None:
    [one] = load_metric("z(rouge1)").score(make_cases(["mass"], ["mass"]))
    assert one.unscored == "rouge1 has 1 scored case in the set; z-scores need two or a stored distribution"
    same = load_metric("z(rouge1)").score(make_cases(["mass", "node"], ["mass", "node"]))
    assert {s.unscored for s in same} == {"rouge1 is the same for every case of the set, so there is no z-score"}


def test_signature_names_members_number_and_source() -> None:
    metric = load_metric("z(rouge1_r,chrf)")
    assert "z:set|n:none" in metric.signature
    metric.score(make_cases(CANDIDATES, REFERENCES))
    assert "members:rouge1_r+chrf" in metric.signature and "z:set|n:4" in metric.signature
    other = load_metric("z(rouge1_r,chrf)", references="mean")
    assert metric.settings()["made"] != other.settings()["made"]


@pytest.mark.parametrize(
    ("request_", "error", "message"),
    [
        ("z()", MedassayError, "name its members"),
        ("z", MedassayError, "name its members"),
        ("z(rogue1)", UnknownName, "did you mean 'rouge1'"),
        ("z(z(rouge1),chrf)", MedassayError, "cannot be a member"),
        ("z(rouge1,reference=no.json)", InputError, "no.json: cannot be read"),
    ],
)
def test_what_is_wrong_is_said(request_: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        load_metric(request_)


def test_distribution_by_hand() -> None:
    one = Distribution.of("x", [1.0, 2.0, 3.0, 6.0])
    assert (one.n, one.mean, one.sd) == (4, 3.0, np.sqrt(3.5))  # (4 + 1 + 0 + 9) / 4
    assert Distribution.of("x", []).problem is not None


def test_one_note_against_a_stored_distribution(tmp_path: Path, medassay: Callable[..., Any]) -> None:
    cases, file = write_cases(tmp_path / "cases.csv"), tmp_path / "set.json"
    ran = medassay("score", cases, "--metrics", "z(rouge1_r,chrf),bleu", "--save-distribution", file)
    assert ran.code == 0 and f"distribution written to {file}" in ran.err
    assert set(read_distributions(file)[0]) == {"rouge1_r", "chrf", "bleu"}
    whole = load_metric("z(rouge1_r,chrf)").score(make_cases(CANDIDATES, REFERENCES))
    alone = load_metric(f"z(rouge1_r,chrf,reference={file})")
    [one] = alone.score(make_cases(CANDIDATES[1:2], REFERENCES[1:2]))
    assert one.value == pytest.approx(whole[1].value)
    assert "z:set@" in alone.signature and "n:4" in alone.signature


def test_a_stored_distribution_of_other_settings_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "set.json"
    record = {"signature": "rouge1|stem:yes|v:0", "n": 9, "mean": 0.5, "sd": 0.1}
    file.write_text(json.dumps({"distributions": {"rouge1": record}}))
    (score,) = load_metric(f"z(rouge1,reference={file})").score(make_cases(["a"], ["a"]))
    assert re.search(r"InputError: .* made with rouge1\|stem:yes", score.failed or "")
    with pytest.raises(InputError, match="holds no distribution of 'chrf', only of rouge1"):
        load_metric(f"z(chrf,reference={file})")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"distributions": 3}', '{"distributions": {"a": {"n": 1}}}'])
def test_broken_distribution_files(tmp_path: Path, content: str) -> None:
    file = tmp_path / "set.json"
    file.write_text(content)
    with pytest.raises(InputError, match="not a file of distributions"):
        read_distributions(file)


@pytest.mark.parametrize("options", [[], ["--no-store"]])
def test_the_command_line_gives_the_same_as_python(
    tmp_path: Path, medassay: Callable[..., Any], options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cases, out = write_cases(tmp_path / "cases.csv"), tmp_path / "scores.jsonl"
    monkeypatch.setattr("medassay.engine.base.BATCH", 3)
    arguments = ["--metrics", "z(rouge1_r,chrf),bertscore(idf=yes)", "--out", out, *options]
    assert medassay("score", cases, *arguments).code == 0
    got = [json.loads(line) for line in out.read_text().splitlines()]
    result = score(CANDIDATES, REFERENCES, metrics="z(rouge1_r,chrf),bertscore(idf=yes)", evidence=False)
    assert [row["z(rouge1_r,chrf)"] for row in got] == [s.value for s in result["z(rouge1_r,chrf)"]]
    idf = [s.value for s in result["bertscore(idf=yes)"]]
    assert [row["bertscore(idf=yes)"] for row in got] == pytest.approx(idf, abs=1e-6)
    meta = json.loads((tmp_path / "scores.jsonl.meta.json").read_text())
    assert "z:set|n:4" in meta["signatures"]["z(rouge1_r,chrf)"]
    assert not list(tmp_path.glob("*.resume*"))


def test_standard_input_is_seen_whole_too(
    tmp_path: Path, medassay: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = write_cases(tmp_path / "cases.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    out = tmp_path / "scores.jsonl"
    assert medassay("score", "-", "--metrics", "z(rouge1_r,chrf)", "--out", out).code == 0
    assert len(out.read_text().splitlines()) == 4


def test_members_are_scored_once_a_case(tmp_path: Path, medassay: Callable[..., Any]) -> None:
    """The second look finds the members' scores in the store, also where the run keeps none of its own."""
    calls: list[int] = []

    class Counting(Errors):
        def measure(self, cases: Any, evidence: bool = False) -> list[Score]:
            calls.append(len(cases))
            return super().measure(cases, evidence)

    from medassay.api import FileRun

    metric = ZMean(("rouge1",))
    metric.members = (Counting(),)
    FileRun(str(write_cases(tmp_path / "cases.csv")), [metric]).run()
    assert calls == [4]


def test_a_set_metric_as_a_member_sees_the_set_first() -> None:
    metric = load_metric("z(bertscore(idf=yes)_f,rouge1_r)")
    result = score_cases(make_cases(CANDIDATES, REFERENCES), [metric])
    assert all(s.value is not None for s in result[metric.name])
    assert "idf:set(4)" in metric.members[0].signature
