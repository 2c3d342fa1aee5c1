"""The arithmetic of `synoptic`, its evidence, and the option that leaves out what a slide cannot show."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import medassay
from medassay.cases import Case
from medassay.cli import app
from medassay.metrics.synoptic import Synoptic

TEXT = (
    "Left breast, mastectomy: invasive ductal carcinoma, grade 2, 31 mm, pT1c pN0. Margins are free. 0/3 lymph nodes. "
    "ER positive."
)


def test_the_share_of_required_elements() -> None:
    """Ten are asked for: lymphovascular invasion is absent, pT1c does not fit 31 mm, eight are present."""
    (score,) = Synoptic().score([Case("1", TEXT)])
    assert score.value == pytest.approx(0.8)
    assert score.parts == {"required": 10, "present": 8, "absent": 1, "contradicted": 0, "inconsistent": 1}
    rows = {row["element"]: row for row in score.evidence["elements"]}
    assert rows["lvi"] == {"element": "lvi", "status": "absent", "at": [], "quotes": []}
    assert rows["ptnm"]["status"] == "inconsistent" and "31 mm" in rows["ptnm"]["reason"]
    for row in rows.values():
        assert [TEXT[a:b] for a, b in row["at"]] == row["quotes"]


def test_against_the_reference() -> None:
    """The reference states site, procedure, type, grade and invasion; grade differs, invasion is missing."""
    reference = "Left breast, mastectomy: invasive ductal carcinoma, grade 3. No lymphovascular invasion."
    (score,) = Synoptic(against="reference").score([Case("1", TEXT, (reference,))])
    assert score.value == pytest.approx(3 / 5)
    assert (score.parts["contradicted"], score.parts["absent"]) == (1, 1)
    (same,) = Synoptic(against="reference").score([Case("1", reference, (reference,))])
    assert same.value == 1.0


def test_only_observable_elements() -> None:
    """Site, type, grade, margins, invasion: four of five are there."""
    (score,) = Synoptic(observable_only=True).score([Case("1", TEXT)])
    assert score.value == pytest.approx(4 / 5)


def test_unscored_without_an_organ() -> None:
    (score,) = Synoptic().score([Case("1", "The patient feels well.")])
    assert score.unscored == "the report names no organ that has a protocol"
    (named,) = Synoptic(organ="lung").score([Case("1", "The patient feels well.")])
    assert named.value == 0.0


def test_observable_only_holds_for_every_metric() -> None:
    candidate, reference = "Adenocarcinoma. Received in formalin.", "Adenocarcinoma. The patient is a 40-year-old man."
    plain = medassay.score([candidate], [reference], metrics="rouge1")
    reduced = medassay.score([candidate], [reference], metrics="rouge1", observable_only=True)
    assert plain["rouge1"][0].value < 1.0
    assert reduced["rouge1"][0].value == 1.0


def test_the_command(tmp_path: Path) -> None:
    cases, out = tmp_path / "cases.csv", tmp_path / "scores.csv"
    cases.write_text(
        "id,candidate,reference\n1,Colon: adenocarcinoma. Received in formalin.,Colon: adenocarcinoma.\n"
        "2,Received in formalin.,Colon: adenocarcinoma.\n"
    )
    command = ["score", str(cases), "--metrics", "rouge1,synoptic", "--observable-only", "--out", str(out)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 1, result.output  # nothing is left of the second candidate
    first, second = csv.DictReader(out.read_text().splitlines())
    assert float(first["rouge1"]) == 1.0 and second["rouge1.unscored"] == "empty candidate"
    signatures = json.loads((tmp_path / "scores.csv.meta.json").read_text())["signatures"]
    assert all("|texts:observable|" in signature for signature in signatures.values())
    refused = CliRunner().invoke(app, [*command, "--engine", "ray"])
    assert "--observable-only works with the local engine" in str(refused.exception)
