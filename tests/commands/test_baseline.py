"""The lead-3 baseline."""

from __future__ import annotations

import pytest

from medassay.cases import read_cases
from medassay.commands.baseline import lead, lead_rows, read_sources
from medassay.errors import InputError


def test_lead_takes_the_first_sentences_as_they_stand():
    text = "BP 120/80. He takes 1.5 mg daily.\nHe is well. Return in May."
    assert lead(text) == "BP 120/80. He takes 1.5 mg daily.\nHe is well."
    assert lead(text, 1) == "BP 120/80."
    assert lead("Short.") == "Short." and lead("") == ""


def test_one_baseline_text_a_case_with_or_without_candidates(tmp_path):
    path = tmp_path / "cases.csv"
    path.write_text(
        "id,system,candidate,reference,source\n1,a,x,r,One. Two. Three. Four.\n1,b,y,r,One. Two. Three. Four.\n"
    )
    rows = list(lead_rows(read_sources(str(path), {}), "cases.csv"))
    assert [(r["id"], r["system"], r["candidate"]) for r in rows] == [("1", "lead3", "One. Two. Three.")]
    path.write_text("id,report,reference\n1,One. Two. Three. Four.,r\n")
    rows = list(lead_rows(read_sources(str(path), {"source": "report"}), "cases.csv", 2, "lead2"))
    assert rows[0]["candidate"] == "One. Two." and rows[0]["source"] == "One. Two. Three. Four."
    path.write_text("id,candidate,source\n1,x,\n")
    with pytest.raises(InputError, match="'source' is empty"):
        list(lead_rows(read_cases(path), "cases.csv"))
