"""Logic: S_l by hand on a model whose answers are given, and the rules on whole reports."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.cases import Case
from medassay.errors import MedassayError
from medassay.metrics import logic
from medassay.metrics.logic import AGREEMENT_BY_RULE, CONTRADICTION_BY_RULE, Logic, scaled, top_mean
from medassay.metrics.registry import load_metric
from medassay.models.graphs import HOME
from medassay.scores import Score

pytestmark = pytest.mark.skipif(not (HOME / "manifest.json").is_file(), reason="no embedded models in this checkout")


class Answers:
    """A model that contradicts whatever holds a word, and nothing else."""

    name = "answers/nli"

    def __init__(self, word: str = "", chance: float = 0.0) -> None:
        self.word, self.chance, self.asked = word, chance, 0

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        self.asked += len(pairs)
        against = [self.chance if self.word and self.word in " ".join(pair) else 0.0 for pair in pairs]
        return np.array([[0.0, 1.0 - p, p] for p in against], np.float32).reshape(len(pairs), 3)


def scored(
    monkeypatch: pytest.MonkeyPatch, texts: Sequence[str], model: Answers | None = None, **settings: object
) -> list[Score]:
    monkeypatch.setattr(logic, "load", lambda role, spec: model or Answers())
    monkeypatch.setattr(logic, "load_nli", lambda spec: model or Answers())
    return Logic(**settings).score([Case(id=str(i), candidate=text) for i, text in enumerate(texts)])  # type: ignore[arg-type]


CLEAN = (
    "Invasive ductal carcinoma of the breast. Lymphovascular invasion is present. ER is positive. Margins are negative."
)


def test_top_mean_by_hand() -> None:
    # K = ceil(0.3 * 7) = 3
    assert top_mean([0.1, 0.9, 0.2, 0.3, 0.0, 0.0, 0.6]) == pytest.approx((0.9 + 0.6 + 0.3) / 3)
    assert top_mean([0.1, 0.9], k=5) == pytest.approx(0.5)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(1, 40))
def test_top_mean_lies_between_mean_and_highest(chances: list[float], k: int) -> None:
    assert sum(chances) / len(chances) - 1e-9 <= top_mean(chances, k) <= max(chances) + 1e-9


@given(st.floats(0, 1), st.floats(0, 1))
def test_scaling_keeps_the_order_and_never_raises(a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert scaled(low) <= scaled(high) + 1e-12
    assert scaled(high) <= high + 1e-12


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("The tumor cells are completely negative for estrogen receptor.", "marker"),
        ("Tumor is present at the deep margin.", "margin"),
        ("No lymphovascular invasion is identified.", "assertion"),
        ("No carcinoma is identified in the specimen.", None),
    ],
)
def test_an_added_contradiction_lowers_the_score(
    monkeypatch: pytest.MonkeyPatch, sentence: str, kind: str | None
) -> None:
    text = f"{CLEAN} {sentence}"
    clean, wrong = scored(monkeypatch, [CLEAN, text])
    assert clean.value is not None and wrong.value is not None
    assert clean.evidence["contradictions"] == []
    assert wrong.value < 0.6 * clean.value
    first = wrong.evidence["contradictions"][0]
    assert first["by"] == "rule" and first["probability"] == CONTRADICTION_BY_RULE
    assert kind is None or first["kind"] == kind
    spans = [text[slice(*first[side])] for side in ("premise", "hypothesis")]
    assert sentence in spans
    assert {(s["start"], s["end"]) for s in wrong.evidence["sentences"]} >= {tuple(first["premise"])}


def test_the_model_speaks_where_no_rule_does(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Papillary thyroid carcinoma, left lobe. The follicles contain colloid with mild edema."
    silent, told = (scored(monkeypatch, [text], Answers("edema", chance))[0] for chance in (0.0, 0.999))
    assert silent.value == pytest.approx(1.0)
    assert told.value is not None and told.value < 0.1
    assert [one["by"] for one in told.evidence["contradictions"]] == ["model"]


def test_agreement_by_rule_is_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Answers("Gleason", 1.0)
    text = "Acinar adenocarcinoma, Gleason's score 7 (3+4), grade group 2"
    (one,) = scored(monkeypatch, [text], model)
    assert one.parts["contradictions"] == 0 or one.evidence["contradictions"][0]["by"] == "model"
    (wrong,) = scored(monkeypatch, [text.replace("group 2", "group 5")], Answers())
    assert wrong.value == pytest.approx(1 - CONTRADICTION_BY_RULE)
    assert 0 < AGREEMENT_BY_RULE < CONTRADICTION_BY_RULE


@pytest.mark.parametrize("text", ["Adenocarcinoma.", "Received in formalin."])
def test_too_few_statements_are_not_assessed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (one,) = scored(monkeypatch, [text])
    assert one.value is None
    assert one.unscored is not None and one.unscored.startswith("not assessed: ")


def test_other_languages_and_templates_are_unscored(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["Lunge: Adenokarzinom der Lunge mit Lymphknotenmetastasen, keine Nekrose.", CLEAN]
    foreign, clean = scored(monkeypatch, texts)
    assert foreign.unscored == "candidate is not English"
    assert clean.value is not None


def test_equal_pairs_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    once, twice = Answers(), Answers()
    alone = scored(monkeypatch, [CLEAN], once)
    both = scored(monkeypatch, [CLEAN, CLEAN], twice)
    assert once.asked == twice.asked
    assert both == alone * 2


def test_the_published_way_has_no_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Nuclear atypia and mitoses are seen. The diagnosis is fibroadenoma. No fibroadenoma is identified."
    (plain,) = scored(monkeypatch, [text], Answers("fibroadenoma", 0.4), mode="paper")
    assert plain.value == pytest.approx(0.6)


@pytest.mark.parametrize("settings", [{"k": 0}, {"k": 1.5}, {"mode": "other"}])
def test_settings_that_make_no_sense(monkeypatch: pytest.MonkeyPatch, settings: dict[str, object]) -> None:
    with pytest.raises(MedassayError, match="logic: "):
        scored(monkeypatch, [CLEAN], **settings)


def test_k_is_in_the_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logic, "load", lambda role, spec: Answers())
    assert "k:2" in Logic(k=2).signature
    assert "ceil(0.3·pairs)" in Logic().signature


LEIOMYOSARCOMA = (
    "Bland spindle cells without atypia. No mitoses, no necrosis. Diagnosis: high grade leiomyosarcoma.",
    "Spindle cells with marked atypia. Numerous mitoses, necrosis. Diagnosis: high grade leiomyosarcoma.",
)


def test_a_bland_description_contradicts_a_high_grade_tumour(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong, right = scored(monkeypatch, LEIOMYOSARCOMA)
    assert wrong.value == pytest.approx(1 - CONTRADICTION_BY_RULE) and wrong.parts["contradictions"] == 1
    (told,) = wrong.evidence["contradictions"]
    assert told["kind"] == "cytology" and told["by"] == "rule"
    assert LEIOMYOSARCOMA[0][slice(*told["premise"])] == "Bland spindle cells without atypia."
    assert right.value is None or right.value > 0.9


def test_a_bland_high_grade_tumour_is_caught_by_default() -> None:
    (wrong,) = load_metric("logic").score([Case(id="1", candidate=LEIOMYOSARCOMA[0])])
    assert wrong.value == pytest.approx(1 - CONTRADICTION_BY_RULE) and wrong.parts["contradictions"] == 1


def test_findings_under_the_heading_of_the_specimen_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Specimen: soft tissue\nCells: bland spindle cells without atypia\nDiagnosis: high grade leiomyosarcoma"
    (wrong,) = scored(monkeypatch, [text])
    assert wrong.parts["contradictions"] == 1
    (told,) = wrong.evidence["contradictions"]
    assert text[slice(*told["premise"])] == "Cells: bland spindle cells without atypia"


def test_a_report_of_normal_tissue_is_assessed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Crypts are regular. Diffuse necrosis is present. Opinion: normal colon."
    (one,) = scored(monkeypatch, [text], Answers("necrosis", 0.999))
    assert one.value is not None and one.parts["contradictions"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "Bland spindle cells without atypia. Diagnosis: leiomyoma.",
        "Bland spindle cells without atypia. There is no high grade sarcoma. Diagnosis: leiomyoma.",
        "Small bland cells in single files. Diagnosis: invasive lobular carcinoma, grade 1.",
        "Part A. Prostate: bland cells without atypia. Part B. Bladder: high grade urothelial carcinoma.",
    ],
)
def test_bland_cells_alone_accuse_nobody(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (score,) = scored(monkeypatch, [text])
    assert score.value is None or score.parts["contradictions"] == 0


def test_statements_reach_the_model_as_whole_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Answers()
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(model, "probabilities", lambda pairs: (asked.extend(pairs), Answers().probabilities(pairs))[1])
    scored(monkeypatch, ["Diagnosis: fibroadenoma; breast\nMicroscopy: ducts with stroma, apocrine change"], model)
    assert asked and all(text.endswith(".") and text[0].isupper() for pair in asked for text in pair)


def test_the_published_formula_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Necrosis is present. Mitoses are frequent. Calcification is seen. Diagnosis: leiomyosarcoma."
    (score,) = scored(monkeypatch, [text], Answers("Necrosis", 0.8), mode="paper", k=2)
    # Three findings with one diagnosis; of the two highest one is 0.8: S_l = 1 − (0.8 + 0) / 2, nothing scaled.
    assert score.parts["pairs"] == 3 and score.value == pytest.approx(0.6)
    (default,) = scored(monkeypatch, [text], Answers("Necrosis", 0.8), mode="paper")
    # K = ceil(0.3 · 3) = 1
    assert default.value == pytest.approx(0.2)
    assert "mode:paper" in Logic(mode="paper").signature and "models:answers/nli" in Logic(mode="paper").signature
