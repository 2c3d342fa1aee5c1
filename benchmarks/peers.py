"""ROUGE, BLEU, chrF and BERTScore against torchmetrics, as its functions are called on a list of texts.

torchmetrics gives corpus means for most of these, so the comparison is of means. Its BERTScore runs the same
weights as ours: the embedded trunk, written out as a transformers model.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from benchmarks.figures import Figure, seconds
from benchmarks.texts import pairs
from medassay.cases import Case
from medassay.metrics.registry import load_metric, load_metrics
from medassay.scores import Score

PAIRS, WORDS = 300, 60
EMBEDDED_PAIRS, ALONE = 200, 8


def run() -> Iterator[Figure]:
    """Seconds of both, their ratio, and the difference between the means."""
    missing = [name for name in ("torchmetrics", "torch", "transformers", "onnx") if find_spec(name) is None]
    if missing:
        yield Figure("torchmetrics", f"not measured: {', '.join(missing)} not installed", "")
        return
    made = pairs(PAIRS, WORDS)
    candidates, references = [c for c, _ in made], [r for _, r in made]
    cases = [Case(str(i), c, (r,)) for i, (c, r) in enumerate(made)]
    for what, request, peer, scale in _contests(candidates, references):
        metrics = load_metrics(request)
        got: list[float] = []
        want: list[float] = []
        ours = seconds(lambda: got.extend(_mean(metric.score(cases)) for metric in metrics))  # noqa: B023
        theirs = seconds(lambda: want.extend(peer()))  # noqa: B023
        worst = max(abs(a / scale - b) for a, b in zip(got, want))
        yield Figure(
            f"{what}, {PAIRS:,} pairs",
            f"{ours:.2f} s, torchmetrics {theirs:.2f} s: {theirs / ours:.1f}×, means differ by {worst:.0e}",
            "",
        )
    yield from _bertscore(candidates[:EMBEDDED_PAIRS], references[:EMBEDDED_PAIRS], cases[:EMBEDDED_PAIRS])


def _contests(
    candidates: list[str], references: list[str]
) -> Iterator[tuple[str, str, Callable[[], list[float]], float]]:
    from torchmetrics.functional.text import chrf_score, rouge_score, sacre_bleu_score

    kinds = ("rouge1", "rouge2", "rougeL")

    def rouge() -> list[float]:
        found = rouge_score(candidates, references, rouge_keys=kinds)
        return [float(found[f"{kind}_fmeasure"]) for kind in kinds]

    def sentence_bleu() -> list[float]:
        each = [float(sacre_bleu_score([c], [[r]])) for c, r in zip(candidates, references)]
        return [sum(each) / len(each)]

    def chrf() -> list[float]:
        _, each = chrf_score(candidates, [[r] for r in references], n_word_order=0, return_sentence_level_score=True)
        return [float(each.mean())]

    yield "ROUGE-1, 2, L", ",".join(kinds), rouge, 1
    yield "BLEU by sentence (theirs without effective order)", "bleu", sentence_bleu, 100
    yield "chrF", "chrf", chrf, 100


def _bertscore(candidates: list[str], references: list[str], cases: list[Case]) -> Iterator[Figure]:
    from torchmetrics.functional.text import bert_score
    from transformers import AutoModel, AutoTokenizer

    from benchmarks.bertscore import write_trunk

    metric = load_metric("bertscore")
    metric.score(cases[:4])
    made: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        layers = write_trunk(Path(folder))
        opened = {
            "model": AutoModel.from_pretrained(folder),
            "user_tokenizer": AutoTokenizer.from_pretrained(folder),
            "user_forward_fn": lambda model, batch: model(
                batch["input_ids"], batch["attention_mask"], output_hidden_states=True
            ).hidden_states[layers],
        }

        def peer(some: slice) -> list[float]:
            found = bert_score(candidates[some], references[some], device="cpu", **opened)["f1"]
            return [float(one) for one in found.reshape(-1)]

        # torchmetrics sorts a batch by length and puts it back by the order of sorting, not by its inverse, so in a
        # batch texts meet the wrong partners: agreement is looked at pair by pair, time on the whole.
        ours = [score.value or 0.0 for score in metric.score(cases[:ALONE])]
        apart = max(abs(peer(slice(i, i + 1))[0] - value) for i, value in enumerate(ours))
        took = seconds(lambda: made.append(_mean(metric.score(cases))))
        whole: list[float] = []
        theirs = seconds(lambda: whole.extend(peer(slice(None))))
    if apart > 1e-3:
        raise RuntimeError(f"torchmetrics' BERTScore differs by {apart:.2g} pair by pair: nothing to compare")
    off = abs(sum(whole) / len(whole) - made[0])
    yield Figure(
        f"embedded BERTScore, {len(cases)} pairs",
        f"{took:.2f} s, torchmetrics {theirs:.2f} s: {theirs / took:.1f}×; pair by pair they differ by {apart:.0e} at "
        f"most; as a batch torchmetrics mixes up partners (its mean is off by {off:.2f})",
        "",
    )


def _mean(scores: Sequence[Score]) -> float:
    values = [score.value or 0.0 for score in scores]
    return sum(values) / len(values)
