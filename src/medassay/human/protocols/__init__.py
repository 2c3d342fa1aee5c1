"""The four protocols, by name. A protocol is one small module with a `PROTOCOL` and its wording file."""

from __future__ import annotations

from importlib import import_module

from medassay.errors import UnknownName, nearest
from medassay.human.protocols.base import Limit as Limit
from medassay.human.protocols.base import MarkKind as MarkKind
from medassay.human.protocols.base import Protocol as Protocol
from medassay.human.protocols.base import Question as Question
from medassay.human.protocols.base import WordCounts as WordCounts

PROTOCOLS = {
    "fact-counting": "medassay.human.protocols.fact_counting",
    "fact-categories": "medassay.human.protocols.fact_categories",
    "key-phrases": "medassay.human.protocols.key_phrases",
    "expert-scale": "medassay.human.protocols.expert_scale",
}


def load_protocol(name: str) -> Protocol:
    """The protocol of that name.

    >>> load_protocol("fact-counting").derived
    ('precision', 'recall', 'f_score', 'accuracy')
    """
    if name not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        raise UnknownName(f"protocol '{name}' is not known{nearest(name, PROTOCOLS)}. Protocols: {known}")
    protocol: Protocol = import_module(PROTOCOLS[name]).PROTOCOL
    return protocol
