"""ROUGE against `rouge-score`, to the last bit, on plain and on hostile text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from medassay.cases import Case, make_cases
from medassay.errors import MedassayError
from medassay.metrics.registry import load_metric, load_metrics
from medassay.metrics.rouge import Rouge1, Rouge2, RougeL, RougeLsum, word_spans

NAMES = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
PEERS = {stem: RougeScorer(NAMES, use_stemmer=stem) for stem in (False, True)}

REPORT = "Colon, biopsy:\nTubular adenoma with low-grade dysplasia.\nNo carcinoma is seen.\n\nMargins free, 3.5 mm."
DRAFT = "Biopsy of the colon\nTubulovillous adenomas, dysplasia low grade\nNo invasive carcinoma. No carcinoma seen.\n"

# Few words, so that they repeat and align in many ways; newlines, capitals that grow in lower case,
# look-alikes, lone surrogates and stems that meet.
word = st.sampled_from(
    ["no", "No", "tumour", "tumours", "is", "seen", "seeing", "a", "a", "b", "3.5", "Σ", "İx", "K", "ß", "\ud800", "_"]
)
gap = st.sampled_from([" ", "\n", "\n\n", " - ", "\t", "\x85", "", "\u2028"])
hostile = st.lists(st.tuples(word, gap), min_size=1, max_size=24).map(lambda pairs: "".join(map("".join, pairs)))


def expected(candidate: str, reference: str, stem: bool) -> dict[str, tuple[float, float, float]]:
    return {name: tuple(score) for name, score in PEERS[stem].score(reference, candidate).items()}


def measured(pairs: list[tuple[str, str]], stem: bool) -> list[dict[str, tuple[float, float, float]]]:
    cases = [Case(str(i), candidate, (reference,)) for i, (candidate, reference) in enumerate(pairs)]
    columns = {m.name: m.measure(cases) for m in (c(stem=stem) for c in (Rouge1, Rouge2, RougeL, RougeLsum))}
    return [
        {n: tuple(column[i].parts[p] for p in ("precision", "recall", "f1")) for n, column in columns.items()}
        for i in range(len(cases))
    ]


@pytest.mark.parametrize("stem", [False, True])
def test_a_report_scores_as_rouge_score_does(stem: bool) -> None:
    assert measured([(DRAFT, REPORT), (REPORT, DRAFT)], stem) == [
        expected(DRAFT, REPORT, stem),
        expected(REPORT, DRAFT, stem),
    ]


@given(pairs=st.lists(st.tuples(hostile, hostile), min_size=1, max_size=4), stem=st.booleans())
def test_hostile_batches_score_as_rouge_score_does(pairs: list[tuple[str, str]], stem: bool) -> None:
    assert measured(pairs, stem) == [expected(*pair, stem) for pair in pairs]


@given(pairs=st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), min_size=1, max_size=3))
def test_any_unicode_scores_as_rouge_score_does(pairs: list[tuple[str, str]]) -> None:
    assert measured(pairs, False) == [expected(*pair, False) for pair in pairs]


def test_by_hand() -> None:
    # candidate: no tumor seen (3 words); reference: no tumour is seen (4). Common: no, seen.
    (score,) = Rouge1().score(make_cases(["No tumor seen."], ["No tumour is seen."]))
    assert dict(score.parts) == {"precision": 2 / 3, "recall": 2 / 4, "f1": pytest.approx(4 / 7, abs=1e-15)}
    assert score.value == score.parts["f1"]


def test_more_pairs_than_a_block_and_repeated_texts() -> None:
    pairs = [(f"{DRAFT} {i % 7}", REPORT) for i in range(2_100)]
    got = measured(pairs, False)
    assert got[:7] == [expected(*pair, False) for pair in pairs[:7]]
    assert got[2_093:2_100] == got[0:7]


def test_texts_without_a_word_score_zero() -> None:
    assert [s.value for s in Rouge2().score(make_cases(["肿瘤", "one"], ["肿瘤", "one"]))] == [0.0, 0.0]


def test_nfkc_makes_ligatures_letters() -> None:
    cases = make_cases(["inﬁltrating"], ["infiltrating"])
    assert Rouge1().score(cases)[0].value == 0.0
    assert Rouge1(normalize="nfkc").score(cases)[0].value == 1.0


def test_the_best_of_several_references_as_score_multi() -> None:
    references = ["no adenoma seen at all", "tubular adenoma", "adenoma"]
    (score,) = RougeL().score(make_cases(["tubular adenoma seen"], [references]))
    peer = PEERS[False].score_multi(references, "tubular adenoma seen")["rougeL"]
    assert tuple(score.parts.values()) == tuple(peer)


@pytest.mark.parametrize("name", NAMES)
def test_evidence_marks_equal_words_and_as_many_as_counted(name: str) -> None:
    metric = load_metric(name)
    assert metric.score(make_cases([DRAFT], [REPORT]))[0].evidence == {}
    (score,) = metric.score(make_cases([DRAFT], [REPORT]), evidence=True)
    assert score.evidence["matches"]
    words = 0
    for match in score.evidence["matches"]:
        ours, theirs = DRAFT[slice(*match["candidate"])], REPORT[slice(*match["reference"])]
        assert [ours.lower()[a:b] for a, b in word_spans(ours)] == [theirs.lower()[a:b] for a, b in word_spans(theirs)]
        words += len(word_spans(ours)) - (name == "rouge2")
    units = len(word_spans(DRAFT)) - (name == "rouge2")
    assert words == round(score.parts["precision"] * units)


def test_word_spans_point_into_the_text_as_given() -> None:
    text = "İİ CIN2: Type"  # each İ is two characters in lower case
    assert [text[a:b] for a, b in word_spans(text)] == ["İ", "İ", "CIN2", "Type"]


def test_settings_show_in_the_signature_and_wrong_ones_are_refused() -> None:
    assert load_metric("rouge1(stem=yes)").signature.startswith("rouge1|stem:yes|norm:none|refs:best|v:")
    assert [m.name for m in load_metrics("rouge(stem=yes)")] == [f"{name}(stem=yes)" for name in NAMES]
    for wrong in ("rouge1(stem=maybe)", "rouge1(normalize=nfd)"):
        with pytest.raises(MedassayError, match=r"is not (one of|yes or no)"):
            load_metric(wrong)
