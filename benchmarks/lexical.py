"""ROUGE, BLEU, chrF and METEOR against rouge-score, sacrebleu and nltk, sentence by sentence.

Both sides see the same slices of the same pairs in turn; the peers are used as fast as their interface
allows (one scorer object for all pairs). The ratio is their time over ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.figures import Figure, seconds
from benchmarks.texts import pairs
from medassay.cases import Case
from medassay.metrics.registry import load_metrics

PAIRS = 6_000
WORDS = 60
_SLICES = 4

Values = list[list[float]]
Peer = Callable[[str, str], list[float]]


def _rouge(stem: bool) -> Peer:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=stem)
    return lambda candidate, reference: [s.fmeasure for s in scorer.score(reference, candidate).values()]


def _rouge_lsum() -> Peer:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeLsum"])
    return lambda candidate, reference: [scorer.score(reference, candidate)["rougeLsum"].fmeasure]


def _bleu() -> Peer:
    from sacrebleu.metrics.bleu import BLEU

    scorer = BLEU(effective_order=True)
    return lambda candidate, reference: [scorer.sentence_score(candidate, [reference]).score]


def _chrf() -> Peer:
    from sacrebleu.metrics.chrf import CHRF

    scorer = CHRF()
    return lambda candidate, reference: [scorer.sentence_score(candidate, [reference]).score]


def _meteor() -> Peer:
    from nltk.translate.meteor_score import single_meteor_score

    from medassay.metrics.meteor import tokens

    class NoSynonyms:
        def synsets(self, word: str) -> list[object]:
            return []

    none = NoSynonyms()
    return lambda candidate, reference: [single_meteor_score(tokens(reference), tokens(candidate), wordnet=none)]


CONTESTS: list[tuple[str, str, str, Callable[[], Peer], float | None]] = [
    ("ROUGE-1, 2, L", "rouge-score", "rouge1,rouge2,rougeL", lambda: _rouge(False), 5),
    (
        "ROUGE-1, 2, L stemmed",
        "rouge-score",
        "rouge1(stem=yes),rouge2(stem=yes),rougeL(stem=yes)",
        lambda: _rouge(True),
        5,
    ),
    ("ROUGE-Lsum", "rouge-score", "rougeLsum", _rouge_lsum, 5),
    ("BLEU", "sacrebleu", "bleu", _bleu, 5),
    ("chrF", "sacrebleu", "chrf", _chrf, None),
    ("METEOR (exact, stem)", "nltk", "meteor(synonyms=no)", _meteor, None),
]


def run() -> Iterator[Figure]:
    """Each contest's times, ratio and largest difference between values."""
    made = pairs(PAIRS, WORDS)
    cases = [Case(str(i), candidate, (reference,)) for i, (candidate, reference) in enumerate(made)]
    for what, peer_name, request, make_peer, goal in CONTESTS:
        metrics = load_metrics(request)
        peer = make_peer()
        ours = theirs = worst = 0.0
        for k in range(_SLICES):
            some = cases[k * PAIRS // _SLICES : (k + 1) * PAIRS // _SLICES]
            got: Values = []
            want: Values = []
            ours += seconds(lambda: got.extend([s.value or 0.0 for s in m.score(some)] for m in metrics))  # noqa: B023
            theirs += seconds(lambda: want.extend(peer(c.candidate, c.references[0]) for c in some))  # noqa: B023
            worst = max(worst, *(abs(got[m][i] - v) for i, row in enumerate(want) for m, v in enumerate(row)))
        ratio = theirs / ours
        yield Figure(
            f"{what}, {PAIRS:,} pairs",
            f"{ours:6.2f} s, {peer_name} {theirs:6.2f} s: {ratio:5.1f}×, largest difference {worst:.0e}",
            f"{goal:g}×, 1e-9" if goal else "1e-9",
            worst <= 1e-9 and (goal is None or ratio >= goal),
        )
