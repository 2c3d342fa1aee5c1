"""Recipes that train the roles of a model set on a user's own material.

Everything here needs the extra ``train`` (torch, transformers, onnx); nothing here is imported when a
metric runs. `train_role` serves `medassay train ROLE`, `train_kge` the role `kge`.

========  ===============================================  =========================================
role      recipe                                           what it learns from
========  ===============================================  =========================================
ner       :func:`medassay.training.ner.train_ner`          annotated entities
re        :func:`medassay.training.relations.train_re`     annotated relations and assertions
align     :func:`medassay.training.align.train_align`      synonyms of concepts
expert    :func:`medassay.training.expert.train_expert`    report pairs with a 0–5 score
quality   :func:`medassay.training.pair_roles.train_quality`   text pairs with a quality of 0–1
nli       :func:`medassay.training.pair_roles.train_nli`   labelled premises and hypotheses
========  ===============================================  =========================================

`likelihood`, `image` and `kge` have recipes of their own kind (`likelihood.py`, `image.py`, `kge.py`). The
``paper`` preset (:mod:`medassay.training.paper`) repeats HARE's published settings on any encoder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from medassay.lazy import lazy_names

if TYPE_CHECKING:
    from medassay.training.command import train_role as train_role
    from medassay.training.kge import train_kge as train_kge

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "command": "train_role",
        "kge": "train_kge",
    },
)
