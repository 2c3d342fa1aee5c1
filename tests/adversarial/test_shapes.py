"""Text of any shape is read in near-linear time: every reader, every shape, under a limit that ends in a kill.

The limit is generous, so that a busy machine fails nothing: what it finds is time that grows with the square of a text,
or doubles with each character. `make test` reads short texts of every shape, and longer ones of a few. The marker
`shapes` reads every shape up to 10,000 characters and a few at 100,000; with ALL_SHAPES=1 in the environment, all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import pytest
from tests.adversarial.shapes import SHAPES, SIZES, Reader, Runner, functions, metrics, text_of

LIMIT = 120.0
"""Seconds of one call; the slowest takes a few."""
FEW = ("spaces", "digits", "newlines", "fractions", "percentages", "dimensions", "capitals", "and and", "semicolons")
"""Shapes that have been too much for some reader."""
ALL = bool(os.environ.get("ALL_SHAPES"))
LONG = list(SHAPES) if ALL else ("spaces", "digits", "percentages", "dimensions", "capitals")
"""Shapes that are read at 100,000 characters."""


@cache
def lexical() -> Mapping[str, Reader]:
    return metrics(with_models=False)


@cache
def with_models() -> Mapping[str, Reader]:
    return metrics(with_models=True)


def complaints(readers: Mapping[str, Reader], shapes: Sequence[str], sizes: Sequence[int]) -> Iterator[str]:
    """Every call that was killed or raised; after one, longer texts of that shape are left to it."""
    runner = Runner(readers, LIMIT)
    try:
        for name in readers:
            for shape in shapes:
                for size in sizes:
                    answer = runner.run(name, shape, size)
                    if isinstance(answer, str):
                        yield f"{name}, {shape}, {size:,} characters: {answer}"
                        break
    finally:
        runner.close()


def check(name: str, readers: Mapping[str, Reader]) -> None:
    """Every shape of middle length, then the long ones."""
    assert list(complaints({name: readers[name]}, list(SHAPES), SIZES[1:2])) == []
    assert list(complaints({name: readers[name]}, LONG, SIZES[2:])) == []


def test_the_tables_are_as_large_as_promised() -> None:
    assert len(SHAPES) >= 41
    assert all(len(text_of(shape, 1_000)) == 1_000 for shape in SHAPES)
    assert {"statements.split", "sentences.sentences", "sections.sections", "mentions.mentions", "numbers.numbers"} <= {
        *functions()
    }
    assert {"quantities.quantities", "grades.normalise_grade", "passages.passages", "passages.comparable"} <= {
        *functions()
    }
    assert {"rules.compare", "assertion.by_rule"} <= {*functions()}
    assert {"metric rouge1", "metric rougeLsum", "metric bleu", "metric chrf", "metric meteor"} <= {*lexical()}
    assert {"metric logic", "metric hare"} <= {*with_models()}


def test_a_reader_that_takes_too_long_is_killed_and_named() -> None:
    import re

    runner = Runner({"slow": lambda text: re.match(r"(a+)+$", text[:60] + "b"), "quick": len}, 1.0)
    try:
        assert runner.run("slow", "lower case", 1_000) == "killed after 1 s"
        assert isinstance(runner.run("quick", "lower case", 1_000), float)
        assert runner.run("missing", "lower case", 10) == "KeyError: 'missing'"
    finally:
        runner.close()


def test_every_reader_reads_short_texts_of_every_shape() -> None:
    assert list(complaints({**functions(), **lexical()}, list(SHAPES), SIZES[:1])) == []


def test_every_reader_reads_long_texts_of_shapes_that_were_too_much() -> None:
    assert list(complaints(functions(), FEW, SIZES[1:2])) == []


@pytest.mark.shapes
@pytest.mark.parametrize("name", sorted(functions()))
def test_readers(name: str) -> None:
    check(name, functions())


@pytest.mark.shapes
@pytest.mark.parametrize("name", sorted(lexical()))
def test_metrics(name: str) -> None:
    check(name, lexical())


@pytest.mark.shapes
@pytest.mark.parametrize("name", sorted(with_models()))
def test_metrics_with_models(name: str) -> None:
    """A model takes its time for every word: what is looked for here is what the rules around it do."""
    assert list(complaints({name: with_models()[name]}, FEW if ALL else FEW[3:6], SIZES[:1])) == []
