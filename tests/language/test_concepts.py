"""Linking by example, and the credit two concepts earn from one another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.language.concepts import ancestors, behaviour, link, similarity
from medassay.language.terminology import terminology

ONE_MARKER = [
    ("HER2", "HER-2/neu", "c-erbB-2", "ERBB2", "Her2-neu", "HER 2"),
    ("Ki-67", "MIB-1", "Ki67", "Ki-67 (MIB-1)"),
    ("p16", "CDKN2A", "p16INK4a"),
    ("AE1/AE3", "AE1:AE3", "pancytokeratin", "cytokeratin AE1/AE3"),
    ("CAM5.2", "CAM 5.2", "Cam. 5.2"),
    ("EBERish", "EBER", "EBER-ISH"),
    ("S-100 protein", "S100", "$100"),
    ("racemase", "P504S", "AMACR"),
    ("CD117", "c-KIT", "CKIT"),
    ("CA-IX", "CA IX", "CA9", "CA !X"),
]


@pytest.mark.parametrize("aliases", ONE_MARKER, ids=lambda a: a[0])
def test_aliases_of_a_marker_are_one(aliases: tuple[str, ...]) -> None:
    found = {alias: link(alias, "marker") for alias in aliases}
    assert len({concept.id if concept else alias for alias, concept in found.items()}) == 1, found


@pytest.mark.parametrize(
    ("one", "other"),
    [("CD3", "CD30"), ("CK7", "CK20"), ("MSH2", "MSH6"), ("CD5", "CD15"), ("PAX2", "PAX8"), ("HER2", "HER2 FISH")],
)
def test_like_markers_stay_apart(one: str, other: str) -> None:
    assert link(one, "marker").id != link(other, "marker").id  # type: ignore[union-attr]


SAME = [
    ("diagnosis", "invasive ductal carcinoma", "Invasive carcinoma of no special type"),
    ("diagnosis", "renal cell carcinoma - conventional (clear cell) type", "ccRCC"),
    ("diagnosis", "Squamous cell. carcinoma", "squamous carcinoma"),
    ("diagnosis", "DCIS", "ductal carcinoma in-situ"),
    ("diagnosis", "prostatic intraepithellal neoplasia", "PIN"),
    ("diagnosis", "adenocarcinoma of the endometrium, endometrioid type", "endometrial endometrioid adenocarcinoma"),
    ("diagnosis", "BPH", "benign prostatic hypertrophy"),
    ("diagnosis", "malignancy", "malignant tumours"),
    ("finding", "LVI", "angiolymphatic invasion"),
    ("finding", "lymph-vascular invasion", "Lymphovascular space invasion"),
    ("finding", "mitoses", "mitotic figures"),
    ("finding", "extranodal extension", "extracapsular. extension"),
    ("site", "large bowel", "colon"),
    ("site", "breast, right", "Right breast"),
    ("site", "kidnay", "kidney"),
    ("site", "cervix", "uterine cervix"),
    ("site", "muscle proper", "muscularis propria"),
]


@pytest.mark.parametrize(("type", "one", "other"), SAME, ids=[s[1] for s in SAME])
def test_two_names_of_one_thing(type: str, one: str, other: str) -> None:
    first, second = link(one, type), link(other, type)
    assert first is not None and second is not None
    assert first.id == second.id


def test_side_is_kept_apart_from_the_site() -> None:
    left, right, both = (link(t, "site") for t in ("left kidney", "Kidney, right", "right and left ovaries"))
    assert left is not None and right is not None and both is not None
    assert left.id == right.id == "UBERON:0002113"
    assert (left.laterality, right.laterality, both.laterality) == ("left", "right", "bilateral")


def test_a_longer_mention_links_to_a_broader_concept() -> None:
    found = link("adenocarcinoma with clara cell features", "diagnosis")
    assert found is not None and found.how == "broader" and found.name == "adenocarcinoma"


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("carcinoma in situ of the wombat duct", "malignant"),
        ("benign wombat carcinoma-like lesion", "malignant"),
        ("noninvasive wombat carcinoma", "malignant"),
        ("pre-malignant process", "malignant"),
    ],
)
def test_words_that_turn_the_meaning_are_never_left_out(text: str, never: str) -> None:
    found = link(text, "diagnosis")
    assert found is None or behaviour(found) != never


@pytest.mark.parametrize("text", ["", " ", "...", "no tumor", "xyzzy", "the of and", "12", "left"])
def test_nothing_is_linked_to_nothing(text: str) -> None:
    assert link(text, "diagnosis") is None


def test_acronyms_do_not_catch_words() -> None:
    found = link("invasion of all parietal layers", "finding")
    assert found is None or found.id.startswith("FINDING:")


def test_opposite_prefixes_are_not_mended_into_one_another() -> None:
    assert link("unencapsulated", "finding") is None or "circumscription" not in link("unencapsulated", "finding").id  # type: ignore[union-attr]
    found = link("hypoplastic polyp", "diagnosis")
    assert found is None or found.name != "hyperplastic polyp"


def similar(a: str, b: str, type: str = "diagnosis") -> float:
    first, second = link(a, type), link(b, type)
    assert first is not None and second is not None, (a, b)
    return similarity(first, second)


def test_credit_follows_the_ontology() -> None:
    assert similar("ccRCC", "ccRCC") == 1.0
    near, far = similar("ccRCC", "renal cell carcinoma"), similar("ccRCC", "carcinoma")
    assert 0.7 < near < 1.0 and 0.2 < far < near
    sibling = similar("ccRCC", "papillary renal cell carcinoma")
    assert 0.2 < sibling < near
    assert similar("melanoma", "lymphoma") == 0.0


@pytest.mark.parametrize(
    ("benign", "malignant"),
    [
        ("fibroadenoma", "invasive ductal carcinoma"),
        ("leiomyoma", "leiomyosarcoma"),
        ("benign prostatic hyperplasia", "prostatic adenocarcinoma"),
        ("chronic gastritis", "gastric adenocarcinoma"),
        ("lipoma", "liposarcoma"),
        ("nevus", "melanoma"),
    ],
)
def test_benign_and_malignant_are_never_similar(benign: str, malignant: str) -> None:
    assert similar(benign, malignant) == 0.0


def test_in_situ_is_not_invasive() -> None:
    assert 0.0 < similar("DCIS", "invasive ductal carcinoma") <= 0.3


def test_sites_share_what_contains_them() -> None:
    assert similar("colon", "sigmoid colon", "site") > 0.7
    assert similar("lung", "kidney", "site") == 0.0
    assert similar("lymphovascular invasion", "vascular invasion", "finding") == 0.8
    assert similar("necrosis", "mitoses", "finding") == 0.0


def test_a_finding_meets_the_diagnosis_of_its_name() -> None:
    finding, same, other = link("necrotic fat", "finding"), link("inflammation", "finding"), link("lipoma", "diagnosis")
    diagnosis = link("inflammation", "diagnosis")
    assert finding is not None and same is not None and other is not None and diagnosis is not None
    assert same.id != diagnosis.id and similarity(same, diagnosis) == 1.0
    assert similarity(same, other) == similarity(finding, other) == 0.0


def test_ancestors_run_from_near_to_far() -> None:
    above = ancestors("MONDO:0007256")  # hepatocellular carcinoma
    assert above.index("MONDO:0004993") < above.index("MONDO:0005070")  # carcinoma before neoplasm
    assert ancestors("NOPE:1") == [] and ancestors("MARKER:HER2") == []


DIAGNOSES = sorted(i for i in terminology().row_of if i.startswith("DX:"))


@given(st.sampled_from(DIAGNOSES), st.sampled_from(DIAGNOSES))
def test_similarity_is_symmetric_and_bounded(a: str, b: str) -> None:
    value = similarity(a, b)
    assert value == similarity(b, a) and 0.0 <= value <= 1.0
    assert (value == 1.0) == (a == b)


@given(st.text(max_size=60), st.sampled_from(["site", "diagnosis", "finding", "marker", "grade", "modifier", "?"]))
def test_any_text_can_be_asked_for(text: str, type: str) -> None:
    concept = link(text, type)
    assert concept is None or concept.to_json()["id"] == concept.id
