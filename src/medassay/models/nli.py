"""Role `nli` of a model set: reads premise and hypothesis together.

In the embedded set it is the reader that is behind `checker`, in sets trained by `medassay train nli` a pair model.
This is the neural model alone. `medassay.language.inference.load_nli` combines it with the structured
comparison of both statements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from medassay.models.activations import softmax
from medassay.models.base import Matrix
from medassay.models.graphs import ModelSet
from medassay.models.pairs_model import PairsModel, open_pairs
from medassay.models.reader import as_sentence, open_reader, suffix

LABELS = ("entailment", "neutral", "contradiction")
"""The order of the three probabilities."""

Pair = tuple[str, str]


class EmbeddedNli:
    """Entailment by the reader, or by the pair model, of a model set.

    settings: the manifest's entry of the role, with the weights that `language.inference` combines by.
    """

    def __init__(self, models: ModelSet, variant: str = "embedded") -> None:
        self.models = models
        self.settings = models.role("nli")
        self.name = f"{models.name}/nli{suffix(variant)}"
        self.judge = (
            self._by_pair_model(open_pairs(models, "nli")) if "graph" in self.settings else self._by_reader(variant)
        )

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """[pairs, 3] probabilities of entailment, neutral, contradiction of (premise, hypothesis) pairs.

        Each distinct pair is read once; the tails of a pair longer than the model's room are not read.
        """
        distinct = list(dict.fromkeys(pairs))
        chances = dict(zip(distinct, self.judge(distinct))) if distinct else {}
        return np.array([chances[pair] for pair in pairs], np.float32).reshape(len(pairs), len(LABELS))

    def _by_pair_model(self, model: PairsModel) -> Callable[[Sequence[Pair]], Matrix]:
        temperature = float(self.settings.get("temperature", 1.0))
        return lambda pairs: softmax(model.run(pairs, "nli") / temperature)

    def _by_reader(self, variant: str) -> Callable[[Sequence[Pair]], Matrix]:
        reader = open_reader(self.models, variant)

        def judge(pairs: Sequence[Pair]) -> Matrix:
            pairs = [(premise, as_sentence(hypothesis)) for premise, hypothesis in pairs]
            texts = list(dict.fromkeys(text for pair in pairs for text in pair))
            ids = {text: tuple(tokens.ids) for text, tokens in zip(texts, self.models.tokenizer(texts))}
            answers = reader.read([(ids[premise], ids[hypothesis]) for premise, hypothesis in pairs])
            return reader.probabilities(answers)

        return judge
