"""Lists of markers that share one result: "CD5 and CD10 negative", "retained MLH1, PMS2 and MSH2"."""

from __future__ import annotations

from itertools import pairwise

from medassay.language.lexicon import named_pattern
from medassay.language.syntax import Chunk, Sentence


def share_results(sentence: Sentence, chunks: list[Chunk]) -> None:
    """A result goes with every marker of its list: "CD5 and CD10 negative", "retained MLH1, PMS2 and MSH2"."""
    shared = ""
    for chunk in chunks:
        first, last = _bounds(sentence, chunk)
        listed = chunk.kind == "item" and _is_marker(sentence, first, last)
        if listed and shared:
            chunk.prefix = shared
        elif not listed:
            shared = sentence.words[first] if _opens_with_result(sentence, chunk) else ""
    for chunk, after in reversed(list(pairwise(chunks))):
        result = after.suffix or _result_at_end(sentence, after)
        if after.kind == "item" and result and not chunk.suffix and _is_marker(sentence, *_bounds(sentence, chunk)):
            chunk.suffix = result if not chunk.prefix else ""


def _bounds(sentence: Sentence, chunk: Chunk) -> tuple[int, int]:
    """The words of a chunk without the punctuation around them."""
    first, last = chunk.first, chunk.last
    while last > first and sentence.words[last - 1] in (",", ";", ".", "and", "or"):
        last -= 1
    return first, last


def _is_marker(sentence: Sentence, first: int, last: int) -> bool:
    return named_pattern("marker name").fullmatch(sentence.quote(first, last)) is not None


def states_result(sentence: Sentence, chunk: Chunk) -> bool:
    """Whether a chunk is a marker with its result, and so needs nothing of the words before it."""
    return _opens_with_result(sentence, chunk) or bool(_result_at_end(sentence, chunk))


def _opens_with_result(sentence: Sentence, chunk: Chunk) -> bool:
    first, last = _bounds(sentence, chunk)
    return last - first > 1 and sentence.is_any(first, "result") and _is_marker(sentence, first + 1, last)


def _result_at_end(sentence: Sentence, chunk: Chunk) -> str:
    """The result of "cyclin D1 negative"; empty where a chunk is no marker with its result after it."""
    first, last = _bounds(sentence, chunk)
    stated = last - first > 1 and sentence.is_any(last - 1, "result") and _is_marker(sentence, first, last - 1)
    return sentence.words[last - 1] if stated else ""
