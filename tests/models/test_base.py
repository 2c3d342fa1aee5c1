"""Every embedded role offers what its contract names."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from medassay.models import base, load

CONTRACTS: dict[str, Any] = {
    "encoder": base.Encoder,
    "align": base.Encoder,
    "ner": base.EntityModel,
    "re": base.RelationModel,
    "expert": base.ExpertModel,
    "checker": base.CheckerModel,
    "nli": base.NliModel,
    "quality": base.QualityModel,
    "likelihood": base.LikelihoodModel,
    "image": base.ImageModel,
}


@pytest.mark.parametrize("role", CONTRACTS)
def test_an_embedded_role_offers_its_contract(embedded: Path, role: str) -> None:
    contract = CONTRACTS[role]
    methods = {name for name, value in vars(contract).items() if callable(value) and not name.startswith("_")}
    model = load(cast(Any, role))
    assert methods
    assert [name for name in sorted(methods | set(contract.__annotations__)) if not hasattr(model, name)] == []
