"""How pairs are shown."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from medassay.training.reader.material import LABELS, Pair, held_out
from medassay.training.reader.pack import Encoded, Excerpts, expanded, pack, stretch

TEXT = " ".join(f"Sentence number {i} speaks of finding {i}." for i in range(40))


def _embed(texts: Sequence[str]) -> np.ndarray:
    return np.ones((len(texts), 4), np.float32)


def _encode(texts: Sequence[str]) -> list[Encoded]:
    return [Encoded([5] * len(text), [(i, i + 1) for i in range(len(text))]) for text in texts]


def _document(apart: bool) -> str:
    return next(name for name in (f"document {i}" for i in range(1000)) if held_out(name) == apart)


def test_a_stretch_holds_the_deciding_words() -> None:
    start = TEXT.index("number 23")
    pair = Pair("a", "d", TEXT, "s", LABELS["supported"], at=(start, start + 9))
    for seed in range(50):
        part = stretch(pair, random.Random(seed), 100, 300)
        assert part.at is not None
        assert part.text[slice(*part.at)] == "number 23"
        assert len(part.text) < 500


def test_the_end_of_a_text_says_nothing_of_the_label() -> None:
    kinds = (("supported", "Free of tumour."), ("contradicted", "Free of tumour"))
    pairs = [Pair("a", _document(False), text, "Clear", LABELS[label]) for label, text in kinds for _ in range(400)]
    rows = [pair for pair, _ in expanded(pairs, Excerpts(_embed), seed=1)]
    assert {pair.statement for pair in rows} == {"Clear."}
    shares = [np.mean([pair.text.endswith(".") for pair in rows if pair.label == LABELS[label]]) for label, _ in kinds]
    assert abs(shares[0] - shares[1]) < 0.1


def test_held_out_pairs_are_shown_once_as_in_use() -> None:
    pair = Pair("a", _document(True), TEXT, "Finding 3", LABELS["not_stated"], passes=4)
    assert [apart for _, apart in expanded([pair], Excerpts(_embed), seed=1)] == [True]


def test_pairs_of_files_that_a_reader_has_not_learnt_from_are_new(tmp_path: Path) -> None:
    pairs = [Pair("a", "d", "Text.", "Statement.", 0, file=file) for file in ("", "nli/a.jsonl", "nli/b.jsonl")]
    for learnt_from, expected in ((["nli/a.jsonl"], [0, 0, 1]), ([], [0, 1, 1]), (None, [0, 0, 0])):
        pack([(pair, False) for pair in pairs], _encode, tmp_path / "pairs.npz", learnt_from)
        with np.load(tmp_path / "pairs.npz") as packed:
            assert packed["new"].tolist() == expected


def test_pairs_that_are_seen_often_are_shown_in_part_too() -> None:
    pair = Pair("a", _document(False), TEXT, "Finding 77", LABELS["not_stated"], passes=4)
    rows = [row for row, _ in expanded([pair], Excerpts(_embed), seed=1)]
    assert len(rows) == 2
    assert sum(row.passes for row in rows) == 4
    assert min(len(row.text) for row in rows) < len(TEXT) / 2
