"""BERTScore, MedBERTScore and MedBERTScore-SP.

Zhang et al., "BERTScore: Evaluating Text Generation with BERT", ICLR 2020. Each token looks for the most
similar token of the other text, by the cosine of their contextual states. Values are those of the
`bert-score` package for the same model and layer. MedBERTScore weighs medical words more.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from medassay.cases import Case
from medassay.errors import InputError, MedassayError
from medassay.language.lexicon import read_table
from medassay.metrics.base import Floats, ScoreSlice, SetMetric
from medassay.metrics.matching import Encoded, Match, by_reference, match, unit, weakest
from medassay.metrics.settings import Range
from medassay.models.base import TokenStates
from medassay.scores import Score

OVERLAP = 100
"""Tokens that neighbouring windows share (MedBERTScore-SP)."""

_BASELINE_PAIRS = 300
_NOTES = "Ben Abacha et al., Evaluation Methods in Automatic Medical Note Generation, 2023"


class BertScore(SetMetric):
    """BERTScore: F1 of the best matches of the candidate's tokens (precision) and the reference's (recall).

    1 for the same text; unrelated texts score far above 0 (`baseline` moves them there). Higher is better.
    models, layer: the encoder, and which layer's states; embedded: its trunk (layer 3).
    idf: weigh each token by its inverse document frequency over the references of the set scored.
    baseline: rescale by (x − b) / (1 − b), with b from a file of `bert-score` (LAYER,P,R,F) or from random
        pairs of the set scored (`set`).
    long: what to do with texts longer than the model reads: `cut` them, as `bert-score` does, or read them in
        overlapping `windows`. The part `cut` is the share of both texts' tokens that was left out.
    """

    name = "bertscore"
    summary = "best matches between the tokens of both texts, by a language model's states"
    defined = "Zhang et al., BERTScore, ICLR 2020, section 3"
    parts: tuple[str, ...] = ("precision", "recall", "f1", "cut")
    bounds: tuple[float | None, float | None] = (-1.0, 1.0)

    def __init__(
        self,
        *,
        models: str = "embedded",
        layer: int | None = None,
        idf: bool = False,
        baseline: str | None = None,
        long: Literal["cut", "windows"] = "cut",
        references: Literal["best", "mean"] = "best",
    ) -> None:
        super().__init__(references=references)
        from medassay.models import load

        self.encoder = load("encoder", models)
        self.roles = (("encoder", models),)
        self.layer = default_layer(self.encoder.name, self.encoder.layers) if layer is None else layer
        if self.layer not in self.encoder.layers:
            known = self.encoder.layers
            available = str(known[0]) if len(known) == 1 else f"{known[0]} to {known[-1]}"
            raise MedassayError(f"layer: {self.encoder.name} has no token states of layer {layer}; it has {available}")
        self.idf = idf
        self.long = long
        self.baseline: tuple[float, float, float] | None = None
        self.baseline_name = "none" if baseline is None else str(baseline)
        if self.baseline_name not in ("none", "set"):
            self.baseline, self.baseline_name = read_baseline(Path(self.baseline_name), self.layer)
        self.over_set = self.idf or self.baseline_name == "set"
        if self.baseline_name != "none":
            self.bounds = (None, 1.0)
        self.documents = 0
        self.frequency: Counter[int] = Counter()

    def settings(self) -> Mapping[str, object]:
        idf_setting = f"set({self.documents})@{_digest(self.frequency)}" if self.documents else "set"
        baseline_setting = f"set@{_digest(self.baseline)}" if self.baseline else "set"
        return {
            "models": self.encoder.name,
            "layer": self.layer,
            "idf": idf_setting if self.idf else False,
            "baseline": baseline_setting if self.baseline_name == "set" else self.baseline_name,
            "long": self.long,
        }

    def survey(self, batches: Iterable[Sequence[Case]], scored: ScoreSlice) -> None:
        """Document frequencies over the set's references, then the scores of random pairs."""
        if self.idf:
            self.documents, self.frequency = 0, Counter()
            for cases in batches:
                texts = [text for case in cases if case.has("candidate") for text in case.references]
                counted = Counter(texts)
                self.documents += len(texts)
                for ids, text in zip(self.encoder.token_ids(list(counted), cut=self.long == "cut"), counted):
                    for token in set(ids):
                        self.frequency[token] += counted[text]
        if self.baseline_name == "set":
            self.baseline = None
            self.baseline = self._random_pairs(batches)

    def _random_pairs(self, batches: Iterable[Sequence[Case]]) -> tuple[float, float, float]:
        """Mean precision, recall and F of candidates with references of other cases.

        The cases with the smallest hashes, whatever their order: as good as drawn, and the same in every run.
        """
        drawn: list[tuple[bytes, Case]] = []
        for cases in batches:
            complete = [case for case in cases if case.has("candidate") and case.has("reference")]
            drawn += [(case.digest(["candidate", "reference"]), case) for case in complete]
            drawn = sorted(drawn, key=lambda pair: pair[0])[:_BASELINE_PAIRS]
        chosen = [case for _, case in drawn]
        rotated = chosen[1:] + chosen[:1]
        random_pairs = [
            replace(case, references=other.references[:1])
            for case, other in zip(chosen, rotated)
            if other.references[0] not in case.references
        ]
        means = [score.parts for score in self.measure(random_pairs) if score.value is not None]
        if not means:
            raise MedassayError(f"{self.name}: baseline=set needs cases with at least two different references")
        return tuple(float(np.mean([parts[p] for parts in means])) for p in ("precision", "recall", "f1"))  # type: ignore[return-value]

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        scores: list[Score] = [Score.none("not measured")] * len(cases)
        for block in by_reference(cases):
            texts = dict.fromkeys(
                text for r, members in block.items() for text in (r, *(cases[i].candidate for i in members))
            )
            encoded = dict(zip(texts, self._encode(list(texts))))
            for reference, members in block.items():
                ready = [i for i in members if encoded[cases[i].candidate].divisor > 0]
                if encoded[reference].divisor <= 0:
                    ready = []
                for i in set(members) - set(ready):
                    scores[i] = Score.none(self._weightless(encoded[cases[i].candidate], encoded[reference]))
                if not ready:
                    continue
                matched = match([encoded[cases[i].candidate] for i in ready], encoded[reference])
                for i, pair in zip(ready, matched):
                    scores[i] = self._score(cases[i], pair, encoded[cases[i].candidate], encoded[reference], evidence)
        return scores

    def _encode(self, texts: Sequence[str]) -> list[Encoded]:
        states = self.encoder.token_states(texts, layer=self.layer, cut=self.long == "cut", overlap=OVERLAP)
        encoded = []
        for text, token_states in zip(texts, states):
            weights = np.zeros(len(token_states.ids))
            inner = slice(token_states.before, len(token_states.ids) - token_states.after)
            weights[inner] = self.weights(text, token_states)[inner]
            encoded.append(
                Encoded(
                    unit(token_states.states),
                    weights,
                    self.divisor(weights),
                    token_states.offsets,
                    inner.stop - inner.start,
                    token_states.cut,
                )
            )
        return encoded

    def weights(self, text: str, states: TokenStates) -> Floats:
        """The weight of each token of a text; the weights of frame tokens are ignored."""
        if not self.idf:
            return np.ones(len(states.ids))
        return np.array([math.log((self.documents + 1) / (self.frequency[token] + 1)) for token in states.ids])

    def divisor(self, weights: Floats) -> float:
        """What the weighted sum of similarities is divided by: the sum of the weights."""
        return float(weights.sum())

    def _weightless(self, candidate: Encoded, reference: Encoded) -> str:
        side = "candidate" if candidate.divisor <= 0 else "reference"
        weightless = candidate if candidate.divisor <= 0 else reference
        if self.idf and weightless.tokens:
            return f"no token of the {side} has any idf weight: each stands in every reference of the set"
        return f"the model's tokenizer finds no token in the {side}"

    def _score(self, case: Case, pair: Match, candidate: Encoded, reference: Encoded, evidence: bool) -> Score:
        f1 = pair.f1
        if f1 is None:
            return Score.none("precision or recall is not above 0, so there is no F1")
        values = (pair.precision, pair.recall, f1)
        if self.baseline is not None:
            values = tuple((x - b) / (1 - b) for x, b in zip(values, self.baseline))  # type: ignore[assignment]
        parts = dict(zip(("precision", "recall", "f1"), values))
        if "cut" in self.parts:
            tokens = candidate.tokens + candidate.cut + reference.tokens + reference.cut
            parts["cut"] = (candidate.cut + reference.cut) / tokens
        shown = self._evidence(case, pair, candidate, reference) if evidence else {}
        return Score(values[2], parts=parts, evidence=shown)

    def _evidence(self, case: Case, pair: Match, candidate: Encoded, reference: Encoded) -> Mapping[str, object]:
        from medassay.language.sentences import sentences

        text, other = case.candidate, case.references[0]
        weak = weakest(text, "candidate", pair.candidate, candidate, sentences(text))
        return {"sentences": [*weak, *weakest(other, "reference", pair.reference, reference, sentences(other))]}


class MedBertScore(BertScore):
    """BERTScore with weight 1 + α on medical words, 1 on others (section 4.3.1); higher is better.

    words: who finds them: `linker` (our terminology), `medcat:PACK`, `spacy:PIPELINE` (scispaCy) or
        `py:module:function`, a function from a text to spans.
    formula: `normalised` divides by the sum of the weights, so that the number is a weighted mean of cosines
        (at most 1); `printed` divides by the number of tokens as the paper prints it, so that texts dense in
        medical words score higher (up to 1 + α).
    long: as for `bertscore`; the variant for long notes is `medbertscore-sp`.
    """

    name = "medbertscore"
    summary = "BERTScore that counts medical words more"
    defined = f"{_NOTES}, section 4.3.1"

    def __init__(
        self,
        *,
        models: str = "embedded",
        layer: int | None = None,
        alpha: Annotated[float, Range(0)] = 1.0,
        words: str = "linker",
        formula: Literal["normalised", "printed"] = "normalised",
        long: Literal["cut", "windows"] = "cut",
        references: Literal["best", "mean"] = "best",
    ) -> None:
        from medassay.language.finders import finder

        super().__init__(models=models, layer=layer, long=long, references=references)
        self.alpha = float(alpha)
        self.formula = formula
        self.words, self.words_name = finder(words)
        if self.formula == "printed":
            self.bounds = (-1.0 - self.alpha, 1.0 + self.alpha)

    def settings(self) -> Mapping[str, object]:
        ours = {"alpha": self.alpha, "words": self.words_name, "formula": self.formula}
        base = {name: value for name, value in super().settings().items() if name not in ("idf", "baseline")}
        return {**base, **ours}

    def weights(self, text: str, states: TokenStates) -> Floats:
        medical = inside(states.offsets, self.words(text))
        return 1.0 + self.alpha * medical

    def divisor(self, weights: Floats) -> float:
        return float(weights.sum()) if self.formula == "normalised" else float(np.count_nonzero(weights))


class MedBertScoreSP(MedBertScore):
    """MedBERTScore over windows of 512 tokens that overlap by 100: no token of a long note is left out.

    Every token is embedded once, in the window where it stands furthest from an edge. Settings as for
    `medbertscore`.
    """

    name = "medbertscore-sp"
    summary = "MedBERTScore for notes of any length, in overlapping windows"
    defined = f"{_NOTES}, section 4.3.2"
    parts = ("precision", "recall", "f1")

    def __init__(
        self,
        *,
        models: str = "embedded",
        layer: int | None = None,
        alpha: Annotated[float, Range(0)] = 1.0,
        words: str = "linker",
        formula: Literal["normalised", "printed"] = "normalised",
        references: Literal["best", "mean"] = "best",
    ) -> None:
        super().__init__(
            models=models,
            layer=layer,
            alpha=alpha,
            words=words,
            formula=formula,
            long="windows",
            references=references,
        )


def inside(offsets: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> Floats:
    """1 for each token that shares a character with a span, else 0; spans are in text order."""
    if not spans:
        return np.zeros(len(offsets))
    starts = np.array([start for start, _ in spans])
    reach = np.maximum.accumulate([end for _, end in spans])
    tokens = np.array(offsets)
    # The last span that begins before the token's end; some span up to it must reach past the token's start.
    before = np.searchsorted(starts, tokens[:, 1], "left") - 1
    hit = (before >= 0) & (reach[np.maximum(before, 0)] > tokens[:, 0])
    return hit.astype(np.float64)


def default_layer(name: str, layers: Sequence[int]) -> int:
    """The layer that `bert-score`'s authors found best for a model, else three quarters of the way up.

    >>> default_layer("some/model@1", range(13)), default_layer("embedded-4/encoder", (3,))
    (9, 3)
    """
    if len(layers) == 1:
        return layers[0]
    rows = read_table(files("medassay.metrics") / "bertscore_layers.tsv")
    known = {row["model"]: int(row["layer"]) for row in rows}
    listed = known.get(name.partition("@")[0])
    return listed if listed in layers and listed is not None else round(0.75 * layers[-1])


def read_baseline(path: Path, layer: int) -> tuple[tuple[float, float, float], str]:
    """Baselines of a layer from a file in `bert-score`'s format, and a name with the file's hash."""
    try:
        content = path.read_bytes()
        rows = [line.split(",") for line in content.decode("utf-8").split("\n") if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: cannot be read as a baseline file ({error}); give its path, or baseline=set"
        ) from error
    for row in rows[1:]:
        try:
            at, *values = (float(cell) for cell in row)
        except ValueError:
            continue
        if at == layer and len(values) == 3 and all(value < 1 for value in values):
            digest = hashlib.sha256(content).hexdigest()[:8]
            return (values[0], values[1], values[2]), f"{path.stem}@{digest}"
    raise InputError(f"{path}: no row 'LAYER,P,R,F' for layer {layer}; a baseline file has one line per layer")


def _digest(value: object) -> str:
    shown = sorted(value.items()) if isinstance(value, Counter) else value
    return hashlib.sha256(repr(shown).encode()).hexdigest()[:8]
