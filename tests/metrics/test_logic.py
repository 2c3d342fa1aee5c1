"""Logic: S_l by hand on models whose answers are given, and the embedded checker on whole reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.cases import Case
from medassay.errors import MedassayError
from medassay.metrics import logic
from medassay.metrics.logic import Logic, scaled, top_mean
from medassay.metrics.registry import load_metric
from medassay.models.graphs import HOME
from medassay.scores import Score
from medassay.spans import Check

pytestmark = pytest.mark.skipif(not (HOME / "manifest.json").is_file(), reason="no embedded models in this checkout")


class Answers:
    """Both roles: a pair whose statement or text holds a word contradicts with a given probability, others never."""

    name = "answers/any"

    def __init__(self, word: str = "", chance: float = 0.0) -> None:
        self.word, self.chance = word, chance
        self.asked: list[tuple[str, str]] = []

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        self.asked += pairs
        against = [self.chance if self.word and self.word in " ".join(pair) else 0.0 for pair in pairs]
        return np.array([[0.0, 1.0 - p, p] for p in against], np.float32).reshape(len(pairs), 3)

    def check(self, pairs: Sequence[tuple[str, str]]) -> list[Check]:
        self.asked += pairs
        checks = []
        for text, statement in pairs:
            p = self.chance if self.word and self.word in statement else 0.0
            checks.append(Check((0.0, 1.0 - p, p), 0, text.index(" ") if " " in text else len(text), "negation", 0.5))
        return checks


def scored(
    monkeypatch: pytest.MonkeyPatch, texts: Sequence[str], model: Answers | None = None, **settings: Any
) -> list[Score]:
    monkeypatch.setattr(logic, "load", lambda role, spec: model or Answers())
    return Logic(**settings).score([Case(id=str(i), candidate=text) for i, text in enumerate(texts)])


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


def test_each_passage_is_held_against_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Answers()
    (clean,) = scored(monkeypatch, ["No necrosis. Mitoses are rare; atypia is mild.\nDiagnosis:\nLeiomyoma"], model)
    assert clean.value == 1.0 and clean.parts == {"statements": 4.0, "contradictions": 0.0}
    assert model.asked[0] == ("Mitoses are rare; atypia is mild. Diagnosis: Leiomyoma", "No necrosis.")
    assert "Diagnosis:" not in [statement for _, statement in model.asked]


def test_the_formula_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "No necrosis. Mitoses are rare. Atypia is mild. Leiomyoma."
    (default,) = scored(monkeypatch, [text], Answers("necrosis", 0.9))
    # Four questions, K = ceil(0.3 · 4) = 2: one of probability 0.9, scaled, and one of 0.
    assert default.value == pytest.approx(1 - scaled(0.9) / 2)
    (first,) = scored(monkeypatch, [text], Answers("necrosis", 0.9), k=1)
    assert first.value == pytest.approx(1 - scaled(0.9))


def test_a_contradiction_is_quoted_with_what_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Nests of cells. No necrosis."
    (score,) = scored(monkeypatch, [text], Answers("necrosis", 0.99))
    (told,) = score.evidence["contradictions"]
    assert (text[slice(*told["premise"])], text[slice(*told["hypothesis"])]) == ("Nests", "No necrosis.")
    assert told["kind"] == "negation" and told["probability"] == round(scaled(0.99), 3)
    (sentence,) = score.evidence["sentences"]
    assert text[sentence["start"] : sentence["end"]] == "No necrosis."


def test_two_passages_that_contradict_each_other_are_counted_once() -> None:
    text = "Margins are free. Tumour at the margin."
    first, second = logic.against_the_rest(text)
    answers = [logic.Answer(first, 0.6, 18, 39, "negation"), logic.Answer(second, 0.7, 0, 16, "negation")]
    assert logic.found_once(answers) == answers[1:]
    apart = [answers[0], logic.Answer(second, 0.7, 30, 39, "negation")]
    assert len(logic.found_once(apart)) == 2


def test_places_are_found_behind_a_passage_that_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "A.B\nNo necrosis is seen.\nMargins clear"
    _, question, _ = logic.against_the_rest(text)
    assert question.text == "A.B Margins clear"
    assert text[question.position(4) : question.position(11)] == "Margins"
    assert question.position(10_000) == len(text)


@pytest.mark.parametrize("text", ["Adenocarcinoma.", "Clinical history: Cough. Fever. Weight loss."])
def test_too_few_statements_are_not_assessed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (score,) = scored(monkeypatch, [text])
    assert score.value is None
    assert score.unscored is not None and score.unscored.startswith("not assessed: ")


def test_other_languages_and_templates_are_unscored(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["Lunge: Adenokarzinom der Lunge mit Lymphknotenmetastasen, keine Nekrose.", CLEAN]
    foreign, clean = scored(monkeypatch, texts)
    assert foreign.unscored == "candidate is not English"
    assert clean.value is not None


def test_a_long_specimen_is_asked_about_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Answers()
    (score,) = scored(monkeypatch, ["Benign tissue is seen. " * 120], model)
    assert score.parts["statements"] == logic.MOST == len(model.asked)


@pytest.mark.parametrize("settings", [{"k": 0}, {"k": 1.5}, {"mode": "other"}])
def test_settings_that_make_no_sense(monkeypatch: pytest.MonkeyPatch, settings: dict[str, object]) -> None:
    with pytest.raises(MedassayError, match="logic: "):
        scored(monkeypatch, [CLEAN], **settings)


def test_k_is_in_the_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logic, "load", lambda role, spec: Answers())
    assert "k:2" in Logic(k=2).signature
    assert "ceil(0.3·n)" in Logic().signature


@pytest.fixture(scope="module")
def embedded() -> Any:
    return load_metric("logic")


def of(metric: Any, text: str) -> Score:
    score: Score = metric.score([Case(id="1", candidate=text)])[0]
    return score


@pytest.mark.parametrize(
    "sentence",
    [
        "The tumor cells are completely negative for estrogen receptor.",
        "Tumor is present at the deep margin.",
        "No lymphovascular invasion is identified.",
        "No carcinoma is identified in the specimen.",
    ],
)
def test_an_added_contradiction_lowers_the_score(embedded: Any, sentence: str) -> None:
    clean, wrong = of(embedded, CLEAN), of(embedded, f"{CLEAN} {sentence}")
    assert clean.value is not None and wrong.value is not None
    assert clean.evidence["contradictions"] == []
    assert wrong.value < 0.6 * clean.value
    quoted = [f"{CLEAN} {sentence}"[slice(*told["hypothesis"])] for told in wrong.evidence["contradictions"]]
    assert quoted


def test_a_bland_high_grade_tumour_is_caught_by_default(embedded: Any) -> None:
    wrong = of(
        embedded,
        "Bland spindle cells without atypia. No mitoses, no necrosis. Diagnosis: high grade leiomyosarcoma.",
    )
    right = of(
        embedded,
        "Spindle cells with marked atypia. Numerous mitoses, necrosis. Diagnosis: high grade leiomyosarcoma.",
    )
    assert wrong.value is not None and wrong.value < 0.5 and wrong.parts["contradictions"] > 0
    assert right.value is not None and right.value > 0.9


@pytest.mark.parametrize(
    "text",
    [
        "Bland spindle cells without atypia. Diagnosis: leiomyoma.",
        "Bland spindle cells without atypia. There is no high grade sarcoma. Diagnosis: leiomyoma.",
        "Part A. Prostate: bland cells without atypia. Part B. Bladder: high grade urothelial carcinoma.",
    ],
)
def test_bland_cells_alone_accuse_nobody(embedded: Any, text: str) -> None:
    score = of(embedded, text)
    assert score.value is None or score.parts["contradictions"] == 0


def test_the_published_way_pairs_findings_with_diagnoses(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Necrosis is present. Mitoses are frequent. Calcification is seen. Diagnosis: leiomyosarcoma."
    (score,) = scored(monkeypatch, [text], Answers("Necrosis", 0.8), mode="paper", k=2)
    # Three findings with one diagnosis; of the two highest one is 0.8: S_l = 1 − (0.8 + 0) / 2, nothing scaled.
    assert score.parts["statements"] == 3 and score.value == pytest.approx(0.6)
    (default,) = scored(monkeypatch, [text], Answers("Necrosis", 0.8), mode="paper")
    # K = ceil(0.3 · 3) = 1
    assert default.value == pytest.approx(0.2)
    assert "mode:paper" in Logic(mode="paper").signature and "models:answers/any" in Logic(mode="paper").signature
