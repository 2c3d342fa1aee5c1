"""Role `quality`: how good a candidate text is, given its reference, by a head of the pair model.

Pairs that fit the model are read whole, as in training. Longer pairs are cut into aligned chunks (`chunks.py`), and
their quality is the mean over the chunks, weighted by sentences.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from medassay.models.activations import sigmoid
from medassay.models.base import Matrix
from medassay.models.chunks import Chunk, Sentences, Unit, chunk_pairs, units
from medassay.models.graphs import ModelSet
from medassay.models.pairs_model import IdPair, open_pairs

Pair = tuple[str, str]

CHUNK_TOKENS = 400
"""Tokens of both sides in a chunk of a long text: below the model's limit, within what it was trained on."""

_LONGEST_UNIT = 150
_HEAD = "quality"


class EmbeddedQuality:
    """Role `quality` of a model set; pairs are (reference, candidate) texts."""

    def __init__(self, models: ModelSet) -> None:
        self.model = open_pairs(models, "quality")
        self.name = f"{models.name}/quality"

    def scores(self, pairs: Sequence[Pair], *, sentences: Sentences | None = None) -> Matrix:
        """Quality, 0–1, higher is better: 1 − weighted errors / sentences (Ben Abacha et al. 2023, section 4).

        The quality of a long text is the mean of its chunks, weighted by their sentences. A chunk that one side lacks
        counts as 0.

        Args:
            sentences: where the sentences of a text lie (`language.sentences` knows those of a report). It decides
                where long texts are cut; None: sentences end at punctuation and line ends.

        Returns:
            One number per pair; each distinct pair is read once.
        """
        distinct = list(dict.fromkeys(pairs))
        chunks = self._chunks(distinct, sentences)
        id_pairs = [[_chunk_ids(chunk) for chunk in pair_chunks] for pair_chunks in chunks]
        answers = iter(self.model.read_ids([ids for pair_ids in id_pairs for ids in pair_ids if all(ids)]))
        qualities: dict[Pair, float] = {}
        for pair, pair_chunks, pair_ids in zip(distinct, chunks, id_pairs):
            rows = [sigmoid(next(answers)[_HEAD]) if all(ids) else np.zeros(1) for ids in pair_ids]
            qualities[pair] = _weighted_mean(pair_chunks, np.stack(rows).astype(np.float32))
        return np.array([qualities[pair] for pair in pairs], np.float32)

    def _chunks(self, pairs: Sequence[Pair], sentences: Sentences | None) -> list[list[Chunk]]:
        """The chunks that each pair is read in: a single one where the whole pair fits."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        tokens = dict(zip(texts, self.model.tokens(texts)))
        units_of = {text: units(text, tokens[text], _LONGEST_UNIT, sentences) for text in texts}
        chunks = []
        for pair in pairs:
            reference, candidate = (units_of[text] for text in pair)
            if sum(len(tokens[text]) for text in pair) <= self.model.room:
                chunks.append([Chunk(tuple(reference), tuple(candidate))])
            else:
                chunks.append(chunk_pairs(reference, candidate, self.model.tables.word_vectors, CHUNK_TOKENS))
        return chunks


def _chunk_ids(chunk: Chunk) -> IdPair:
    return _joined_ids(chunk.reference), _joined_ids(chunk.candidate)


def _joined_ids(parts: Sequence[Unit]) -> tuple[int, ...]:
    return tuple(i for unit in parts for i in unit.ids)


def _weighted_mean(chunks: Sequence[Chunk], qualities: Matrix) -> float:
    """The mean quality of chunks; the longer side of a chunk, in sentences, is its weight."""
    sentences = [max(len(chunk.reference), len(chunk.candidate)) for chunk in chunks]
    weights = np.array(sentences, np.float32)[:, None]
    return float(((qualities * weights).sum(0) / np.maximum(weights.sum(0), 1e-9))[0])
