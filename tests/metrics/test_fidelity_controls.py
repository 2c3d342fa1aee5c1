"""Shortcuts that `fidelity` must not take, with the embedded weights: each control is a text and what becomes of it."""

from __future__ import annotations

import pytest

from medassay.cases import Case
from medassay.metrics.quality import Fidelity
from medassay.models.graphs import HOME, ModelSet

BIOPSY = (
    "Breast, left, core biopsy: invasive ductal carcinoma, grade 2. No lymphovascular invasion is seen. "
    "The tumor measures 1.4 cm. Estrogen receptor is positive. Margins cannot be assessed in this specimen."
)
VISIT = (
    "The patient is a 58-year-old man with chest pain for two days. He takes aspirin 81 mg daily. "
    "He denies shortness of breath. His father had a heart attack at the age of 60. He quit smoking ten years ago."
)
COLON = (
    "The right colon was resected for an adenocarcinoma of 5 cm. The tumor invades the muscularis propria. "
    "Eighteen lymph nodes were examined and none contains metastasis. Both resection margins are free of tumor."
)


@pytest.fixture(scope="module")
def fidelity() -> Fidelity:
    if not (HOME / "pairs.onnx").is_file() or "quality" not in ModelSet(HOME).manifest["roles"]:
        pytest.skip("the embedded set of this checkout has no pair model")
    return Fidelity()


def _values(metric: Fidelity, reference: str, *candidates: str) -> list[float]:
    scores = metric.score([Case(id="1", candidate=text, references=(reference,)) for text in candidates])
    assert all(score.value is not None for score in scores)
    return [score.value or 0.0 for score in scores]


WRONG = {
    "laterality": (BIOPSY, "left", "right"),
    "negation": (BIOPSY, "No lymphovascular", "Lymphovascular"),
    "measurement": (BIOPSY, "1.4 cm", "3.9 cm"),
    "drug": (VISIT, "aspirin", "warfarin"),
    "age": (VISIT, "58-year-old", "38-year-old"),
    "denial lost": (VISIT, "He denies shortness", "He complains of shortness"),
    "omission": (VISIT, " His father had a heart attack at the age of 60.", ""),
    "invention": (VISIT, "He quit smoking", "He is allergic to penicillin. He quit smoking"),
    "nodes": (COLON, "none contains metastasis", "three contain metastasis"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_verbatim_is_not_enough(fidelity: Fidelity, kind: str) -> None:
    text, right, wrong = WRONG[kind]
    assert right in text
    assert _values(fidelity, text, text.replace(right, wrong))[0] < 0.5


def test_rewording_is_no_error(fidelity: Fidelity) -> None:
    reworded = (
        "Left breast, core biopsy: invasive ductal carcinoma of grade 2, 14 mm, without lymphovascular invasion. "
        "ER is positive. The margins are not assessable in this specimen."
    )
    good, wrong, other = _values(fidelity, BIOPSY, reworded, BIOPSY.replace("positive", "negative"), VISIT)
    assert good > 0.5 > wrong > other
    assert other < 0.05


@pytest.mark.parametrize("text", [BIOPSY, VISIT, COLON])
def test_order_and_repetition_are_harmless(fidelity: Fidelity, text: str) -> None:
    parts = [f"{part.strip('. ')}." for part in text.split(". ")]
    turned = " ".join([*parts[1:], parts[0]])
    again = f"{text} {parts[0]}"
    bullets = "\n".join(f"- {part}" for part in parts)
    assert min(_values(fidelity, text, turned, again, bullets)) > 0.5


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_place_of_an_error_makes_no_difference(fidelity: Fidelity, place: int) -> None:
    parts = [BIOPSY, VISIT, COLON]
    wrong = [BIOPSY.replace("left", "right"), VISIT.replace("81 mg", "810 mg"), COLON.replace("5 cm", "2 cm")]
    bad = [*parts[:place], wrong[place], *parts[place + 1 :]]
    assert _values(fidelity, " ".join(parts), " ".join(bad))[0] < 0.5


def test_a_long_text_hides_no_error(fidelity: Fidelity) -> None:
    parts = [
        f"Specimen of the {part} was received fresh and weighs {70 + i} grams. Sections of the {part} show a tumor of "
        f"{i + 2} cm with few mitoses. The {part} vessels are not invaded."
        for i, part in enumerate(("kidney", "liver", "lung", "thyroid", "ovary", "spleen", "stomach", "bladder"))
    ]
    long = " ".join([*parts[:5], VISIT, COLON, *parts[5:]])
    wrong = long.replace("aspirin 81 mg", "warfarin 5 mg")
    assert len(long.split()) > 300
    assert _values(fidelity, long, wrong)[0] < 0.5


def test_shorter_and_longer_are_both_worse(fidelity: Fidelity) -> None:
    short = BIOPSY.split(". ")[0] + "."
    more = f"{BIOPSY} The patient has diabetes. The axilla was not examined. A second lesion is present in the skin."
    assert max(_values(fidelity, BIOPSY, short, more)) < 0.5


def test_the_sentence_with_the_error_is_pointed_at(fidelity: Fidelity) -> None:
    wrong = VISIT.replace("aspirin 81 mg", "warfarin 5 mg")
    (score,) = fidelity.score([Case(id="1", candidate=wrong, references=(VISIT,))], evidence=True)
    first = score.evidence["sentences"][0]
    text = wrong if first["side"] == "candidate" else VISIT
    assert "daily" in text[first["start"] : first["end"]]
