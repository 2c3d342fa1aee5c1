"""BLEU and chrF against sacrebleu, sentence by sentence and over the corpus; Levenshtein by hand."""

from __future__ import annotations

import logging
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein as Edits
from sacrebleu.metrics import BLEU, CHRF

from medassay.cases import Case, make_cases
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.metrics.lexical import Bleu, Chrf, Levenshtein, bleu_lexicon
from medassay.metrics.registry import load_metric

logging.getLogger("sacrebleu").setLevel(logging.ERROR)

PAIRS = [
    (
        "Tubular adenoma, low-grade dysplasia; no carcinoma.",
        "Tubular adenoma with low-grade dysplasia. No carcinoma.",
    ),
    ("Gleason 3+4=7, 1.5 cm, pT2c N0.", "Gleason score 3 + 4 = 7 (1,5 cm), pT2c pN0."),
    ("No tumour.", "No tumour."),
    ("Lymph nodes 0/12.", "Metastasis in 2/12 lymph nodes, 4-mm focus."),
    ("a", "b"),
]

piece = st.sampled_from(
    ["no", "No", "tumour", "1.5", "1,", ".5", "..", "a.,b", "3-4", "-", "-\n", "&quot;", "&amp;lt;", "<skipped>"]
    + ["<skip-\nped>", "é.", "(x)", "'s", "٣.", "\x1c", "\u2003", "\ud800", "ΑΣ", "肿瘤"]
)
hostile = st.lists(piece, max_size=12).flatmap(
    lambda pieces: st.sampled_from(["", " ", "\n"]).map(lambda gap: gap.join(pieces))
)


def cases_of(pairs: list[tuple[str, str]]) -> list[Case]:
    return [Case(str(i), candidate, (reference,)) for i, (candidate, reference) in enumerate(pairs)]


def agree(metric: Metric, peer: BLEU | CHRF, pairs: list[tuple[str, str]]) -> None:
    """Each sentence's value and the corpus value are sacrebleu's."""
    scores = metric.measure(cases_of(pairs))
    want = [peer.sentence_score(candidate, [reference]).score for candidate, reference in pairs]
    assert [score.value for score in scores] == pytest.approx(want, abs=1e-9)
    sums = np.sum([score.statistics for score in scores], axis=0)
    corpus = peer.corpus_score([c for c, _ in pairs], [[r for _, r in pairs]]).score
    assert float(metric.combine(sums, np.array(len(pairs)))) == pytest.approx(corpus, abs=1e-9)


@pytest.mark.parametrize("effective", [True, False])
@pytest.mark.parametrize("smoothing", ["exp", "floor", "add-k", "none"])
def test_bleu_smoothing(smoothing: str, effective: bool) -> None:
    metric = Bleu(smoothing=smoothing, effective_order=effective)
    agree(metric, BLEU(smooth_method=smoothing, effective_order=effective), PAIRS)


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("tokenizer", ["13a", "intl", "char", "zh", "none"])
def test_bleu_tokenizers(tokenizer: str, lowercase: bool) -> None:
    peer = BLEU(tokenize=tokenizer, lowercase=lowercase, effective_order=True)
    agree(Bleu(tokenizer=tokenizer, lowercase=lowercase), peer, PAIRS)


@given(pairs=st.lists(st.tuples(hostile, hostile), min_size=1, max_size=4), lowercase=st.booleans())
def test_bleu_on_hostile_text(pairs: list[tuple[str, str]], lowercase: bool) -> None:
    agree(Bleu(lowercase=lowercase), BLEU(effective_order=True, lowercase=lowercase), pairs)


@given(text=st.one_of(hostile, st.text(alphabet="a1.,-'&; \n(é/\\^]~{", max_size=12)))
def test_words_piece_by_piece_are_the_tokenizers(text: str) -> None:
    lexicon = bleu_lexicon("13a", False)
    parted = [[cut[1:]] if cut[0] == " " else list(lexicon.split(cut)) for cut in lexicon.cut(text)]
    assert [word for words in parted for word in words] == BLEU().tokenizer(text.rstrip()).split()


def test_bleu_carries_sacrebleus_signature() -> None:
    peer = BLEU(effective_order=True, smooth_method="floor")
    peer.sentence_score("a", ["b"])
    fields = str(peer.get_signature()).replace("version:", "sacrebleu:").split("|")
    assert Bleu(smoothing="floor").signature.split("|")[1 : 1 + len(fields)] == fields


def test_corpus_bleu_is_vectorised_over_resamples() -> None:
    metric = Bleu()
    statistics = np.array([score.statistics for score in metric.measure(cases_of(PAIRS))])
    draws = np.array([[0, 1, 2], [3, 3, 1], [4, 4, 4]])
    got = metric.combine(statistics[draws].sum(axis=1), np.array([3, 3, 3]))
    for row, value in zip(draws.tolist(), got.tolist()):
        texts = [PAIRS[i] for i in row]
        want = BLEU(effective_order=True).corpus_score([c for c, _ in texts], [[r for _, r in texts]]).score
        assert value == pytest.approx(want, abs=1e-9)
    assert np.isnan(metric.combine(np.zeros((1, 10)), np.zeros(1)))[0]


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize(("characters", "words", "beta"), [(6, 0, 2), (6, 2, 2), (3, 1, 1), (1, 0, 3)])
def test_chrf(characters: int, words: int, beta: int, lowercase: bool) -> None:
    metric = Chrf(char_order=characters, word_order=words, beta=beta, lowercase=lowercase)
    peer = CHRF(char_order=characters, word_order=words, beta=beta, lowercase=lowercase)
    agree(metric, peer, PAIRS)


@given(pairs=st.lists(st.tuples(hostile, hostile), min_size=1, max_size=4))
def test_chrf_on_hostile_text(pairs: list[tuple[str, str]]) -> None:
    agree(Chrf(word_order=2), CHRF(word_order=2), pairs)


def test_chrf_with_many_references_takes_the_best_as_sacrebleu() -> None:
    references = ["no adenoma", "tubular adenoma seen", "adenoma"]
    (score,) = Chrf().score(make_cases(["tubular adenomas"], [references]))
    assert score.value == pytest.approx(CHRF().sentence_score("tubular adenomas", references).score, abs=1e-9)


def test_levenshtein_by_hand() -> None:
    cases = make_cases(["kitten sits", "same"], ["sitting sits", "same"])
    # kitten → sitting: 3 edits of 12 characters; as words, 1 of 2 differs
    assert [s.value for s in Levenshtein().score(cases)] == [1 - 3 / 12, 1.0]
    assert [s.value for s in Levenshtein(level="word").score(cases)] == [0.5, 1.0]
    assert Levenshtein().score(cases)[0].parts == {"edits": 3.0}


@given(
    candidate=st.text(min_size=1, max_size=20),
    reference=st.text(min_size=1, max_size=20),
    level=st.sampled_from(["char", "word"]),
)
def test_levenshtein_is_rapidfuzz(candidate: str, reference: str, level: str) -> None:
    (score,) = Levenshtein(level=level).measure([Case("1", candidate, (reference,))])
    ours, theirs = (candidate, reference) if level == "char" else (candidate.split(), reference.split())
    assert score.value == pytest.approx(Edits.normalized_similarity(ours, theirs), abs=1e-12)


@pytest.mark.parametrize("request_", ["levenshtein(lowercase=yes)", "chrf(lowercase=yes)", "bleu(lowercase=yes)"])
def test_case_counts_unless_lowered(request_: str) -> None:
    cases = make_cases(["NO TUMOUR SEEN HERE"], ["no tumour seen here"])
    lowered, plain = load_metric(request_), load_metric(request_.split("(")[0])
    assert lowered.score(cases)[0].value == pytest.approx(lowered.bounds[1])
    assert (plain.score(cases)[0].value or 0.0) < 0.5 * (plain.bounds[1] or 1.0)
    assert "case:lc" in lowered.signature and "case:mixed" in plain.signature


@pytest.mark.parametrize("name", ["bleu", "chrf", "levenshtein"])
def test_nfkc(name: str) -> None:
    cases = make_cases(["5 mm² ﬁbrous area"], ["5 mm2 fibrous area"])
    metric = load_metric(f"{name}(normalize=nfkc)")
    assert metric.score(cases)[0].value == pytest.approx(metric.bounds[1])
    assert "norm:nfkc" in metric.signature


@pytest.mark.parametrize(
    "wrong",
    ["bleu(smoothing=expp)", "bleu(tokenizer=spm)", "bleu(lowercase=2)", "bleu(smooth_value=x)"]
    + ["chrf(word_order=-1)", "chrf(char_order=1.5)", "levenshtein(level=line)", "chrf(normalize=nfd)"],
)
def test_wrong_settings_are_refused(wrong: str) -> None:
    with pytest.raises(MedassayError, match=r"is not (one of|yes or no|a (whole )?number of at least)"):
        load_metric(wrong)


def test_none_is_a_word_for_smoothing_and_tokenizer() -> None:
    metric = load_metric("bleu(smoothing=none,tokenizer=none)")
    assert "tok:none|smooth:none" in metric.signature


@pytest.mark.parametrize("name", ["rouge1", "bleu", "chrf", "meteor", "levenshtein"])
def test_metrics_travel_to_other_processes(name: str) -> None:
    metric = load_metric(name)
    cases = cases_of(PAIRS)
    assert pickle.loads(pickle.dumps(metric)).score(cases) == metric.score(cases)
