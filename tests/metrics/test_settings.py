"""Settings of metrics: ranges, their words, and numbers of things that are not metrics."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest

from medassay.errors import MedassayError
from medassay.metrics.rouge import Rouge1
from medassay.metrics.settings import Range, check_settings, describe, number, parameters, read_setting


def test_a_range_includes_its_ends() -> None:
    assert 0 in Range(0, 1) and 1 in Range(0, 1) and 1.01 not in Range(0, 1)
    assert -5 in Range(None, 1) and 10**9 in Range(0)
    assert [str(span) for span in (Range(), Range(1), Range(None, 2), Range(0, 1))] == [
        "", " of at least 1", " of at most 2", " from 0 to 1",
    ]  # fmt: skip


def test_settings_are_read_and_described_by_their_type() -> None:
    assert read_setting("0.5", Annotated[float | None, Range(0, 1)]) == 0.5
    assert read_setting("yes", bool) is True
    assert describe(Annotated[float, Range(0)]) == "a number of at least 0"
    assert describe(Literal["best", "mean"]) == "one of best, mean"


def test_settings_that_a_class_passes_on_are_known() -> None:
    assert list(parameters(Rouge1)) == ["stem", "normalize", "references"]
    with pytest.raises(MedassayError, match="rouge1: references: 'bset' is not one of best, mean"):
        check_settings(Rouge1, {"references": "bset"})


def test_a_number_of_something_that_is_not_a_metric() -> None:
    assert number("subject: timeout", 2, 0) == 2.0
    for wrong in (0.5, -1, True, "3"):
        with pytest.raises(MedassayError, match=r"subject: calls: .* is not a whole number of at least 0"):
            number("subject: calls", wrong, 0, whole=True)
