"""The pair model of a model set: one cross-encoder that reads two texts together and answers several questions.

Roles `nli` and `quality` are heads of it, so that a pair is read once for both. The layers are its own; the
embedding tables are the trunk's (`tables.py`). Its answers are plain numbers before softmax or sigmoid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from medassay.errors import ModelError
from medassay.models.base import Matrix
from medassay.models.caching import RecentAnswers
from medassay.models.graphs import BUDGET, ModelSet, stack
from medassay.models.pairs import bert_frame, join_pair
from medassay.models.tables import Tables
from medassay.models.tokens import Tokens, batches

FLAWS = "flaws"
"""The output with one number per token; all others have a few numbers per pair."""

IdPair = tuple[tuple[int, ...], tuple[int, ...]]

_CACHED_PAIRS = 20_000


@dataclass(frozen=True, slots=True)
class PairReading:
    """What the model says of one pair, before softmax or sigmoid.

    heads: the numbers of each head. flaws: a number for each token of the row, frame tokens included; empty
    where the model has none. first, second: tokens of either text that were read; the row is
    [CLS] first [SEP] second [SEP].
    """

    heads: dict[str, Matrix]
    flaws: Matrix
    first: int
    second: int

    def flaws_of(self, side: int) -> Matrix:
        """The flaws of the first (0) or second (1) text's tokens."""
        start = 1 if side == 0 else self.first + 2
        return self.flaws[start : start + (self.second if side else self.first)]


class PairsModel:
    """Reads pairs: each distinct one once, in batches of like length and bounded size."""

    def __init__(self, models: ModelSet, role: str) -> None:
        self.models = models
        settings = models.role(role)
        self.graph = str(settings["graph"])
        self.outputs: list[str] = list(settings["outputs"])
        self.limit = int(settings["max_tokens"])
        self.tables = Tables(models.file(str(settings["trunk"])))
        self.frame = bert_frame(*models.tokenizer.frame)
        self.cache: RecentAnswers[IdPair, PairReading] = RecentAnswers(_CACHED_PAIRS)

    @property
    def room(self) -> int:
        """Tokens of both texts together that are read; of longer pairs the tails are not."""
        return self.limit - len(self.frame)

    def run(self, pairs: Sequence[tuple[str, str]], head: str) -> Matrix:
        """One head's numbers, [pairs, size]."""
        if head not in self.outputs or head == FLAWS:
            known = ", ".join(name for name in self.outputs if name != FLAWS)
            raise ModelError(f"{self.models.folder}: the pair model has no head '{head}'; it has {known}")
        rows = [reading.heads[head] for reading in self.read(pairs)]
        return np.stack(rows) if rows else np.zeros((0, 1), np.float32)

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text, without frame tokens."""
        return self.models.tokenizer(texts)

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[PairReading]:
        """Everything the model says of each pair."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        ids = {text: tuple(one.ids) for text, one in zip(texts, self.tokens(texts))}
        return self.read_ids([(ids[first], ids[second]) for first, second in pairs])

    def read_ids(self, pairs: Sequence[IdPair]) -> list[PairReading]:
        """The same for pairs of token ids, without frame tokens."""
        return self.cache.look_up(pairs, self._read)

    def _read(self, pairs: Sequence[IdPair]) -> list[PairReading]:
        joined = [join_pair(first, second, self.frame, self.limit) for first, second in pairs]
        out: dict[int, PairReading] = {}
        for batch in batches([len(row) for row, _ in joined], BUDGET):
            hidden, mask = stack([self.tables.embed(*joined[i]) for i in batch])
            made = self.models.run(self.graph, {"hidden": hidden, "mask": mask})
            answers = dict(zip(self.outputs, made, strict=True))
            flaws = answers.pop(FLAWS, None)
            for k, i in enumerate(batch):
                row, side = joined[i]
                first = side.count(0) - 2
                heads = {name: values[k].copy() for name, values in answers.items()}
                spots = flaws[k, : len(row)].copy() if flaws is not None else np.zeros(0, np.float32)
                out[i] = PairReading(heads, spots, first, len(row) - first - 3)
        return [out[i] for i in range(len(pairs))]


@lru_cache(maxsize=32)
def pairs_model(models: ModelSet, graph: str, role: str) -> PairsModel:
    """The pair model of a set, opened once: roles of the same graph share it and its cache."""
    return PairsModel(models, role)


def open_pairs(models: ModelSet, role: str) -> PairsModel:
    """The pair model behind a role, shared with the other roles that name the same graph."""
    graph = str(models.role(role)["graph"])
    first = next(name for name, one in models.manifest["roles"].items() if one.get("graph") == graph)
    return pairs_model(models, graph, first)
