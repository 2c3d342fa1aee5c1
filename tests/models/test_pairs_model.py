"""The pair model of a set: heads by name, each distinct pair read once, one model for all roles of a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medassay.errors import ModelError
from medassay.models.graphs import ModelSet
from medassay.models.pairs_model import PairsModel, open_pairs

PAIRS = [("The margins are free.", "Margins are free of tumour."), ("No tumour.", "There is a tumour.")]


def test_a_head_gives_a_row_per_pair(embedded: Path) -> None:
    model = PairsModel(ModelSet(embedded), "quality")
    numbers = model.run([*PAIRS, PAIRS[0]], "quality")
    assert numbers.shape == (3, 1)
    assert np.array_equal(numbers[0], numbers[2])
    assert model.run([], "quality").shape == (0, 1)


def test_an_unknown_head_is_named_with_the_ones_there_are(embedded: Path) -> None:
    with pytest.raises(ModelError, match=r"no head 'mood'; it has .*quality"):
        PairsModel(ModelSet(embedded), "quality").run(PAIRS, "mood")


def test_a_pair_is_read_once(embedded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = PairsModel(ModelSet(embedded), "quality")
    rows: list[int] = []
    run = model.models.run

    def counted(graph: str, feeds: Any) -> list[Any]:
        rows.append(len(feeds["mask"]))
        return run(graph, feeds)

    monkeypatch.setattr(model.models, "run", counted)
    first = model.read([PAIRS[0], PAIRS[0]])
    assert model.read([PAIRS[0]]) == first[:1]
    assert rows == [2], "a single row is given twice, and once only"


def test_roles_of_a_graph_share_the_model(embedded: Path) -> None:
    models = ModelSet(embedded)
    assert open_pairs(models, "quality") is open_pairs(models, "quality")
