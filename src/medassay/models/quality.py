"""Role `quality`: how good a candidate text is, given its reference, by the pair model's heads.

Pairs that fit are read whole, as in training. Longer ones are read as pairs of stretches that belong
together (`chunks.py`), and the answers are brought together: an error anywhere counts for fidelity, while
quality and shares of facts are means over the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from medassay.models.activations import sigmoid
from medassay.models.base import Matrix
from medassay.models.chunks import Chunk, Sentences, Unit, chunk_pairs, units
from medassay.models.graphs import ModelSet
from medassay.models.pairs_model import IdPair, PairReading, open_pairs

Pair = tuple[str, str]

SHARES = ("precision", "recall", "hallucination", "omission")
"""What the heads `facts` and `support` estimate: factual precision and recall, rates of invention and omission."""

STRETCH = 400
"""Tokens of both sides in a stretch of a long text: below the model's room, within what it was trained on."""

_LONGEST_UNIT = 150
_COPY = 8.0
"""The log-odds of a stretch that is the same on both sides."""
_EMPTY = -4.0
"""The log-odds of a stretch that one side lacks altogether: as unrelated text (0.02)."""
_SHARPNESS = 3.0


@dataclass(frozen=True, slots=True)
class Stretch:
    """A pair of stretches and what was said of it.

    logit: log-odds that the candidate's stretch is faithful (higher is better). flaws: for either side (reference,
    candidate) the log-odds of every token that it is wrong; empty where nothing was read.
    """

    chunk: Chunk
    logit: float
    flaws: tuple[Matrix, Matrix]


@dataclass(frozen=True, slots=True)
class PairJudgement:
    """A candidate's fidelity to its reference (0–1, higher is better) with the stretches behind it."""

    fidelity: float
    stretches: tuple[Stretch, ...]


class EmbeddedQuality:
    """Role `quality` of a model set; pairs are (reference, candidate) texts.

    `sentences` says where the sentences of a text lie (`language.sentences` knows a report's); without it they
    end where punctuation and lines do. It decides where long texts are cut and which sentences a judgement names.
    """

    def __init__(self, models: ModelSet) -> None:
        self.model = open_pairs(models, "quality")
        self.name = f"{models.name}/quality"
        self.heads = frozenset(self.model.outputs)

    def scores(self, pairs: Sequence[Pair], *, sentences: Sentences | None = None) -> Matrix:
        """Quality, 0–1, higher is better: 1 − weighed errors / sentences (Ben Abacha et al. 2023, section 4).

        A long text's is the mean of its stretches, each by its sentences.
        """
        return self._shares("quality", pairs, sentences)[:, 0]

    def facts(self, pairs: Sequence[Pair], *, sentences: Sentences | None = None) -> Matrix:
        """[pairs, 4] in the order of `SHARES`, 0–1, from reference and candidate.

        A long text's precision and hallucination are means by the candidate's sentences, recall and omission
        by the reference's.
        """
        return self._shares("facts", pairs, sentences)

    def support(self, pairs: Sequence[Pair]) -> Matrix:
        """[pairs, 4] in the order of `SHARES`, 0–1, from (source, candidate), as far as the model's room goes."""
        return sigmoid(self.model.run(pairs, "support")).astype(np.float32)

    def judge(self, pairs: Sequence[Pair], *, sentences: Sentences | None = None) -> list[PairJudgement]:
        """Fidelity of each candidate, with every stretch and the flaws of its tokens."""
        distinct = list(dict.fromkeys(pairs))
        chunks, readings = self._read(distinct, sentences)
        made = {}
        for pair, mine, read in zip(distinct, chunks, readings):
            stretches = tuple(_stretch(chunk, one) for chunk, one in zip(mine, read))
            made[pair] = PairJudgement(_together([stretch.logit for stretch in stretches]), stretches)
        return [made[pair] for pair in pairs]

    def chunks(self, pairs: Sequence[Pair], sentences: Sentences | None = None) -> list[list[Chunk]]:
        """The stretches that each pair is read in: one where the pair fits as it is."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        tokens = dict(zip(texts, self.model.tokens(texts)))
        parts = {text: units(text, tokens[text], _LONGEST_UNIT, sentences) for text in texts}
        out = []
        for reference, candidate in pairs:
            one, two = parts[reference], parts[candidate]
            if len(tokens[reference]) + len(tokens[candidate]) <= self.model.room:
                out.append([Chunk(tuple(one), tuple(two))])
                continue
            out.append(chunk_pairs(one, two, self.model.tables.word_vectors, STRETCH))
        return out

    def _read(
        self, pairs: Sequence[Pair], sentences: Sentences | None
    ) -> tuple[list[list[Chunk]], list[list[PairReading | None]]]:
        """The stretches of each pair and their readings; None where a side is empty."""
        chunks = self.chunks(pairs, sentences)
        asked = [ids for mine in chunks for chunk in mine if all(ids := _ids(chunk))]
        answers = iter(self.model.read_ids(asked))
        return chunks, [[next(answers) if all(_ids(chunk)) else None for chunk in mine] for mine in chunks]

    def _shares(self, head: str, pairs: Sequence[Pair], sentences: Sentences | None) -> Matrix:
        distinct = list(dict.fromkeys(pairs))
        chunks, readings = self._read(distinct, sentences)
        made = {}
        for pair, mine, read in zip(distinct, chunks, readings):
            rows = [
                _lacking(head, chunk) if one is None else sigmoid(one.heads[head]).astype(np.float32)
                for chunk, one in zip(mine, read)
            ]
            made[pair] = _mean(head, mine, np.stack(rows))
        return np.stack([made[pair] for pair in pairs]) if made else np.zeros((0, 4), np.float32)


def _ids(chunk: Chunk) -> IdPair:
    return _joined(chunk.reference), _joined(chunk.candidate)


def _joined(some: Sequence[Unit]) -> tuple[int, ...]:
    return tuple(i for unit in some for i in unit.ids)


def _stretch(chunk: Chunk, read: PairReading | None) -> Stretch:
    one, two = _ids(chunk)
    if read is None:
        return Stretch(chunk, _EMPTY, (np.zeros(0, np.float32), np.zeros(0, np.float32)))
    flaws = (read.flaws_of(0), read.flaws_of(1))
    return Stretch(chunk, _COPY if one == two else order_logit(read), flaws)


def order_logit(read: PairReading) -> float:
    """Log-odds of fidelity: the order head's number less the soft maximum of the flaws, as in training."""
    score = float(read.heads["fidelity"][0])
    if not len(read.flaws):
        return score
    top = float(read.flaws.max())
    worst = top + float(np.log(np.exp(read.flaws - top).sum()))
    return score - float(np.logaddexp(0.0, worst))


def _together(logits: Sequence[float]) -> float:
    """One fidelity of all stretches: their soft minimum, so that one error anywhere counts."""
    z = np.array(logits)
    least = z.min()
    soft = least - np.log(np.exp(-_SHARPNESS * (z - least)).sum()) / _SHARPNESS
    return float(1.0 / (1.0 + np.exp(-soft)))


def _lacking(head: str, chunk: Chunk) -> Matrix:
    """What a stretch is worth that one side lacks: nothing right, everything omitted or invented."""
    if head == "quality":
        return np.zeros(1, np.float32)
    return np.array([0.0, 0.0, float(not chunk.reference), float(not chunk.candidate)], np.float32)


def _mean(head: str, chunks: Sequence[Chunk], rows: Matrix) -> Matrix:
    """The mean over stretches, by the sentences that each number speaks of."""
    reference = np.array([len(chunk.reference) for chunk in chunks], np.float32)
    candidate = np.array([len(chunk.candidate) for chunk in chunks], np.float32)
    if head == "quality":
        weights = np.maximum(reference, candidate)[:, None]
    else:
        weights = np.stack([candidate, reference, candidate, reference], 1)
    made: Matrix = ((rows * weights).sum(0) / np.maximum(weights.sum(0), 1e-9)).astype(np.float32)
    return made
