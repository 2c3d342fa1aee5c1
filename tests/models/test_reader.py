"""The reader's rows, and its answers by graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from medassay.models.graphs import ModelSet
from medassay.models.reader import BEGIN, END, LONGEST, SHIFT, STATEMENT_TOKENS, Reader, as_sentence, laid_out, suffix


def test_a_row_has_the_text_before_the_statement() -> None:
    row, text_tokens = laid_out([5, 6], [7])
    assert row == [BEGIN, 5 + SHIFT, 6 + SHIFT, END, END, 7 + SHIFT, END]
    assert text_tokens == 2


@pytest.mark.parametrize(
    ("text", "statement", "expected"),
    [
        (1000, 10, (LONGEST - 4 - 10, 10)),
        (1000, 1000, (LONGEST - 4 - STATEMENT_TOKENS, STATEMENT_TOKENS)),
        (100, 1000, (100, LONGEST - 4 - 100)),
    ],
)
def test_a_long_pair_fills_the_row(text: int, statement: int, expected: tuple[int, int]) -> None:
    row, text_tokens = laid_out([5] * text, [7] * statement)
    assert len(row) == LONGEST
    assert (text_tokens, row.count(7 + SHIFT)) == expected


def test_a_statement_ends_with_a_full_stop() -> None:
    assert [as_sentence(text) for text in ("Cough ", "Cough.", "Cough?")] == ["Cough.", "Cough.", "Cough?"]


def test_a_variant_is_part_of_the_name() -> None:
    assert [suffix(variant) for variant in ("embedded", "fast", "gpu")] == ["", "-fast", "-gpu"]


def test_answers_do_not_depend_on_their_neighbours(embedded: Path) -> None:
    models = ModelSet(embedded)
    texts = ("Two of nine nodes hold carcinoma.", "Nodal metastasis is present.", "All nodes are free.")
    ids = [tuple(tokens.ids) for tokens in models.tokenizer(texts)]
    pairs = [(ids[0], ids[1]), (ids[0], ids[2])]
    together = Reader(models, fast=True).read(pairs)
    alone = [Reader(models, fast=True).read([pair])[0] for pair in pairs]
    for first, second in zip(together, alone, strict=True):
        assert first.early
        assert np.array_equal(first.verdict, second.verdict) and np.array_equal(first.place, second.place)
    assert [len(answer.place) for answer in together] == [len(ids[0])] * 2
