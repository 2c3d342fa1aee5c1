"""The recipes that made the embedded models, and that train the same roles on a user's own annotation.

Everything here needs the extra ``train`` (torch, transformers, onnx); nothing here is imported when a
metric runs. Each recipe is one file with one public function that takes plain arguments:

========  ===================================  =====================================================
role      function                             what it learns from
========  ===================================  =====================================================
base      :func:`medassay.training.base.adapt_base`        plain report text (masked words)
ner       :func:`medassay.training.ner.train_ner`          annotated entities
re        :func:`medassay.training.relations.train_re`     annotated relations and assertions
align     :func:`medassay.training.align.train_align`      synonyms of concepts
expert    :func:`medassay.training.expert.train_expert`    report pairs with a 0–5 score
========  ===================================  =====================================================

The ``paper`` preset (:mod:`medassay.training.paper`) repeats HARE's published settings on any encoder.
"""
