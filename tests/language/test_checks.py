"""Texts that cannot be read as English reports."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.language.checks import is_template, looks_english, problem

FOREIGN = [
    "Mamma, Stanzbiopsie: Invasives duktales Karzinom, G2. Kein Nachweis einer Gefäßinvasion.",
    "Das Präparat zeigt ein mäßig differenziertes Adenokarzinom des Kolons mit Infiltration der Subserosa.",
    "Prostata, Biopsie links: Adenokarzinom, Gleason-Score 3+4=7, in zwei von sechs Stanzen.",
    "Haut: Basalzellkarzinom, im Gesunden entfernt.",
    "Sein gauche, biopsie : carcinome canalaire infiltrant de grade II, sans envahissement vasculaire.",
    "Muqueuse gastrique avec inflammation chronique modérée, absence de dysplasie.",
    "Adénocarcinome lieberkühnien moyennement différencié du côlon, marges saines.",
    "Mama izquierda, biopsia: carcinoma ductal infiltrante, grado 2, sin invasión linfovascular.",
    "Se observa adenocarcinoma moderadamente diferenciado que infiltra la muscular propia.",
    "Próstata, biopsia: adenocarcinoma acinar, Gleason 3+4, márgenes libres.",
    "Mammella destra, biopsia: carcinoma duttale infiltrante, grado 2, margini liberi.",
    "Frammenti di mucosa gastrica con gastrite cronica, assenza di displasia.",
    "Mama direita, biópsia: carcinoma ductal invasivo, grau 2, sem invasão vascular.",
    "Mammabiopt links: invasief ductaal carcinoom, graad 2, geen angio-invasie aangetoond bij de patiënt.",
    "乳腺穿刺活检:浸润性导管癌,II级,未见脉管侵犯。",
    "Молочная железа, биопсия: инвазивный протоковый рак, степень 2.",
    "肺生検:腺癌、中分化型。",
    "Μαστός: διηθητικό πορογενές καρκίνωμα, βαθμού 2.",
]

ENGLISH = [
    "#Na 118, likely SIADH (sertraline)\n- d/c sertraline; FR 1 L; Na q6h; max rise 8 mEq\n#CT chest r/o malignancy",
    "Breast, core-needle biopsy; Invasive carcinoma of no special type, grade I",
    "Prostate, biopsy; Acinar adenocarcinoma, Gleason's score 7 (4+3), grade group 3",
    "Colon, colonoscopic biopsy; Tubular adenoma, low grade",
    "pT2 pN0 (0/7)",
    "Ki-67 20%",
    "DIAGNOSIS: Carcinoma in situ, de novo. Condyloma acuminata per se. En bloc resection.",
    "Metastases carcinomatosae in lymphonodis (No VI/XVIII). Invasive carcinoma of the breast.",
    "β-catenin and TGF-β: positive",
    "Sjögren syndrome; Hürthle cell adenoma; Café au lait spots.",
    "",
]


@pytest.mark.parametrize("text", FOREIGN)
def test_other_languages_are_found(text: str) -> None:
    assert problem(text) == "is not English"


@pytest.mark.parametrize("text", ENGLISH)
def test_english_passes(text: str) -> None:
    assert problem(text) is None


def test_an_english_report_with_a_foreign_line_is_read() -> None:
    text = "The specimen shows an invasive carcinoma of the breast with clear margins. " * 3
    assert looks_english(text + "Befund: invasives Karzinom der Brust.")


@pytest.mark.parametrize(
    "text",
    [
        "**Patient ID:** [Insert Patient ID]\n**Diagnosis:**\n[Insert diagnosis, e.g., Invasive Ductal Carcinoma]",
        "Gross Description:\nMicroscopic Description:\nFinal Diagnosis:\n",
        "Site: ____\nDiagnosis: ____\nGrade: ____",
        "Diagnosis: {diagnosis}\nGrade: {grade of the tumor}",
        "The tumor displays [describe features such as necrosis]. Margins are [describe margins].",
    ],
)
def test_templates(text: str) -> None:
    assert is_template(text)
    assert problem(text) == "is only a template"


@pytest.mark.parametrize(
    "text",
    [
        "Patient ID: [Redacted]\nDiagnosis: Invasive ductal carcinoma, grade II, with clear margins in all sections.",
        "HER2: 2+ [NEGATIVE: 0, 1+; EQUIVOCAL: 2+; POSITIVE: 3+]. Carcinoma of the breast.",
        "Gleason: 3+3\nExtent: 10%\nMargins:\nStage:",
        "Diagnosis: Adenoma",
        "Adenoma [1].",
    ],
)
def test_filled_reports_are_no_templates(text: str) -> None:
    assert not is_template(text)


@given(st.text(max_size=300))
def test_any_text_has_an_answer(text: str) -> None:
    assert problem(text) in (None, "is not English", "is only a template")
