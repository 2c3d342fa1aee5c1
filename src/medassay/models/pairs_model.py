"""The pair model of a model set: one cross-encoder that reads two texts together and answers several questions.

Roles `nli` and `quality` are heads of it, so that a pair is read once for both. The layers are its own; the
embedding tables are the trunk's (`tables.py`). Its answers are plain numbers before softmax or sigmoid.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from medassay.errors import ModelError
from medassay.models.base import Matrix
from medassay.models.caching import RecentAnswers
from medassay.models.graphs import BUDGET, ModelSet, stack
from medassay.models.pairs import bert_frame, join_pair
from medassay.models.tables import Tables
from medassay.models.tokens import Tokens, batches

_PER_TOKEN = "flaws"
"""An output of the embedded graph with one number per token, which no role uses; all others have a few per pair."""

IdPair = tuple[tuple[int, ...], tuple[int, ...]]
PairHeads = dict[str, Matrix]
"""The numbers of each head for one pair, before softmax or sigmoid."""

_CACHED_PAIRS = 20_000


class PairsModel:
    """Reads pairs: each distinct one once, in batches of like length and bounded size."""

    def __init__(self, models: ModelSet, role: str) -> None:
        self.models = models
        settings = models.role(role)
        self.graph = str(settings["graph"])
        self.outputs: list[str] = list(settings["outputs"])
        self.heads = [name for name in self.outputs if name != _PER_TOKEN]
        self.limit = int(settings["max_tokens"])
        self.tables = Tables(models.file(str(settings["trunk"])))
        self.frame = bert_frame(*models.tokenizer.frame)
        self.cache: RecentAnswers[IdPair, PairHeads] = RecentAnswers(_CACHED_PAIRS)

    @property
    def room(self) -> int:
        """Tokens of both texts together that are read; the ends of longer pairs are not read."""
        return self.limit - len(self.frame)

    def run(self, pairs: Sequence[tuple[str, str]], head: str) -> Matrix:
        """One head's numbers, [pairs, size].

        Raises:
            ModelError: The model has no such head.
        """
        if head not in self.heads:
            raise ModelError(
                f"{self.models.folder}: the pair model has no head '{head}'; it has {', '.join(self.heads)}"
            )
        rows = [heads[head] for heads in self.read(pairs)]
        return np.stack(rows) if rows else np.zeros((0, 1), np.float32)

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text, without frame tokens."""
        return self.models.tokenizer(texts)

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[PairHeads]:
        """The numbers of every head for each pair of texts."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        ids = {text: tuple(tokens.ids) for text, tokens in zip(texts, self.tokens(texts))}
        return self.read_ids([(ids[first], ids[second]) for first, second in pairs])

    def read_ids(self, pairs: Sequence[IdPair]) -> list[PairHeads]:
        """The numbers of every head for each pair of token ids, given without frame tokens."""
        return self.cache.look_up(pairs, self._read)

    def _read(self, pairs: Sequence[IdPair]) -> list[PairHeads]:
        joined = [join_pair(first, second, self.frame, self.limit) for first, second in pairs]
        readings: dict[int, PairHeads] = {}
        for batch in batches([len(row) for row, _ in joined], BUDGET):
            hidden, mask = stack([self.tables.embed(*joined[i]) for i in batch])
            results = self.models.run(self.graph, {"hidden": hidden, "mask": mask})
            outputs = dict(zip(self.outputs, results, strict=True))
            for row, i in enumerate(batch):
                readings[i] = {head: outputs[head][row].copy() for head in self.heads}
        return [readings[i] for i in range(len(pairs))]


@lru_cache(maxsize=32)
def pairs_model(models: ModelSet, graph: str, role: str) -> PairsModel:
    """The pair model of a set, opened once: roles of the same graph share it and its cache."""
    return PairsModel(models, role)


def open_pairs(models: ModelSet, role: str) -> PairsModel:
    """The pair model behind a role, shared with the other roles that name the same graph."""
    graph = str(models.role(role)["graph"])
    first = next(name for name, settings in models.manifest["roles"].items() if settings.get("graph") == graph)
    return pairs_model(models, graph, first)
