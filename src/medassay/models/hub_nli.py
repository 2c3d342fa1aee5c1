"""Role `nli` on transformers models: any sequence classifier whose labels are entailment, neutral, contradiction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from medassay.errors import ModelError
from medassay.models.activations import softmax
from medassay.models.base import Matrix
from medassay.models.hub import Network
from medassay.models.hub_labels import words_of
from medassay.models.nli import LABELS, Pair

_BEGINNINGS = ("entail", "neutral", "contradict")


class HubNli:
    """Premise–hypothesis pairs to three probabilities, in the order entailment, neutral, contradiction.

    The order of the outputs is read from the labels in config.json; a pair longer than the model reads is cut at
    each side's end.
    """

    def __init__(self, network: Network) -> None:
        self.network, self.name = network, network.name
        self.order = label_order(network.labels, str(network.folder.path))

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """[pairs, 3]; each distinct pair is run once."""
        return softmax(self.network.pair_logits(pairs))[:, self.order].astype(np.float32)


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
