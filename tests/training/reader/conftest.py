"""Packed pairs with a rule to learn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from medassay.models.graphs import HOME, ModelSet
from medassay.models.reader import SHIFT

if TYPE_CHECKING:
    from medassay.training.reader.train import Packed


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    """A statement is supported if it says `yes`, not stated if `maybe`, contradicted if `no`."""
    from medassay.training.reader.material import Pair, held_out
    from medassay.training.reader.pack import Encoded, pack
    from medassay.training.reader.train import Packed

    def encode(texts: Any) -> list[Encoded]:
        tokenizer = ModelSet(HOME).tokenizer
        return [Encoded([i + SHIFT for i in tokens.ids], tokens.offsets) for tokens in tokenizer(texts)]

    rows = []
    for i in range(240):
        word = ("yes", "maybe", "no")[i % 3]
        text = f"case {i} has a mass of {i % 40} mm in the kidney"
        pair = Pair("planted", text, text, f"{word} mass", i % 3, 0 if i % 3 == 2 else None, i % 2, (0, 4), passes=8)
        pair = replace(pair, file="new.jsonl" if i % 2 else "")
        rows.append((pair, held_out(text)))
    path = tmp_path_factory.mktemp("packed") / "pairs.npz"
    pack(rows, encode, path, learnt_from=())
    return Packed(path)
