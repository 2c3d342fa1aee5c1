"""Statements compared as structures, between texts and inside one report."""

from __future__ import annotations

import pytest

from medassay.language.clauses import clauses, described, pairs
from medassay.language.contradiction import CONTRADICTS, ENTAILS, compare, strongest_verdict, within
from medassay.language.graph import Report, read_reports
from medassay.models.graphs import HOME

pytestmark = pytest.mark.skipif(not (HOME / "manifest.json").is_file(), reason="no embedded models in this checkout")


def label(premise: str, hypothesis: str, *, strict: bool = False) -> str | None:
    one, other = read_reports([premise, hypothesis])
    verdict = strongest_verdict(compare(one, other, strict=strict))
    if verdict is not None:
        assert 0 <= verdict.premise[0] <= verdict.premise[1] <= len(premise)
        assert 0 <= verdict.hypothesis[0] <= verdict.hypothesis[1] <= len(hypothesis)
        assert 0.0 < verdict.weight <= 1.0
    return None if verdict is None else verdict.label


@pytest.mark.parametrize(
    ("premise", "hypothesis"),
    [
        ("Tumor cells are positive for chromogranin.", "Chromogranin A is negative."),
        ("Ki-67 does not exceed 2 %.", "Hot spot Ki-67 reaches 60 %."),
        ("The nodule has a diameter of 0.8 cm.", "The nodule is 8 cm across."),
        ("Melanoma, Breslow thickness 2.3 mm.", "pT1a melanoma."),
        ("Acinar adenocarcinoma, Gleason score 3+3=6.", "Grade group 4."),
        ("Gleason score 7 (4+3).", "Gleason pattern 4 is not identified."),
        ("Margins are negative.", "Tumor is present at the bronchial resection margin."),
        ("Left modified radical mastectomy.", "Right mastectomy specimen."),
        ("No dysplasia is seen in the cervix.", "High-grade dysplasia of the cervix."),
        ("Necrosis is absent.", "Extensive necrosis is seen."),
        ("The tumor is unifocal.", "Three separate tumor foci are present."),
        ("Lymphoma: CD20+, PAX5+, CD3−, CD5−.", "Peripheral T-cell lymphoma."),
        ("Kidney: plant-like membranes, raisinoid nuclei, perinuclear haloes.", "Renal oncocytoma."),
    ],
)
def test_contradictions(premise: str, hypothesis: str) -> None:
    assert label(premise, hypothesis) == CONTRADICTS


@pytest.mark.parametrize(
    ("premise", "hypothesis"),
    [
        ("CD117 and DOG1 are positive.", "c-kit positive."),
        ("Spleen weighs 1,450 g.", "Spleen weight 1.45 kg."),
        ("The lateral edge is transected by tumor.", "The lateral margin is involved."),
        ("Pancreatic neuroendocrine tumour, Ki-67 8%.", "NET G2."),
        ("Jejunal tumour: CD117 and DOG1 strong, desmin and S100 negative.", "Gastrointestinal stromal tumour."),
    ],
)  # fmt: skip
def test_entailments(premise: str, hypothesis: str) -> None:
    assert label(premise, hypothesis) == ENTAILS


@pytest.mark.parametrize(
    ("premise", "hypothesis"),
    [
        ("The posterior margin is negative.", "The anterior margin is negative."),
        ("Left adrenalectomy for cortical adenoma.", "The contralateral adrenal gland is normal in size."),
        ("ALK immunohistochemistry negative.", "A ROS1 rearrangement is present."),
        ("The lesion is 5 mm deep.", "The lesion extends 18 mm laterally."),
        ("", ""),
    ],
)
def test_what_cannot_be_compared_gets_no_verdict(premise: str, hypothesis: str) -> None:
    assert label(premise, hypothesis) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Renal cell carcinoma, clear cell type, 6.9 cm.", "The adrenal gland shows no evidence of tumor."),
        ("The left tumor is 1.2 cm.", "The right tumor is 2.0 cm."),
        ("The neoplastic cells are CD5 negative.", "Scattered CD5 positive lymphocytes."),
        ("HER2 2+.", "HER2 is not amplified by FISH."),
        ("Margins are negative for invasive carcinoma.", "DCIS is present at the deep margin."),
    ],
)
def test_inside_one_report_different_things_do_not_contradict(one: str, other: str) -> None:
    assert label(one, other, strict=True) != CONTRADICTS
    assert label(other, one, strict=True) != CONTRADICTS


def test_a_statement_may_contradict_itself() -> None:
    texts = ["ER positive, PR positive and HER2 negative, i.e. a triple-negative tumor.", "ER positive, PR negative."]
    wrong, right = (within(report) for report in read_reports(texts))
    assert [verdict.kind for verdict in wrong if verdict.label == CONTRADICTS] == ["marker", "marker"]
    assert right == []


def cut(text: str) -> tuple[Report, list[str]]:
    (report,) = read_reports([text])
    return report, [one.report.text for one in clauses(report)]


def test_clauses_are_slices_of_the_report() -> None:
    text = "Invasive carcinoma, grade II. ER positive; PR negative. Received in formalin. No necrosis is seen."
    report, _ = cut(text)
    found = clauses(report)
    assert len(found) >= 3
    for one in found:
        assert text[one.start : one.end] == one.report.text
        assert all(one.report.text[e.start : e.end] == e.text for e in one.report.entities)


def test_a_line_is_cut_at_its_items() -> None:
    _, found = cut("Prostate, biopsy; Acinar adenocarcinoma, Gleason's score 7 (3+4), grade group 2, tumor volume: 80%")
    assert len(found) > 2


def test_specimens_and_history_are_kept_apart() -> None:
    (report,) = read_reports(
        ["A. Kidney, left: No necrosis is seen. B. Kidney, right: Necrosis is present. History of necrosis previously."]
    )
    found = clauses(report)
    for pair in pairs(found):
        one, other = found[pair.premise], found[pair.hypothesis]
        assert not (one.specimen and other.specimen and one.specimen != other.specimen)
        assert not one.past and not other.past


def test_the_published_pairs_join_findings_and_diagnoses() -> None:
    (report,) = read_reports(["Zellballen pattern is seen. The diagnosis is pheochromocytoma."])
    found = clauses(report)
    assert {pair.kind for pair in described(found)} <= {"description"}
