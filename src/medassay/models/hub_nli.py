"""Role `nli` on transformers models: any sequence classifier whose labels are entailment, neutral, contradiction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from medassay.errors import ModelError
from medassay.models.base import Matrix
from medassay.models.hub import Network
from medassay.models.hub_labels import words_of
from medassay.models.hub_roles import _pair_frame
from medassay.models.nli import LABELS, Pair, softmax

_BEGINNINGS = ("entail", "neutral", "contradict")


class HubNli:
    """Premise–hypothesis pairs to three probabilities, in the order entailment, neutral, contradiction.

    The order of the outputs is read from the labels in config.json; nothing but the model speaks here (the
    embedded role also compares structures). A pair longer than the model reads is cut at each side's end.
    """

    def __init__(self, network: Network) -> None:
        self.network, self.name = network, network.name
        self.order = label_order(network.labels, str(network.folder.path))
        self.frame = _pair_frame(network)

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """[pairs, 3]; each distinct pair is run once."""
        distinct = list(dict.fromkeys(pairs))
        texts = list(dict.fromkeys(text for pair in distinct for text in pair))
        reads = dict(zip(texts, self.network.read(texts)))
        joined = [self._join(reads[a].tokens.ids, reads[b].tokens.ids) for a, b in distinct]
        made: dict[Pair, Matrix] = {}
        for batch, output, _ in self.network.run([ids for ids, _ in joined], [sides for _, sides in joined]):
            chances = softmax(output.logits.double().cpu().numpy())
            for i, row in zip(batch, chances):
                made[distinct[i]] = row[self.order]
        return np.array([made[pair] for pair in pairs], np.float32).reshape(len(pairs), len(LABELS))

    def _join(self, premise: Sequence[int], hypothesis: Sequence[int]) -> tuple[list[int], list[int]]:
        before, between, after = self.frame
        room = self.network.limit - len(before) - len(between) - len(after)
        first = min(len(premise), max(room // 2, room - len(hypothesis)))
        left, right = list(premise[:first]), list(hypothesis[: room - first])
        ids = [*before, *left, *between, *right, *after]
        return ids, [0] * (len(before) + len(left) + len(between)) + [1] * (len(right) + len(after))


def label_order(labels: Sequence[str], where: str) -> list[int]:
    """The place of entailment, neutral and contradiction among a classifier's outputs.

    >>> label_order(["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], "model")
    [2, 1, 0]
    """
    order = []
    for beginning in _BEGINNINGS:
        places = [i for i, label in enumerate(labels) if any(word.startswith(beginning) for word in words_of(label))]
        if len(places) != 1 or len(labels) != len(LABELS):
            raise ModelError(
                f"{where}: the role 'nli' needs a classifier with the three labels {', '.join(LABELS)} (found "
                f"{', '.join(labels[:8])}). Name them under id2label in its config.json"
            )
        order.append(places[0])
    return order
