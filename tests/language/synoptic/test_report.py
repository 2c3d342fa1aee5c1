"""Synoptic elements: what is stated, what is left blank, what conflicts; figures on the marked reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import synoptic as marked
from medassay.language.synoptic import check_report, contradicts

DATA = Path(__file__).parents[4] / "shared" / "data"
FULL = (
    "Right breast, lumpectomy: invasive ductal carcinoma, Nottingham grade 2, 15 mm, pT1c pN0. All margins are "
    "negative. No lymphovascular invasion. Sentinel lymph nodes: 0/2. ER positive, PR positive, HER2 negative."
)


def statuses(text: str) -> dict[str, str]:
    report = check_report(text)
    assert report is not None
    return {element.name: element.status for element in report.elements}


def quote(text: str, element: str) -> str:
    report = check_report(text)
    assert report is not None
    mention = report.element(element).mentions[0]
    return text[mention.start : mention.end]


def test_a_full_report_has_every_element_quoted() -> None:
    assert set(statuses(FULL).values()) == {"present"}
    assert quote(FULL, "type") == "invasive ductal carcinoma"
    assert quote(FULL, "lvi") == "No lymphovascular invasion"
    assert quote(FULL, "ptnm") == "pT1c pN0"


def test_a_blank_or_unspecified_field_states_nothing() -> None:
    text = "Stomach. Specimen type: Gastrectomy. Tumor size: Not specified. Margins: Not specified. Lymph nodes: "
    assert {name for name, status in statuses(text).items() if status == "present"} == {"site", "procedure"}
    assert statuses("Lung. ANGIOLYMPHATIC INVASION: TUMOR NECROSIS: none")["lvi"] == "absent"


def test_less_is_asked_of_a_biopsy() -> None:
    report = check_report("Lung, biopsy; adenocarcinoma")
    assert report is not None and report.biopsy
    assert [e.name for e in report.elements if e.required] == ["site", "procedure", "type"]


@pytest.mark.parametrize(
    "change, element, status, reason",
    [
        (("15 mm", "31 mm"), "ptnm", "inconsistent", "pT1c is 10 to 20 mm, not 31 mm"),
        (("0/2", "1/2"), "nodes", "inconsistent", "pN0 but a node is positive"),
        (("grade 2", "grade 2, well differentiated"), "grade", "inconsistent", "grade 2 and well differentiated"),
        (("0/2.", "0/2. Margins are involved."), "margins", "contradicted", "margins free and involved"),
        (
            ("0/2.", "0/2. Lymphovascular invasion is present."),
            "lvi",
            "contradicted",
            "lymphovascular absent and present",
        ),
    ],
)
def test_conflicts(change: tuple[str, str], element: str, status: str, reason: str) -> None:
    report = check_report(FULL.replace(*change))
    assert report is not None
    assert {e.name: e.status for e in report.elements if e.conflict} == {element: status}
    conflict = report.element(element).conflict
    assert conflict is not None and conflict.reason == reason


def test_two_tumours_and_two_parts_do_not_contradict_each_other() -> None:
    two = "Breast: multifocal. Invasive ductal carcinoma, grade 1. Invasive ductal carcinoma, grade 3."
    assert statuses(two)["grade"] == "present"
    parts = "A. Breast, left: carcinoma, margins are free. B. Breast, right: carcinoma, margins are involved."
    assert statuses(parts)["margins"] == "present"


def test_a_stage_of_an_older_edition_is_no_conflict() -> None:
    """A lung tumour of 7.5 cm was pT2 in the sixth edition."""
    text = "Lung, lobectomy: squamous cell carcinoma, tumor size 7.5 cm, pT2 pN0."
    assert statuses(text)["ptnm"] == "present"


def test_what_a_report_states_otherwise_than_its_reference() -> None:
    report = check_report(FULL)
    other = check_report(
        FULL.replace("Right", "Left").replace("grade 2", "grade 3").replace("ER positive", "ER negative")
    )
    assert report is not None and other is not None
    told = contradicts(report, other)
    assert set(told) == {"site", "grade", "biomarkers"}
    assert contradicts(report, report) == {}


def test_no_organ_no_report() -> None:
    assert check_report("The patient feels well.") is None and check_report("") is None


def test_conflicts_in_the_written_reports() -> None:
    rows = [row for row in marked.rows("written.jsonl") if row["half"] == "held_out"]
    counts = marked.conflicts([(row["text"], row["conflicts"]) for row in rows])
    assert counts.f1 >= 0.9


@pytest.mark.skipif(not DATA.is_dir(), reason=f"needs the marked reports in {DATA}")
def test_elements_of_the_held_out_reports() -> None:
    rows = [row for row in marked.rows("reports.jsonl") if row["half"] == "held_out"]
    assert len(rows) == 30
    assert marked.total(marked.elements(rows, marked.texts(DATA))).f1 >= 0.9
