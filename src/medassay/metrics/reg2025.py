"""reg2025: the ranking score of the REG2025 challenge for generated pathology reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from medassay.cases import Case
from medassay.language.keywords import keywords
from medassay.metrics.base import Metric
from medassay.metrics.lexical import Bleu
from medassay.metrics.rouge import RougeL
from medassay.models import load
from medassay.models.base import Encoder
from medassay.scores import Score

OVERLAP, KEY, EMBEDDING = 0.15, 0.4, 0.3
"""Weights of ROUGE and of BLEU-4 each, of the keywords, and of the embeddings."""


class Reg2025(Metric):
    """0.15 (ROUGE + BLEU-4) + 0.4 KEY + 0.3 EMB; at most 1, higher is better.

    ROUGE: F1 of ROUGE-L. BLEU-4: sentence BLEU over 1- to 4-grams with exponential smoothing, 0 to 1. KEY: keywords in
    both texts / keywords in either (Jaccard). EMB: cosine of the texts' embeddings, −1 to 1. The weights are the
    challenge's; the keywords (`language/lexicons/keywords.tsv`) and, unless `models` names another, the encoder are
    ours, so values do not compare with the challenge's board. A pair without any keyword is unscored.

    Nothing in it knows negation: "no carcinoma" shares its keywords with "carcinoma".
    """

    name = "reg2025"
    summary = "REG2025 ranking score: ROUGE, BLEU-4, keywords and embeddings"
    defined = "REG2025 challenge, Evaluation: 0.15 (ROUGE + BLEU) + 0.4 KEY + 0.3 EMB"
    parts = ("rouge", "bleu", "key", "emb")
    bounds = (-EMBEDDING, 1.0)

    def __init__(self, *, models: str = "embedded", references: Literal["best", "mean"] = "best") -> None:
        super().__init__(references=references)
        self.encoder: Encoder = load("encoder", models)
        self.roles = (("encoder", models),)
        self.rouge = RougeL()
        self.bleu = Bleu(effective_order=False)

    def settings(self) -> Mapping[str, object]:
        return {"rouge": "L", "bleu": "4", "keywords": "medassay-1", "encoder": self.encoder.name}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        texts = list(dict.fromkeys(text for case in cases for text in (case.candidate, case.references[0])))
        vectors = dict(zip(texts, self.encoder.embed(texts)))
        keywords_of = {text: keywords(text) for text in texts}
        overlaps = zip(self.rouge.measure(cases), self.bleu.measure(cases))
        scores = []
        for case, (rouge, bleu) in zip(cases, overlaps):
            candidate, reference = case.candidate, case.references[0]
            either = keywords_of[candidate].keys() | keywords_of[reference].keys()
            if not either:
                scores.append(Score.none("neither text has a keyword"))
                continue
            parts = {
                "rouge": rouge.value or 0.0,
                "bleu": (bleu.value or 0.0) / 100,
                "key": len(keywords_of[candidate].keys() & keywords_of[reference].keys()) / len(either),
                "emb": _cosine(vectors[candidate], vectors[reference]),
            }
            value = OVERLAP * (parts["rouge"] + parts["bleu"]) + KEY * parts["key"] + EMBEDDING * parts["emb"]
            scores.append(Score(value, parts=parts, evidence=_compared(keywords_of[candidate], keywords_of[reference])))
        return scores


def _cosine(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.dot(a, b)) / length if length else 0.0


def _compared(candidate: Mapping[str, tuple[int, int]], reference: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """The keywords that both texts have, and that only one has, with their spans for the report page."""
    both = candidate.keys() & reference.keys()
    sentences = [
        {
            "side": side, "start": start, "end": end, "score": float(word in both),
            "note": f"keyword “{word}” " + ("in both" if word in both else f"only in the {side}"),
        }
        for side, words in (("candidate", candidate), ("reference", reference))
        for word, (start, end) in words.items()
    ]  # fmt: skip
    return {
        "shared": sorted(both),
        "only_candidate": sorted(candidate.keys() - both),
        "only_reference": sorted(reference.keys() - both),
        "sentences": sentences,
    }
