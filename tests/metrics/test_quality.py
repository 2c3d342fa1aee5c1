"""`clinicalbleurt`, `bleurt`: the contract, and what is not scored."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.cases import Case
from medassay.errors import MedassayError
from medassay.metrics.quality import Bleurt, ClinicalBleurt, same_text
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
    metric = ClinicalBleurt()
    same, spaced, other = metric.score([_case(TEXT), _case(f"  {TEXT.upper()}\n"), _case(TEXT + " Indeed.")])
    assert same.value == spaced.value == 1.0
    assert other.value is not None and other.value < 1.0


def test_what_cannot_be_read_is_unscored(doubled: None) -> None:
    german = "Die linke Niere enthält einen Tumor von vier Zentimetern, die Schnittränder sind frei und ohne Nekrose."
    scores = ClinicalBleurt().score([_case(""), _case(german), _case(TEXT, german)])
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


def test_white_space_and_case_make_no_difference() -> None:
    assert same_text("A  b.\n", "a B.") and not same_text("A b.", "A, b.")
