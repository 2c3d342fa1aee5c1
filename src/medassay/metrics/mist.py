"""MIST: do both texts speak of the same or of related medical concepts?

Ben Abacha et al., "An Investigation of Evaluation Methods in Automatic Medical Note Generation", 2023, section
4.1. Concepts are found in both texts and compared by their vectors, which were learnt from a knowledge graph.
MIST-Comb1 and MIST-Comb2 (section 4.4) join it with ROUGE-1 recall and BERTScore or BLEURT.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from medassay.cases import Case
from medassay.language.assertion import by_rule
from medassay.language.checks import problem
from medassay.language.mentions import Mention, Names, mentions, names_of
from medassay.metrics.base import Floats, Metric, f1
from medassay.metrics.ensemble import ZMean
from medassay.models import for_metric, load
from medassay.models.kge import ConceptVectors
from medassay.scores import Score
from medassay.spans import Span

MATCHED_FROM = 0.7
"""Similarity from which the report page calls a concept matched. Only the page uses it; the number has no threshold."""

_NOTES = "Ben Abacha et al., Evaluation Methods in Automatic Medical Note Generation, 2023"
_TYPES = {
    "MONDO": "diagnosis",
    "DX": "diagnosis",
    "UBERON": "site",
    "SITE": "site",
    "MARKER": "marker",
    "DRUG": "drug",
    "PROCEDURE": "procedure",
    "MEASURE": "measurement",
    "SOCIAL": "habit",
    "KIN": "kin",
    "HP": "finding",
    "FINDING": "finding",
    "CL": "cell",
}


@dataclass(slots=True)
class TextConcept:
    """A concept of a text: its id (or, where it has none, its name), and the spans that name it."""

    id: str
    name: str
    assertion: str
    spans: list[tuple[int, int]] = field(default_factory=list)

    @property
    def type(self) -> str:
        """The kind of concept, for the page."""
        return _TYPES.get(self.id.partition(":")[0], "concept")


class Mist(Metric):
    """MIST (section 4.1): how well the reference's concepts are met by the candidate's; higher is better.

    recall, the default: the mean over the reference's concepts of the best cosine with any concept of the
    candidate (1/|R| Σ_{r∈R} max_{c∈S} cos); −1 to 1, 1 where every concept is there. printed: the formula as it
    stands in the paper, 1/|R| Σ_{c∈S} max_{r∈R} cos, which sums over the candidate and divides by the
    reference's count, so that it grows with the length of the candidate and has no bound. Parts: recall, precision
    (the same with the sides exchanged) and their F1.

    A concept counts once however often it is named. One without a vector meets only itself (1), nothing else (0).
    negation: a concept that one text asserts and the other denies counts 0 instead of its cosine.
    models: where the concepts' vectors come from: embedded, or a folder made by `medassay train kge`.

    Unscored where the reference names no concept, or a text is not English; 0 where the candidate names none.
    """

    name = "mist"
    summary = "medical concepts of the reference met by those of the candidate, by knowledge-graph vectors"
    defined = f"{_NOTES}, section 4.1"
    parts = ("precision", "recall", "f1")
    bounds: tuple[float | None, float | None] = (-1.0, 1.0)

    def __init__(
        self,
        *,
        models: str = "embedded",
        variant: Literal["recall", "printed"] = "recall",
        negation: bool = False,
        references: Literal["best", "mean"] = "best",
    ) -> None:
        super().__init__(references=references)
        self.variant = variant
        self.negation = negation
        self.vectors: ConceptVectors = load("kge", models)
        self.roles = (("kge", models),)
        if self.variant == "printed":
            self.bounds = (None, None)

    def settings(self) -> Mapping[str, object]:
        return {
            "variant": self.variant,
            "negation": self.negation,
            "models": self.vectors.name,
            "linker": "own" if self.names else terminology_hash(),
        }

    @cached_property
    def names(self) -> Names | None:
        """The names to look for, where the vectors came with a terminology."""
        terms = self.vectors.terms
        return None if terms is None else names_of(terms.names, terms.ids, terms.labels)

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        texts = dict.fromkeys(text for case in cases for text in (case.candidate, case.references[0]))
        unfit = {text: problem(text) for text in texts}
        read = {text: [] if unfit[text] else self.concepts(text) for text in texts}
        scores = []
        for case in cases:
            sides = {"reference": case.references[0], "candidate": case.candidate}
            reason = next((f"{side} {unfit[text]}" for side, text in sides.items() if unfit[text]), None)
            if reason:
                scores.append(Score.none(reason))
            else:
                scores.append(self._score(read[case.candidate], read[case.references[0]], evidence))
        return scores

    def concepts(self, text: str) -> list[TextConcept]:
        """The concepts of a text in the order in which they are first named, each once.

        Where negation counts, one that is both asserted and denied stands there as both.
        """
        concept_mentions = mentions(text, self.names)
        assertions = [verdict.assertion for verdict in by_rule(text, [_span(mention) for mention in concept_mentions])]
        concepts: dict[tuple[str, bool], TextConcept] = {}
        for mention, assertion in zip(concept_mentions, assertions):
            identity = mention.id or mention.name.lower()
            denied = self.negation and assertion == "absent"
            concept = concepts.setdefault((identity, denied), TextConcept(identity, mention.name, assertion))
            concept.spans.append((mention.start, mention.end))
        return list(concepts.values())

    def similarities(self, candidate: Sequence[TextConcept], reference: Sequence[TextConcept]) -> Floats:
        """[reference, candidate] cosines: 1 for the same concept, 0 for different ones that have no vector."""
        ids = list(dict.fromkeys(concept.id for concept in (*reference, *candidate)))
        row_of = {identity: i for i, identity in enumerate(ids)}
        known = [identity for identity in ids if identity in self.vectors]
        cosines = np.zeros((len(ids), len(ids)))
        if known:
            known_rows = np.array([row_of[identity] for identity in known])
            vectors = self.vectors.vectors(known).astype(np.float64)
            cosines[np.ix_(known_rows, known_rows)] = vectors @ vectors.T
        np.fill_diagonal(cosines, 1.0)
        selected: Floats = np.clip(cosines, -1.0, 1.0)[
            np.ix_([row_of[concept.id] for concept in reference], [row_of[concept.id] for concept in candidate])
        ]
        return selected

    def _score(self, candidate: Sequence[TextConcept], reference: Sequence[TextConcept], evidence: bool) -> Score:
        if not reference:
            return Score.none("no medical concept found in the reference")
        if not candidate:
            parts = {"precision": 0.0, "recall": 0.0, "f1": 0.0}
            shown = self._evidence(candidate, reference, np.zeros((len(reference), 0))) if evidence else {}
            return Score(0.0, parts=parts, evidence=shown)
        plain = self.similarities(candidate, reference)
        clash = self._clashes(candidate, reference)
        met = np.where(clash, 0.0, plain)
        recall, precision = float(met.max(axis=1).mean()), float(met.max(axis=0).mean())
        printed = float(met.max(axis=0).sum()) / len(reference)
        return Score(
            recall if self.variant == "recall" else printed,
            parts={"precision": precision, "recall": recall, "f1": f1(precision, recall)},
            evidence=self._evidence(candidate, reference, plain) if evidence else {},
        )

    def _clashes(self, candidate: Sequence[TextConcept], reference: Sequence[TextConcept]) -> Any:
        """[reference, candidate]: whether one asserts and the other denies; never, where negation does not count."""
        ours = np.array([concept.assertion == "absent" for concept in candidate], bool)
        theirs = np.array([concept.assertion == "absent" for concept in reference], bool)
        return (theirs[:, None] != ours[None]) & self.negation

    def _evidence(
        self, candidate: Sequence[TextConcept], reference: Sequence[TextConcept], plain: Floats
    ) -> Mapping[str, Any]:
        """Every mention of a concept with its status, and the best partner of each concept."""
        clash = self._clashes(candidate, reference)
        best = np.where(clash, 0.0, plain)
        sides: dict[str, list[dict[str, Any]]] = {"candidate": [], "reference": []}
        first: dict[tuple[str, int], int] = {}
        for side, concepts, table, against, lost in (
            ("reference", reference, best, plain * clash, "missed"),
            ("candidate", candidate, best.T, (plain * clash).T, "invented"),
        ):
            for i, concept in enumerate(concepts):
                status = _status(table[i], against[i], lost)
                first[side, i] = len(sides[side])
                sides[side] += [_item(concept, span, status) for span in concept.spans]
        links = []
        for i in range(len(reference)):
            if plain.shape[1] and best[i].max() > 0:
                j = int(best[i].argmax())
                pair = {"reference": first["reference", i], "candidate": first["candidate", j]}
                links.append({**pair, "similarity": round(float(best[i, j]), 3)})
        return {"entities": sides, "links": links}


def _status(met: Floats, against: Floats, lost: str) -> str:
    if met.size and met.max() >= MATCHED_FROM:
        return "matched"
    return "contradicted" if against.size and against.max() >= MATCHED_FROM else lost


def _item(concept: TextConcept, span: tuple[int, int], status: str) -> dict[str, Any]:
    record = {"start": span[0], "end": span[1], "type": concept.type, "assertion": concept.assertion, "status": status}
    return {**record, "concept": concept.id, "name": concept.name}


def _span(mention: Mention) -> Span:
    """A mention as the rules of negation take it: sites and kin are never absent."""
    never_absent = mention.id.startswith(("UBERON:", "SITE:", "KIN:"))
    return Span(mention.start, mention.end, "site" if never_absent else "finding", 1.0)


def terminology_hash() -> str:
    """Short hash of the terminology that finds concepts, for signatures."""
    from medassay.language.finders import finder

    return finder("linker")[1].partition("@")[2]


class MistComb1(ZMean):
    """Mean of z-scores of MIST, ROUGE-1 recall and BERTScore recall; higher is better, 0 is the average note.

    z over the set scored, as published, or with `reference=FILE` over a stored distribution; `reference=notes` is
    the bundled one, so that a single note can be scored. missing: a note of which MIST finds no concept is unscored,
    or with `skip` the mean of the other members. bertscore: the member to take, `bertscore_r` (the recall,
    which the paper found best) or another of its parts.
    """

    name = "mist-comb1"
    summary = "mean of z-scores of MIST, ROUGE-1 recall and BERTScore"
    needs = frozenset({"candidate", "reference"})
    defined = f"{_NOTES}, section 4.4"

    def __init__(
        self,
        *,
        bertscore: str = "bertscore_r",
        reference: str | None = None,
        missing: Literal["unscored", "skip"] = "unscored",
        models: str | None = None,
        references: Literal["best", "mean"] = "best",
    ) -> None:
        members = ("mist", "rouge1_r", bertscore)
        super().__init__(members, reference=reference, missing=missing, models=models, references=references)


class MistComb2(ZMean):
    """Mean of z-scores of MIST, ROUGE-1 recall and BLEURT; higher is better, 0 is the average note.

    bleurt: the metric that stands for BLEURT: `bleurt`, the paper's own BLEURT-20, where the models have one
    (`--models paper`, or the folder of `models fetch paper`), else the embedded `clinicalbleurt`. `reference` and
    `missing` as for `mist-comb1`.
    """

    name = "mist-comb2"
    summary = "mean of z-scores of MIST, ROUGE-1 recall and BLEURT"
    needs = frozenset({"candidate", "reference"})
    defined = f"{_NOTES}, section 4.4"

    def __init__(
        self,
        *,
        bleurt: str | None = None,
        reference: str | None = None,
        missing: Literal["unscored", "skip"] = "unscored",
        models: str | None = None,
        references: Literal["best", "mean"] = "best",
    ) -> None:
        if bleurt is None:
            bleurt = "clinicalbleurt" if models is None or for_metric("bleurt", models) == models else "bleurt"
        members = ("mist", "rouge1_r", bleurt)
        super().__init__(members, reference=reference, missing=missing, models=models, references=references)
