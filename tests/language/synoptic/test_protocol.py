"""Protocols: what each organ asks for, and how their expressions are written."""

from __future__ import annotations

import pytest

from medassay.language.synoptic import ELEMENTS, ORGANS, load_protocol
from medassay.language.synoptic.protocol import blank_value, compiled, organ_words


@pytest.mark.parametrize("organ", ORGANS)
def test_every_protocol_loads_and_asks_for_the_diagnosis(organ: str) -> None:
    protocol = load_protocol(organ)
    assert {"site", "procedure", "type"} <= set(protocol.required) <= set(ELEMENTS)
    assert set(protocol.required.values()) <= {"always", "resection"}
    assert protocol.observable < set(ELEMENTS)
    assert all(low <= high for low, high in protocol.sizes.values())


def test_a_space_takes_stray_stops_and_a_tilde_nothing_too() -> None:
    assert compiled("tumor size").search("TUMOR. SIZE") and not compiled("tumor size").search("tumorsize")
    assert compiled("pT~2").search("pT2") and compiled("pT~2").search("pT. 2")
    assert compiled("[ ~]x").search("~x") and not compiled("pT", exact=True).search("PT")


def test_named_expressions_are_put_in() -> None:
    assert compiled("^@unit@").search("mm") and not compiled("^@unit@").search("kg")


def test_every_organ_is_named_by_some_word() -> None:
    assert {organ for organ, _, _ in organ_words()} == set(ORGANS)


def test_a_value_that_says_nothing() -> None:
    assert blank_value().match("Not specified") and not blank_value().match("3 cm")
