"""The roles on transformers models: encoder and align, ner, expert (re: hub_relations.py)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from medassay.errors import ModelError
from medassay.models.activations import sigmoid
from medassay.models.base import Judgement, Matrix, TokenStates
from medassay.models.caching import RecentAnswers
from medassay.models.hub import Network, Read
from medassay.models.hub_labels import group, read_tags
from medassay.models.roles import without_overlaps
from medassay.models.states import join_states, state_windows
from medassay.models.tokens import Tokens, Window, text_windows
from medassay.spans import Span

_CACHED_TEXTS = 20_000
CASES_AT_ONCE = 1024
"""Cases that a metric should pass to a GPU together, so that it is never idle between them."""
READ_AT_ONCE = 128
"""Texts whose entities and relations are read together: the questions about relations fill whole batches."""


class HubEncoder:
    """Roles `encoder` and `align`: unit vectors; each distinct text is encoded once.

    Pooling is what the folder's 1_Pooling/config.json says; without one, the mean over tokens for
    `encoder` and the first token for `align` (SapBERT's and HARE's way).
    """

    def __init__(self, network: Network) -> None:
        self.network, self.name = network, network.name
        self.size = int(network.model.config.hidden_size)
        self.first_token = _pooling(network) == "cls"
        self.layers = range(int(network.model.config.num_hidden_layers) + 1)
        self.cases_at_once = CASES_AT_ONCE if network.device == "cuda" else 0
        self.cache: RecentAnswers[str, Matrix] = RecentAnswers(_CACHED_TEXTS)

    def token_ids(self, texts: Sequence[str], *, cut: bool = False) -> list[list[int]]:
        """The ids of each text's tokens, without frame tokens; `cut`: only those that fit in a row."""
        room = self.network.room if cut else None
        return [tokens.ids[:room] for tokens in self._word_tokens(texts)]

    def token_states(
        self, texts: Sequence[str], *, layer: int, cut: bool = False, overlap: int = 100
    ) -> list[TokenStates]:
        """The states after `layer` (0: the embeddings); the layers above it are not run."""
        if layer not in self.layers:
            raise ModelError(f"{self.name}: there is no layer {layer}; it has 0 to {self.layers[-1]}")
        network = self.network
        tokens = self._word_tokens(texts)
        windows = state_windows(tokens, network.room, cut=cut, overlap=overlap)
        rows = [network.framed(tokens[w.text].ids[w.first : w.last]) for w in windows]
        row_states: list[Matrix] = [np.zeros((0, self.size), np.float32)] * len(rows)
        with network.lowest(layer):
            for batch, states in network.answers([(0, rows)], lambda output, _: output.last_hidden_state):
                for k, i in enumerate(batch):
                    row_states[i] = states[k, : len(rows[i])].copy()
        return join_states(tokens, windows, row_states, network.before, network.after)

    def _word_tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens without the white space around a text, which some tokenizers give tokens of their own."""
        shifts = [len(text) - len(text.lstrip()) for text in texts]
        reads = self.network.read([text.strip() for text in texts])
        return [
            Tokens(read.tokens.ids, [(a + shift, b + shift) for a, b in read.tokens.offsets], read.tokens.pieces)
            if shift
            else read.tokens
            for read, shift in zip(reads, shifts)
        ]

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors [texts, size]. A long text is the mean of its windows, weighted by their tokens."""
        rows = self.cache.look_up(texts, self._encode)
        return np.stack(rows) if rows else np.zeros((0, self.size), np.float32)

    def _encode(self, texts: Sequence[str]) -> list[Matrix]:
        room = self.network.room
        reads = self.network.read(texts)
        windows = [(t, first) for t, text in enumerate(reads) for first in range(0, max(len(text.tokens), 1), room)]
        rows = [self.network.framed(reads[t].tokens.ids[first : first + room]) for t, first in windows]
        sums = np.zeros((len(texts), self.size), np.float64)
        for batch, vectors in self.network.answers([(0, rows)], self._pooled):
            weights = np.array([len(rows[i]) for i in batch]) / np.maximum(np.linalg.norm(vectors, axis=1), 1e-12)
            np.add.at(sums, [windows[i][0] for i in batch], vectors.astype(np.float64) * weights[:, None])
        norms = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
        return list((sums / norms).astype(np.float32))

    def _pooled(self, output: Any, mask: Any) -> Any:
        states = output.last_hidden_state
        if self.first_token:
            return states[:, 0]
        shares = mask.unsqueeze(-1).float()
        return (states.float() * shares).sum(1) / shares.sum(1)


def _pooling(network: Network) -> str:
    """`cls` or `mean`: as the folder's sentence-transformers settings say, or else the role's default."""
    folder = network.folder.path
    if (folder / "2_Dense").is_dir():
        raise ModelError(f"{folder}: a sentence-transformers model with a dense layer is not supported")
    path = folder / "1_Pooling" / "config.json"
    if not path.is_file():
        return "cls" if network.role == "align" else "mean"
    pooling = json.loads(path.read_text(encoding="utf-8"))
    if pooling.get("pooling_mode_cls_token") or pooling.get("pooling_mode") == "cls":
        return "cls"
    if pooling.get("pooling_mode_mean_tokens") or pooling.get("pooling_mode") == "mean":
        return "mean"
    raise ModelError(f"{path}: only cls and mean pooling are supported, found {json.dumps(pooling)}")


class HubNer:
    """Role `ner`: typed spans; a word's label is the best of its tokens' mean chances, as in HARE's pipeline.

    A span's confidence is the mean chance of its words' labels (0…1).
    """

    def __init__(self, network: Network) -> None:
        self.network, self.name = network, network.name
        self.tags = read_tags(network.labels, str(network.folder.path))
        self.at_once = READ_AT_ONCE
        self.cache: RecentAnswers[str, list[Span]] = RecentAnswers(_CACHED_TEXTS)

    def spans(self, texts: Sequence[str]) -> list[list[Span]]:
        """The entities of each text, in text order, never overlapping; equal texts are read once per run."""
        return self.begin(texts)()

    def begin(self, texts: Sequence[str]) -> Callable[[], list[list[Span]]]:
        """Start the model and return a function that gives the spans, so that the caller can go on meanwhile."""
        cached = {text: self.cache[text] for text in texts if text in self.cache}
        fresh = [text for text in dict.fromkeys(texts) if text not in cached]
        reads = self.network.read(fresh)
        windows = text_windows(fresh, [read.tokens for read in reads], self.network.room)
        rows = [self.network.framed(reads[w.text].tokens.ids[w.first : w.last]) for w in windows]
        sent = self.network.launch([(0, rows)], lambda output, _: output.logits.float().softmax(-1))

        def finish() -> list[list[Span]]:
            spans_of: dict[str, list[Span]] = {text: [] for text in fresh}
            for answer in sent:
                batch, chances = answer.get()
                for k, i in enumerate(batch):
                    text = fresh[windows[i].text]
                    spans_of[text] += self._decode(text, windows[i], reads[windows[i].text], chances[k])
            fresh_spans = {text: without_overlaps(spans) for text, spans in spans_of.items()}
            self.cache.keep(fresh_spans)
            placed = cached | fresh_spans
            return [placed[text] for text in texts]

        return finish

    def _decode(self, text: str, window: Window, read: Read, chances: Any) -> list[Span]:
        """The entities of a window by the chances [tokens of its row, labels]."""
        words = _words(read, window)
        if not words:
            return []
        firsts = np.array([first for first, _ in words]) - window.first
        before = len(self.network.before)
        token_chances = chances[before : before + len(window)].astype(np.float64)
        means = np.add.reduceat(token_chances, firsts, axis=0) / np.diff([*firsts, len(token_chances)])[:, None]
        best = means.argmax(1)
        surest = means[np.arange(len(best)), best].tolist()
        spans = []
        for first, last, kind, score in group([self.tags[i] for i in best.tolist()], surest):
            first_token = words[first][0]
            if window.owned_first <= first_token < window.owned_last:
                offsets = read.tokens.offsets
                start, end = _trimmed(text, offsets[first_token][0], offsets[words[last][1]][1])
                if end > start:
                    spans.append(Span(start, end, kind, score))
        return spans


class HubExpert:
    """Role `expert`: a cross-encoder with a single output, read as the expert's 0–5 score.

    The output is a chance times 5 where the folder names a sigmoid (sentence-transformers), and the score
    itself where it says `"problem_type": "regression"` or names the identity. There is no interval: nobody
    calibrated the model, so `low` and `high` are None.
    """

    def __init__(self, network: Network) -> None:
        self.network, self.name = network, network.name
        network.check_one_output()
        self.sigmoid = _is_chance(network)

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Judgement]:
        """(reference, candidate) pairs to judgements; each distinct pair is judged once."""
        values = self.network.pair_logits(pairs)[:, 0]
        scores = 5.0 * sigmoid(values) if self.sigmoid else values
        return [Judgement(score, None, None) for score in np.clip(scores, 0.0, 5.0).tolist()]


def _is_chance(network: Network) -> bool:
    """Whether the single output is the logit of a chance (else the score itself)."""
    if network.activation.endswith("Sigmoid"):
        return True
    if network.activation.endswith("Identity") or network.config.get("problem_type") == "regression":
        return False
    raise ModelError(
        f'{network.folder.path}: config.json does not say what the output means. Add "problem_type": '
        '"regression" where it is the 0–5 score itself, or "sentence_transformers": {"activation_fn": '
        '"torch.nn.modules.activation.Sigmoid"} where it is the logit of score / 5'
    )


def _words(read: Read, window: Window) -> list[tuple[int, int]]:
    """(first, last) token of each word in a window."""
    words: list[tuple[int, int]] = []
    for i in range(window.first, window.last):
        same = i > window.first and read.words[i] is not None and read.words[i] == read.words[i - 1]
        if words and same:
            words[-1] = (words[-1][0], i)
        else:
            words.append((i, i))
    return words


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without white space at its ends: some tokenizers count the space to the word."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
