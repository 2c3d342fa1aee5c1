"""What a model of each role offers, whatever it runs on.

`models.load(role, spec)` gives one of these: from the embedded set (ONNX Runtime, no torch), a local
folder or a hub name (extra `hf`). Batching, windows and caches live in this room and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    """The states of one text's tokens after a layer of an encoder, frame tokens included.

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

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors [texts, size]."""

    def token_ids(self, texts: Sequence[str], *, cut: bool = False) -> list[list[int]]:
        """The ids of each text's tokens, without frame tokens; `cut`: only those that fit in a row."""

    def token_states(
        self, texts: Sequence[str], *, layer: int, cut: bool = False, overlap: int = 100
    ) -> list[TokenStates]:
        """The states of each text's tokens after `layer`; windows of a long text share `overlap` tokens."""


class EntityModel(Protocol):
    """Role `ner`."""

    name: str

    def spans(self, texts: Sequence[str]) -> list[list[Span]]:
        """The entities of each text, in text order, never overlapping."""


class RelationModel(Protocol):
    """Role `re`: assertions and relations of given spans."""

    name: str

    def read(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Reading]:
        """The assertions and links of each text's spans."""


class ExpertModel(Protocol):
    """Role `expert`: (reference, candidate) pairs to judgements."""

    name: str

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Judgement]:
        """One judgement per pair."""


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
    """Role `checker`: does a text of any length support a statement?"""

    name: str

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Matrix:
        """[pairs, 3] probabilities of supported, not stated, contradicted, for (text, statement) pairs."""

    def check(self, pairs: Sequence[tuple[str, str]]) -> list[Check]:
        """The judgement of each statement, with the words of the text that decide."""


class NliModel(Protocol):
    """Role `nli`: (premise, hypothesis) pairs to [pairs, 3] probabilities of entailment, neutral, contradiction."""

    name: str

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Matrix:
        """[pairs, 3], in the order of the three labels."""


class QualityModel(Protocol):
    """Role `quality`: (reference, candidate) pairs to a number each, higher is better.

    The embedded model's number lies between 0 and 1; a hub model has a scale of its own.
    sentences: where the sentences of a text lie, for models that cut long texts.
    """

    name: str

    def scores(
        self,
        pairs: Sequence[tuple[str, str]],
        *,
        sentences: Callable[[str], Sequence[tuple[int, int]]] | None = None,
    ) -> Matrix:
        """One number per pair."""


class LikelihoodModel(Protocol):
    """Role `likelihood`: (source, target) pairs; the mean log-probability of a target's tokens, or each of them."""

    name: str

    def log_likelihood(self, pairs: Sequence[tuple[str, str]]) -> Matrix:
        """Mean log-probability of a target's tokens, one number per pair; NaN where the target has no token."""

    def token_logs(self, pairs: Sequence[tuple[str, str]]) -> list[TokenLogs]:
        """Log-probability of each token of each pair's target."""


@dataclass(frozen=True, slots=True)
class Phrases:
    """Texts as an image model sees them.

    vectors: unit vectors, one per text. mean, spread: mean and standard deviation of each text's cosine with histology
    images in general; 0 and 1 where they were never measured. coverage: cosine (−1 to 1, higher is safer) of each text
    with the nearest phrase of the training data, and `nearest`, that phrase; both empty where the model has no
    vocabulary.
    """

    vectors: Matrix
    mean: Matrix
    spread: Matrix
    coverage: Matrix
    nearest: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pictures:
    """Images as an image model sees them.

    vectors: unit vectors, one per image. foreign: log odds that each is not an H&E section; images with
    `least_foreign` or more are to be refused; both None where the model does not estimate them. confidence: the
    model's accuracy on an image like this, as a share of its accuracy on images of known laboratories, 0–1; None
    where it was never measured. organs, processes: chances of each organ and of each group of processes that the model
    tells apart (`ImageModel.concepts`), one row per image; None where it tells none.
    """

    vectors: Matrix
    foreign: Matrix | None = None
    least_foreign: float | None = None
    confidence: Matrix | None = None
    organs: Matrix | None = None
    processes: Matrix | None = None


@dataclass(frozen=True, slots=True)
class ImageConcepts:
    """What an image model tells apart by classes: names of each organ by its key, and groups of processes."""

    organs: Mapping[str, tuple[str, ...]]
    processes: tuple[str, ...]


class ImageModel(Protocol):
    """Role `image`: images and texts to unit vectors of one space.

    windows: whether the model reads a patch in windows of 224 pixels rather than as a whole.
    least_coverage: coverage below which a text lies outside the vocabulary; None where the model has no vocabulary.
    concepts: the organs and processes whose chances `read_images` gives; None where it gives none.
    """

    name: str
    windows: bool
    least_coverage: float | None
    concepts: ImageConcepts | None

    def embed_images(self, images: Sequence[Any]) -> Matrix:
        """Unit vectors [images, size]."""

    def read_images(self, images: Sequence[Any]) -> Pictures:
        """Unit vectors of images, with what the model can say about their origin."""

    def embed_texts(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors [texts, size]."""

    def read_phrases(self, texts: Sequence[str]) -> Phrases:
        """Unit vectors of texts, with their similarity to images in general and to the vocabulary."""

    def bank(self) -> Phrases:
        """The phrases of the vocabulary, which a similarity is compared with."""
