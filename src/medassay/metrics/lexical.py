"""BLEU, chrF and Levenshtein similarity: how close two texts are as strings of words or characters.

None of them knows what a word means: "no carcinoma" and "carcinoma" are close for all three.
ROUGE stands in `rouge`, METEOR in `meteor`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Annotated, Literal

import numpy as np

from medassay.cases import Case
from medassay.metrics.base import Floats, Metric
from medassay.metrics.ngrams import Block, Lexicon, Tokens, blocks, characters, grams
from medassay.metrics.settings import Normalize, Range
from medassay.scores import Score

_ORDERS = 4
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
# sacrebleu's 13a in one expression, for text without whitespace: a mark stands alone, a point or comma
# too unless between digits, a hyphen too after a digit; runs of points and commas, entities and
# `<skipped>` are rare and left to sacrebleu itself.
_MARK = r"{-~\[-` -&(-+:-@/"
_WORD_13A = re.compile(
    rf"(?:[^{_MARK}.,-]|(?<=[0-9])[.,](?=[0-9])|(?<![0-9])-)+|[{_MARK}.,-]",
)
_RARE = re.compile(r"[.,]{2}|&|<skipped>|\s")
_SMOOTHING = {"exp": 0.0, "floor": 0.1, "add-k": 1.0, "none": 0.0}
"""Smoothing methods and their values in sacrebleu (Chen and Cherry, 2014)."""


@cache
def bleu_lexicon(tokenizer: str, lowercase: bool) -> Lexicon:
    """The words that sacrebleu's tokenizer makes of a text."""
    from sacrebleu.metrics.bleu import BLEU

    tokenize = BLEU(tokenize=tokenizer).tokenizer

    def split(text: str) -> list[str]:
        text = text.lower() if lowercase else text
        if tokenizer == "13a":
            if text.isalnum():
                return [text]
            if text[-1] in ".,:;)" and text[:-1].isalnum():
                return [text[:-1], text[-1]]
            if not _RARE.search(text):
                return _WORD_13A.findall(text)
        words: list[str] = tokenize(text.rstrip()).split()
        return words

    # 13a looks no further than a character's neighbours, so whitespace always separates; only a hyphen
    # at a line's end joins what stands on two lines.
    return Lexicon(split, local=tokenizer in ("13a", "none"), joiner="-\n" if tokenizer == "13a" else "")


class Bleu(Metric):
    """BLEU: geometric mean of the 1- to 4-gram precisions, times a penalty for short candidates; 0 to
    100, higher is better (Papineni et al. 2002, section 2.3).

    A case's value is sacrebleu's sentence BLEU (smoothed, effective order); the aggregate over cases is
    corpus BLEU from the summed counts, not the mean of sentence values. With several references each
    is scored alone and the best or mean taken.

    Text handling is sacrebleu's: case is kept unless `lowercase`; `tokenizer` (13a, intl, char, zh,
    none) decides what a word is, 13a sets punctuation apart; `normalize=nfkc` brings both texts to
    Unicode's compatibility form first.
    """

    name = "bleu"
    summary = "1- to 4-gram precision with brevity penalty"
    defined = "Papineni et al., BLEU: a Method for Automatic Evaluation of Machine Translation, 2002"
    bounds = (0.0, 100.0)

    def __init__(
        self,
        *,
        smoothing: Literal["exp", "floor", "add-k", "none"] | None = "exp",
        smooth_value: Annotated[float | None, Range(0)] = None,
        tokenizer: Literal["13a", "intl", "char", "zh", "none"] | None = "13a",
        lowercase: bool = False,
        effective_order: bool = True,
        normalize: Normalize = "none",
        references: Literal["best", "mean"] = "best",
    ) -> None:
        super().__init__(references=references)
        self.smoothing = smoothing or "none"
        default = _SMOOTHING[self.smoothing]
        self.smooth_value = default if smooth_value is None else float(smooth_value)
        self.tokenizer = tokenizer or "none"
        self.lowercase = lowercase
        self.effective_order = effective_order
        self.normalize = normalize or "none"

    def settings(self) -> Mapping[str, object]:
        """sacrebleu's own signature, field by field, then ours."""
        return {**self._peer_settings, "norm": self.normalize}

    @cached_property
    def _peer_settings(self) -> Mapping[str, object]:
        from sacrebleu.metrics.bleu import BLEU

        return _peer_signature(
            BLEU(
                lowercase=self.lowercase,
                tokenize=self.tokenizer,
                smooth_method=self.smoothing,
                smooth_value=self.smooth_value,
                effective_order=self.effective_order,
            )
        )

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        scores: list[Score] = []
        for block in blocks(cases, self.normalize):
            statistics = self._statistics(block)
            values = self._bleu(statistics).tolist()
            scores += [Score(value, statistics=tuple(row)) for value, row in zip(values, statistics.tolist())]
        return scores

    def combine(self, sums: Floats, counts: Floats) -> Floats:
        """Corpus BLEU of each set of cases; NaN for an empty set."""
        return np.where(counts > 0, self._bleu(sums), np.nan)

    def _statistics(self, block: Block) -> Floats:
        """[pairs, 10]: candidate and reference length, then matches and totals of the four orders."""
        tokens = bleu_lexicon(self.tokenizer, self.lowercase).encode(block.texts)
        columns = [tokens.lengths[block.candidate], tokens.lengths[block.reference]]
        counted = list(grams(tokens, _ORDERS))
        columns += [order.matched(block.candidate, block.reference) for order in counted]
        columns += [order.totals[block.candidate] for order in counted]
        return np.stack(columns, axis=-1).astype(np.float64)

    def _bleu(self, statistics: Floats) -> Floats:
        """BLEU from its statistics [..., 10], as sacrebleu's `compute_bleu`."""
        ours, theirs = statistics[..., 0], statistics[..., 1]
        correct, total = statistics[..., 2:6].copy(), statistics[..., 6:10].copy()
        some = (correct > 0).any(axis=-1)
        if self.smoothing == "add-k":
            correct[..., 1:] += self.smooth_value
            total[..., 1:] += self.smooth_value
        reached = np.logical_and.accumulate(total > 0, axis=-1)
        zero = reached & (correct == 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = correct / total
            if self.smoothing == "exp":
                precision = np.where(zero, 1 / (2.0 ** np.cumsum(zero, axis=-1) * total), precision)
            elif self.smoothing == "floor":
                precision = np.where(zero, self.smooth_value / total, precision)
            logs = np.where(reached, np.log(100 * precision), 0.0 if self.effective_order else -np.inf)
            orders = reached.sum(axis=-1) if self.effective_order else float(_ORDERS)
            brevity = np.where(ours < theirs, np.exp(1 - theirs / ours), 1.0)
            return np.where(some, brevity * np.exp(logs.sum(axis=-1) / orders), 0.0)


class Chrf(Metric):
    """chrF: F-score over character n-grams, recall counting β² times as much as precision; 0 to 100,
    higher is better (Popović 2015). With `word_order=2` it is chrF++ (Popović 2017).

    Precision and recall are averaged over the orders that both texts reach, as in sacrebleu. The
    aggregate over cases is corpus chrF from the summed counts, not the mean of the values.

    Text handling is sacrebleu's: whitespace is dropped, case and punctuation are kept, `lowercase`
    lowers both texts; for word n-grams one mark at a word's end or start is a word of its own;
    `normalize=nfkc` brings both texts to Unicode's compatibility form first.
    """

    name = "chrf"
    summary = "character n-grams in common, recall weighted"
    defined = "Popović, chrF: character n-gram F-score for automatic MT evaluation, 2015"
    bounds = (0.0, 100.0)

    def __init__(
        self,
        *,
        char_order: Annotated[int, Range(1)] = 6,
        word_order: Annotated[int, Range(0)] = 0,
        beta: Annotated[int, Range(1)] = 2,
        lowercase: bool = False,
        normalize: Normalize = "none",
        references: Literal["best", "mean"] = "best",
    ) -> None:
        super().__init__(references=references)
        self.char_order = char_order
        self.word_order = word_order
        self.beta = beta
        self.lowercase = lowercase
        self.normalize = normalize or "none"

    def settings(self) -> Mapping[str, object]:
        """sacrebleu's own signature, field by field, then what it leaves out."""
        return {**self._peer_settings, "beta": self.beta, "norm": self.normalize}

    @cached_property
    def _peer_settings(self) -> Mapping[str, object]:
        from sacrebleu.metrics.chrf import CHRF

        return _peer_signature(
            CHRF(
                char_order=self.char_order,
                word_order=self.word_order,
                beta=self.beta,
                lowercase=self.lowercase,
            )
        )

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        scores: list[Score] = []
        for block in blocks(cases, self.normalize):
            statistics = self._statistics(block)
            values = self._chrf(statistics).tolist()
            scores += [Score(value, statistics=tuple(row)) for value, row in zip(values, statistics.tolist())]
        return scores

    def combine(self, sums: Floats, counts: Floats) -> Floats:
        """Corpus chrF of each set of cases; NaN for an empty set."""
        return np.where(counts > 0, self._chrf(sums), np.nan)

    def _statistics(self, block: Block) -> Floats:
        """[pairs, 3 · orders]: n-grams of the candidate, of the reference, in common; characters first."""
        texts = tuple(text.lower() for text in block.texts) if self.lowercase else block.texts
        columns = _overlap(block, characters(["".join(text.split()) for text in texts]), self.char_order)
        if self.word_order:
            columns += _overlap(block, _chrf_words().encode(texts), self.word_order)
        return np.stack(columns, axis=-1)

    def _chrf(self, statistics: Floats) -> Floats:
        """chrF from its statistics, as sacrebleu's `_compute_f_score`."""
        ours, theirs, common = (statistics[..., k::3] for k in range(3))
        both = (ours > 0) & (theirs > 0)
        orders = np.maximum(both.sum(axis=-1), 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = np.where(both, common / ours, 0.0).sum(axis=-1) / orders
            recall = np.where(both, common / theirs, 0.0).sum(axis=-1) / orders
            factor = self.beta**2
            value = (1 + factor) * precision * recall / (factor * precision + recall)
        return np.where(precision + recall > 0, 100 * value, 0.0)


def _overlap(block: Block, tokens: Tokens, highest: int) -> list[Floats]:
    columns: list[Floats] = []
    for order in grams(tokens, highest):
        ours, theirs = order.totals[block.candidate], order.totals[block.reference]
        common = order.matched(block.candidate, block.reference)
        # sacrebleu does not hold a candidate's n-grams against it where the reference has none.
        columns += [np.where(theirs > 0, ours, 0).astype(np.float64), theirs.astype(np.float64)]
        columns.append(common.astype(np.float64))
    return columns


@cache
def _chrf_words() -> Lexicon:
    return Lexicon(lambda text: [word for piece in text.split() for word in _set_apart(piece)])


def _set_apart(piece: str) -> list[str]:
    if len(piece) > 1 and piece[-1] in _PUNCTUATION:
        return [piece[:-1], piece[-1]]
    if len(piece) > 1 and piece[0] in _PUNCTUATION:
        return [piece[0], piece[1:]]
    return [piece]


def _peer_signature(peer: object) -> dict[str, object]:
    """The fields of a sacrebleu metric's signature; its version goes under the name of the package."""
    peer.num_refs = 1  # type: ignore[attr-defined]
    info = dict(peer.get_signature().info)  # type: ignore[attr-defined]
    version = info.pop("version")
    return {**{key: value for key, value in info.items() if value is not None}, "sacrebleu": version}


class Levenshtein(Metric):
    """Levenshtein similarity: 1 − edits / length of the longer text; 0 to 1, higher is better
    (Levenshtein 1966). An edit inserts, deletes or replaces one character (`level=char`) or one
    whitespace-separated word (`level=word`).

    Text handling: everything counts as it stands, case, punctuation and (for characters) whitespace
    included; `lowercase` lowers both texts, `normalize=nfkc` brings both to Unicode's compatibility form.

    >>> Levenshtein(level="word").score([Case("1", "no tumour seen", ("no tumour is seen",))])[0].value
    0.75
    """

    name = "levenshtein"
    summary = "1 − edits / length, over characters or words"
    defined = "Levenshtein, Binary codes capable of correcting deletions, insertions, and reversals, 1966"
    parts = ("edits",)

    def __init__(
        self,
        *,
        level: Literal["char", "word"] = "char",
        lowercase: bool = False,
        normalize: Normalize = "none",
        references: Literal["best", "mean"] = "best",
    ) -> None:
        super().__init__(references=references)
        self.level = level
        self.lowercase = lowercase
        self.normalize = normalize or "none"

    def settings(self) -> Mapping[str, object]:
        return {"level": self.level, "case": "lc" if self.lowercase else "mixed", "norm": self.normalize}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        from rapidfuzz.distance import Levenshtein as Edits
        from rapidfuzz.process import cpdist

        scores: list[Score] = []
        for block in blocks(cases, self.normalize):
            rows: Sequence[Sequence[object]] = [t.lower() if self.lowercase else t for t in block.texts]
            if self.level == "word":
                rows = _plain_words().encode(tuple(str(row) for row in rows)).sequences()
            lengths = np.array([len(row) for row in rows])
            longer = np.maximum(lengths[block.candidate], lengths[block.reference])
            pairs = list(block.pairs())
            edits = cpdist(
                [rows[c] for c, _ in pairs], [rows[r] for _, r in pairs], scorer=Edits.distance, dtype=np.int64
            )
            values = 1 - edits / np.maximum(longer, 1)
            scores += [Score(v, parts={"edits": float(e)}) for v, e in zip(values.tolist(), edits.tolist())]
        return scores


@cache
def _plain_words() -> Lexicon:
    return Lexicon(str.split)
