"""What a model of each role offers, whatever it runs on.

`models.load(role, spec)` gives one of these: from the embedded set (ONNX Runtime, no torch), a local
folder or a hub name (extra `hf`). Batching, windows and caches live in this room and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from medassay.spans import Check, Reading, Span

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Judgement:
    """An estimate of the expert's 0–5 score, with the interval that holds it nine times in ten.

    `low` and `high` are None, both, where the model was never calibrated (cross-encoders of the hub).
    """

    score: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class TokenStates:
    """What a layer of an encoder says of each token of one text, frame tokens included.

    offsets: the characters [start, end) of each token in the text as given; (0, 0) for frame tokens.
    before, after: frame tokens at either end ([CLS], [SEP]).
    cut: tokens of the text that were left out because it is longer than the model reads.
    """

    ids: list[int]
    offsets: list[tuple[int, int]]
    states: Matrix
    before: int
    after: int
    cut: int = 0


class Encoder(Protocol):
    """Roles `encoder` and `align`: texts to unit vectors, or to a state for each token.

    layers: the layers whose token states can be had, the lowest first (0: the embeddings).
    """

    name: str
    layers: Sequence[int]

    def embed(self, texts: Sequence[str]) -> Matrix: ...

    def token_ids(self, texts: Sequence[str], *, cut: bool = False) -> list[list[int]]: ...

    def token_states(
        self, texts: Sequence[str], *, layer: int, cut: bool = False, overlap: int = 100
    ) -> list[TokenStates]: ...


class EntityModel(Protocol):
    """Role `ner`."""

    name: str

    def spans(self, texts: Sequence[str]) -> list[list[Span]]: ...


class RelationModel(Protocol):
    """Role `re`: assertions and relations of given spans."""

    name: str

    def read(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Reading]: ...


class ExpertModel(Protocol):
    """Role `expert`: (reference, candidate) pairs to judgements."""

    name: str

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Judgement]: ...


@dataclass(frozen=True, slots=True)
class TokenLogs:
    """How likely each token of one text is, given another text and the tokens before it.

    logs: natural logarithms of probabilities, ≤ 0; the nearer to 0 the likelier.
    offsets: the characters [start, end) of each token in the text as given; (0, 0) for the frame tokens that
    some models count too.
    """

    logs: Matrix
    offsets: Sequence[tuple[int, int]]


class CheckerModel(Protocol):
    """Role `checker`: does a text of any length bear out a statement?"""

    name: str

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Matrix:
        """[pairs, 3] probabilities of supported, not stated, contradicted, for (text, statement) pairs."""

    def check(self, pairs: Sequence[tuple[str, str]]) -> list[Check]:
        """The judgement of each statement, with the words of the text that decide."""


class NliModel(Protocol):
    """Role `nli`: (premise, hypothesis) pairs to [pairs, 3] probabilities of entailment, neutral, contradiction."""

    name: str

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Matrix: ...


class QualityModel(Protocol):
    """Role `quality`: (reference, candidate) pairs to a number each, higher is better.

    The embedded model's lies between 0 and 1 and it answers more (`models/quality.py`); a hub model's scale is its own.
    sentences: where the sentences of a text lie, for models that cut long texts.
    """

    name: str

    def scores(
        self,
        pairs: Sequence[tuple[str, str]],
        *,
        sentences: Callable[[str], Sequence[tuple[int, int]]] | None = None,
    ) -> Matrix: ...


class LikelihoodModel(Protocol):
    """Role `likelihood`: (source, target) pairs; the mean log-probability of a target's tokens, or each of them."""

    name: str

    def log_likelihood(self, pairs: Sequence[tuple[str, str]]) -> Matrix: ...

    def token_logs(self, pairs: Sequence[tuple[str, str]]) -> list[TokenLogs]: ...


@dataclass(frozen=True, slots=True)
class Phrases:
    """Texts as an image model sees them.

    vectors: unit vectors, one per text. mean, spread: of each text's cosine with histology images at large; 0 and 1
    where the model never measured them. coverage: cosine (−1 to 1, higher is safer) of each text with the nearest
    phrase that the model learnt from, and `nearest`, that phrase; both empty where the model states no vocabulary.
    """

    vectors: Matrix
    mean: Matrix
    spread: Matrix
    coverage: Matrix
    nearest: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pictures:
    """Images as an image model sees them.

    vectors: unit vectors, one per image. foreign: log odds that each is not an H&E section (the higher the surer),
    from `least_foreign` on to be refused; both None where the model cannot tell. confidence: how much of what the
    model can tell of images of known laboratories it can tell of one like this, 0–1; None where it never measured it.
    """

    vectors: Matrix
    foreign: Matrix | None = None
    least_foreign: float | None = None
    confidence: Matrix | None = None


class ImageModel(Protocol):
    """Role `image`: images and texts to unit vectors of one space.

    windows: whether the model is shown a patch through windows of 224 pixels rather than as a whole.
    least_coverage: coverage below which a text lies outside the vocabulary; None where none is stated.
    """

    name: str
    windows: bool
    least_coverage: float | None

    def embed_images(self, images: Sequence[Any]) -> Matrix: ...

    def read_images(self, images: Sequence[Any]) -> Pictures: ...

    def embed_texts(self, texts: Sequence[str]) -> Matrix: ...

    def read_phrases(self, texts: Sequence[str]) -> Phrases: ...

    def bank(self) -> Phrases: ...
