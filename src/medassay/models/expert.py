"""Role `expert`: an estimate of the expert's 0–5 score of a candidate report, given its reference.

In the embedded set it is a head of the reader; in sets trained by `medassay train expert`, a pair model on the trunk.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from medassay.models.activations import sigmoid, softmax
from medassay.models.base import Judgement, Matrix
from medassay.models.graphs import BUDGET, ModelSet, stack
from medassay.models.pairs import bert_frame, join_pair
from medassay.models.reader import open_reader
from medassay.models.tokens import CLS, SEP, batches

HIGHEST = 5.0

Pair = tuple[str, str]


class ReaderExpert:
    """The estimate of the reader's head, on a straight line fitted to held-out scores."""

    def __init__(self, models: ModelSet) -> None:
        self.models = models
        self.settings = models.role("expert")
        self.name = f"{models.name}/expert"
        self.reader = open_reader(models)

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """(reference, candidate) pairs to judgements; each distinct pair is judged once."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        ids = {text: tuple(tokens.ids) for text, tokens in zip(texts, self.models.tokenizer(texts))}
        answers = self.reader.read([(ids[reference], ids[candidate]) for reference, candidate in pairs])
        return [self._judgement(answer.expert) for answer in answers]

    def _judgement(self, logit: float) -> Judgement:
        line = self.settings["line"]
        raw = HIGHEST * float(sigmoid(np.array(logit)))
        score = min(max(line["slope"] * raw + line["shift"], 0.0), HIGHEST)
        half = line["half_width"]
        return Judgement(score, max(score - half, 0.0), min(score + half, HIGHEST))


class TrunkExpert:
    """The mean over the classes of a pair model on the trunk."""

    def __init__(self, models: ModelSet) -> None:
        self.models = models
        self.settings = models.role("expert")
        self.name = f"{models.name}/expert"

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """(reference, candidate) pairs to judgements; each distinct pair is judged once."""
        distinct = list(dict.fromkeys(pairs))
        texts = list(dict.fromkeys(text for pair in distinct for text in pair))
        tokens = dict(zip(texts, self.models.tokenizer(texts)))
        limit = int(self.settings["max_tokens"])
        frame = bert_frame(CLS, SEP)
        rows = [join_pair(tokens[r].ids, tokens[c].ids, frame, limit) for r, c in distinct]
        judged: dict[Pair, Judgement] = {}
        for batch in batches([len(ids) for ids, _ in rows], BUDGET):
            hidden, mask = stack(self.models.hidden([tuple(rows[i][0]) for i in batch], [rows[i][1] for i in batch]))
            bins, _ = self.models.run(self.settings["graph"], {"hidden": hidden, "mask": mask})
            for i, chances in zip(batch, softmax(bins)):
                judged[distinct[i]] = self._judgement(chances)
        return [judged[pair] for pair in pairs]

    def _judgement(self, chances: Matrix) -> Judgement:
        bins = np.asarray(self.settings["bins"], np.float64)
        raw = float(chances @ bins)
        spread = float(np.sqrt(max(float(chances @ (bins - raw) ** 2), 0.0)))
        calibration, interval = self.settings["calibration"], self.settings["interval"]
        score = min(max(calibration["slope"] * raw + calibration["shift"], 0.0), HIGHEST)
        half = interval["scaled_half_width"] * max(interval["floor"], spread)
        return Judgement(score, max(score - half, 0.0), min(score + half, HIGHEST))


def open_expert(models: ModelSet) -> ReaderExpert | TrunkExpert:
    """The estimate that a set has."""
    return TrunkExpert(models) if "graph" in models.role("expert") else ReaderExpert(models)
