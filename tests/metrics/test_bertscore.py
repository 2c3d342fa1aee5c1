"""BERTScore, MedBERTScore and -SP on the embedded encoder (identity with `bert-score`: test_bertscore_oracle.py)."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from medassay.api import score
from medassay.cases import Case, make_cases
from medassay.errors import InputError, MedassayError
from medassay.metrics.bertscore import default_layer, inside, read_baseline
from medassay.metrics.matching import unit
from medassay.metrics.registry import load_metric

CANDIDATES = ["No carcinoma in the left kidney.", "Chest pain for two days.", "Patient feels well."]
REFERENCES = ["The left kidney shows no carcinoma.", "Two days of chest pain and nausea.", "Fever and cough."]


def pairs() -> list[Case]:
    return make_cases(CANDIDATES, REFERENCES)


def by_loops(metric: object, case: Case) -> tuple[float, float]:
    """Precision and recall as defined, one token after the other, without weights."""
    candidate, reference = metric.encoder.token_states([case.candidate, case.references[0]], layer=metric.layer)
    a, b = unit(candidate.states).astype(float), unit(reference.states).astype(float)
    best_a = [max(float(x @ y) for y in b) for x in a[1:-1]]
    best_b = [max(float(x @ y) for x in a) for y in b[1:-1]]
    return float(np.mean(best_a)), float(np.mean(best_b))


def test_it_is_the_definition() -> None:
    metric = load_metric("bertscore")
    for case, found in zip(pairs(), metric.score(pairs())):
        precision, recall = by_loops(metric, case)
        assert found.parts["precision"] == pytest.approx(precision, abs=1e-5)
        assert found.parts["recall"] == pytest.approx(recall, abs=1e-5)
        assert (
            found.value == found.parts["f1"] == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-5)
        )


def test_equal_texts_score_one_and_order_of_cases_does_not_matter() -> None:
    metric = load_metric("bertscore")
    cases = pairs()
    forward, backward = metric.score(cases), metric.score(cases[::-1])[::-1]
    assert [s.value for s in forward] == pytest.approx([s.value for s in backward], abs=1e-6)
    assert metric.score(make_cases(["Mass seen."], ["Mass seen."]))[0].value == pytest.approx(1, abs=1e-6)


def test_a_part_by_its_short_name() -> None:
    whole, recall = load_metric("bertscore").score(pairs()), load_metric("bertscore_r").score(pairs())
    assert [s.value for s in recall] == [s.parts["recall"] for s in whole]


def test_idf_is_over_the_references_of_the_set() -> None:
    metric = load_metric("bertscore(idf=yes)")
    assert metric.signature.count("|idf:set|") == 1
    cases = make_cases(["the mass", "the node"], ["the mass", "the node"])
    metric.score(cases)
    assert "idf:set(2)@" in metric.signature
    states = metric.encoder.token_states(["the mass"], layer=metric.layer)[0]
    # `the` stands in both references, `mass` in one of two: log(3/3) = 0 and log(3/2).
    assert metric.weights("the mass", states)[1:-1].tolist() == pytest.approx([0.0, math.log(3 / 2)])


def test_without_any_idf_weight_there_is_no_score() -> None:
    [score_] = load_metric("bertscore(idf=yes)").score(make_cases(["mass"], ["mass"]))
    assert score_.value is None and "stands in every reference" in (score_.unscored or "")


def test_a_baseline_from_the_set_brings_random_pairs_to_zero() -> None:
    texts = [
        f"Finding {word} in the {organ}." for word, organ in zip("abcdefgh", ("lung", "liver", "skin", "bone") * 2)
    ]
    metric = load_metric("bertscore(baseline=set)")
    scores = metric.score(make_cases(texts, texts))
    assert all(s.value == pytest.approx(1, abs=1e-5) for s in scores)
    assert metric.baseline is not None and 0 < metric.baseline[2] < 1
    assert "baseline:set@" in metric.signature
    with pytest.raises(MedassayError, match="two different references"):
        metric.score(make_cases(["a mass", "a node"], ["same", "same"]))


def test_a_baseline_file(tmp_path: Path) -> None:
    file = tmp_path / "model.tsv"
    file.write_text("LAYER,P,R,F\n0,0.1,0.2,0.3\n3,0.4,0.5,0.6\n")
    plain = load_metric("bertscore").score(pairs())[0]
    scaled = load_metric(f"bertscore(baseline={file})").score(pairs())[0]
    assert scaled.parts["recall"] == pytest.approx((plain.parts["recall"] - 0.5) / 0.5)
    assert scaled.value == pytest.approx((plain.value - 0.6) / 0.4)
    assert read_baseline(file, 0)[0] == (0.1, 0.2, 0.3)
    for path, layer in ((file, 7), (tmp_path / "none.tsv", 3)):
        with pytest.raises(InputError):
            read_baseline(path, layer)


def test_long_texts_are_cut_and_say_so_or_read_in_windows() -> None:
    long = "no mass seen . " * 300
    cut = load_metric("bertscore").score(make_cases([long], ["no mass seen ."]))[0]
    whole = load_metric("bertscore(long=windows)").score(make_cases([long + "carcinoma"], ["no mass seen ."]))[0]
    assert cut.parts["cut"] == pytest.approx((1200 - 510) / 1204)
    assert whole.parts["cut"] == 0
    assert "long:windows" in load_metric("bertscore(long=windows)").signature


def test_the_end_of_a_long_note_counts_in_sp() -> None:
    start = "no mass seen . " * 300
    same, other = make_cases([start + "lung cancer", start + "well"], [start + "lung cancer"] * 2)
    cut = [s.value for s in load_metric("medbertscore").score([same, other])]
    whole = load_metric("medbertscore-sp").score([same, other])
    assert cut[0] == pytest.approx(cut[1], abs=1e-6)
    assert whole[0].value > whole[1].value
    assert set(whole[0].parts) == {"precision", "recall", "f1"}


def test_medical_words_weigh_more_also_at_the_very_start() -> None:
    case = Case("1", "carcinoma was seen", ("benign tissue was seen",))
    metric = load_metric("medbertscore")
    [states] = metric.encoder.token_states([case.candidate], layer=metric.layer)
    pieces = [case.candidate[a:b] for a, b in states.offsets]
    weights = metric.weights(case.candidate, states)
    assert {piece: w for piece, w in zip(pieces, weights) if piece} == {
        "car": 2,
        "cino": 2,
        "ma": 2,
        "was": 1,
        "seen": 1,
    }


def test_both_formulas() -> None:
    text = "lung was seen"
    normal = load_metric("medbertscore").score(make_cases([text], [text]))[0]
    printed = load_metric("medbertscore(formula=printed)").score(make_cases([text], [text]))[0]
    # Three tokens, one medical: the weighted sum is 2 + 1 + 1, divided by itself or by 3.
    assert normal.value == pytest.approx(1, abs=1e-6)
    assert printed.value == pytest.approx(4 / 3, abs=1e-6)
    assert "formula:printed" in load_metric("medbertscore(formula=printed)").signature


def test_alpha_zero_is_bertscore() -> None:
    ours = load_metric("medbertscore(alpha=0)").score(pairs())
    assert [s.value for s in ours] == pytest.approx([s.value for s in load_metric("bertscore").score(pairs())])


def test_inside() -> None:
    offsets = [(0, 0), (0, 3), (4, 8), (8, 9), (10, 12)]
    assert inside(offsets, [(5, 6), (5, 11)]).tolist() == [0, 0, 1, 1, 1]
    assert inside(offsets, [(0, 3)]).tolist() == [0, 1, 0, 0, 0]
    assert inside(offsets, []).tolist() == [0] * 5


def test_evidence_names_the_weakest_sentence() -> None:
    candidate = "No mass in the left lung. Bananas are yellow fruit."
    result = score([candidate], ["No mass in the left lung."], metrics="bertscore", evidence=True)
    found = [one for one in result["bertscore"][0].evidence["sentences"] if one["side"] == "candidate"]
    assert candidate[found[0]["start"] : found[0]["end"]] == "Bananas are yellow fruit."


@pytest.mark.parametrize(
    "text", ["Kein Anhalt für Malignität.", "未见恶性肿瘤。", "لا يوجد ورم", "\u200b", "💉", "x" * 3000, "a\ud800b"]
)
def test_any_language_gives_a_number_or_a_reason(text: str) -> None:
    for name in ("bertscore", "medbertscore-sp"):
        [made] = load_metric(name).score([Case("1", text, ("No malignancy.",))])
        assert (made.value is None) == (made.unscored is not None)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ("bertscore(layer=5)", "no token states of layer 5; it has 3"),
        ("bertscore(long=never)", "long: 'never' is not one of cut, windows"),
        ("bertscore(idf=maybe)", "idf: 'maybe' is not yes or no"),
        ("medbertscore(alpha=-1)", "alpha: '-1'"),
        ("medbertscore(formula=other)", "not one of normalised, printed"),
        ("medbertscore(words=nobody)", "none of linker"),
    ],
)
def test_wrong_settings_are_said(request_: str, message: str) -> None:
    with pytest.raises(MedassayError, match=message):
        load_metric(request_)


def test_default_layers() -> None:
    assert default_layer("microsoft/deberta-xlarge-mnli@abc", range(49)) == 40
    assert default_layer("folder@abc", range(7)) == 4


def test_a_note_of_fifty_thousand_tokens_is_cut_at_once() -> None:
    note = "no mass seen . " * 12_500
    [made] = load_metric("bertscore").score(make_cases([note], ["no mass seen ."]))
    assert made.parts["cut"] == pytest.approx((50_000 - 510) / 50_004)


def test_a_note_of_fifty_thousand_tokens_in_windows() -> None:
    """Equal windows are embedded once, so that this stays quick; the last words are seen all the same."""
    note = "no mass seen . " * 12_500
    cases = make_cases([note, note + "carcinoma of the kidney"], ["carcinoma of the kidney"] * 2)
    without, made = load_metric("medbertscore-sp").score(cases)
    assert made.parts["recall"] > without.parts["recall"] + 0.1
