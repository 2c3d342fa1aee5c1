"""`fidelity`, `clinicalbleurt`, `bleurt`: the contract, the evidence, and what is not scored."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.cases import Case
from medassay.errors import MedassayError, ModelError
from medassay.metrics.quality import Bleurt, ClinicalBleurt, Fidelity, same_text
from medassay.models import quality
from medassay.models.graphs import HOME, ModelSet

from ..models.pair_double import PairDouble

TEXT = "The left kidney holds a tumor of 4 cm. Margins are free of tumor. No necrosis is seen. The patient does well."


def _case(candidate: str, reference: str = TEXT) -> Case:
    return Case(id="1", candidate=candidate, references=(reference,))


@pytest.fixture
def doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pair model's double behind the metrics."""
    if not (HOME / "manifest.json").is_file():
        pytest.skip("the embedded set has not been built in this checkout")
    double = PairDouble(ModelSet(HOME))
    monkeypatch.setattr(quality, "open_pairs", lambda models, role: double)
    monkeypatch.setattr("medassay.models.load", lambda role, spec: quality.EmbeddedQuality(ModelSet(HOME)))


def test_a_copy_is_one_and_nothing_else_is(doubled: None) -> None:
    for metric in (Fidelity(), ClinicalBleurt()):
        same, spaced, other = metric.score([_case(TEXT), _case(f"  {TEXT.upper()}\n"), _case(TEXT + " Indeed.")])
        assert same.value == spaced.value == 1.0
        assert other.value is not None and other.value < 1.0


def test_the_sentence_that_costs_the_score_is_pointed_at(doubled: None) -> None:
    metric = Fidelity()
    wrong = TEXT.replace("left", "right")
    added = TEXT.replace("No necrosis", "Bacteria have been cultured from the wound. No necrosis")
    lost = TEXT.replace(" Margins are free of tumor.", "")
    scores = metric.score([_case(wrong), _case(added), _case(lost)], evidence=True)
    told = [score.evidence["sentences"] for score in scores]

    def quoted(found: list[dict[str, object]], text: str, side: str) -> list[str]:
        return [text[one["start"] : one["end"]] for one in found if one["side"] == side]  # type: ignore[misc]

    assert quoted(told[0], wrong, "candidate") == ["The right kidney holds a tumor of 4 cm."]
    assert quoted(told[0], TEXT, "reference") == ["The left kidney holds a tumor of 4 cm."]
    assert quoted(told[1], added, "candidate") == ["Bacteria have been cultured from the wound."]
    assert told[1][0]["note"] == "not in the reference" and not quoted(told[1], TEXT, "reference")
    assert quoted(told[2], TEXT, "reference") == ["Margins are free of tumor."]
    assert told[2][0]["note"] == "missing from the candidate"


def test_without_being_asked_there_is_no_evidence(doubled: None) -> None:
    assert Fidelity().score([_case(TEXT.replace("left", "right"))])[0].evidence == {}


def test_what_cannot_be_read_is_unscored(doubled: None) -> None:
    german = "Die linke Niere enthält einen Tumor von vier Zentimetern, die Schnittränder sind frei und ohne Nekrose."
    scores = Fidelity().score([_case(""), _case(german), _case(TEXT, german)])
    assert [score.unscored for score in scores] == [
        "empty candidate",
        "candidate is not English",
        "reference is not English",
    ]


def test_bleurt_is_never_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("medassay.models.load", lambda role, spec: asked.append((role, spec)))
    Bleurt()
    Bleurt(models="folder")
    assert asked == [("quality", "paper"), ("quality", "folder")]


def test_bleurt_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(MedassayError, match=r"hf|models fetch lucadiliello/BLEURT-20"):
        Bleurt()


def test_a_model_without_the_question_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain:
        name = "folder@1"

    monkeypatch.setattr("medassay.models.load", lambda role, spec: Plain())
    with pytest.raises(ModelError, match="no question of fidelity"):
        Fidelity(models="folder")


def test_white_space_and_case_make_no_difference() -> None:
    assert same_text("A  b.\n", "a B.") and not same_text("A b.", "A, b.")
