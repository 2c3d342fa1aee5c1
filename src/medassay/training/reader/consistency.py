"""Pairs from inside one text: passages that contradict each other, and passages of sound texts, which do not.

Nothing but the meaning may tell the two apart. Conflicting passages are therefore given both as they were quoted and
as whole sentences, and sound texts give both sentences and single statements.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from medassay.language.passages import passages
from medassay.language.statements import split
from medassay.training.reader.material import LABELS, NOT_CONTRADICTED, Pair, find, read_csv, read_jsonl

_SHORTEST, _LONGEST = 12, 350
"""Characters of a passage that is paired."""

_SOUND_SUMMARIES = 3_000
_LEFT_OUTS = 4
"""Passages of a sound version that are each held against the rest, where other versions contradict themselves."""

_HIGHEST_SOUND_LEVEL = 1
"""Reports of graded wrongness up to this level do not contradict themselves."""


def consistency_pairs(data: Path, corpus: Path, seed: int = 1) -> Iterator[Pair]:
    """All pairs from inside one text."""
    chooser = random.Random(seed)
    yield from _consistency(data, corpus, chooser)
    yield from graded_pairs(data, corpus, chooser)
    yield from _sound_texts(data, corpus, chooser)


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text."""
    return [passage.text for passage in passages(text)]


def sentence_with(text: str, quote: str) -> str | None:
    """The sentence of a text that holds a quote; None where the quote is not in one sentence."""
    return next((sentence for sentence in sentences(text) if find(sentence, quote)), None)


def _consistency(data: Path, corpus: Path, chooser: random.Random) -> Iterator[Pair]:
    records = [("", record) for record in read_jsonl(data / "nli/consistency.jsonl")]
    for path in sorted((corpus / "consistency").glob("*.jsonl")):
        records += [(f"consistency/{path.name}", record) for record in read_jsonl(path)]
    for file, record in records:
        consistent = record["consistent"]
        first, second = record["parts"]
        label = LABELS["not_stated"]
        pair = Pair("consistency", consistent, consistent, record["neutral"], label, passes=3, file=file)
        yield pair
        yield from _conflict(replace(pair, label=LABELS["contradicted"]), record["contradictory"], first, second)
        for quote in (first, second):
            at = find(consistent, quote)
            yield replace(pair, statement=quote, label=LABELS["supported" if at else "contradicted"], at=at)
        yield from _sound(replace(pair, passes=1), consistent, chooser, _LEFT_OUTS)


def graded_pairs(data: Path, corpus: Path, chooser: random.Random) -> Iterator[Pair]:
    """Conflicting passages of graded reports that contradict themselves, and passages of sound ones."""
    records = [("", record) for record in read_jsonl(data / "histology/graded.jsonl")]
    for path in sorted((corpus / "graded").glob("*.jsonl")):
        records += [(f"graded/{path.name}", record) for record in read_jsonl(path)]
    for file, record in records:
        pair = Pair("graded", record["image"], "", "", LABELS["contradicted"], passes=3, file=file)
        if len(record["parts"]) == 2:
            yield from _conflict(pair, record["report"], *record["parts"])
        elif record["level"] <= _HIGHEST_SOUND_LEVEL:
            yield from _sound(replace(pair, passes=1.5), record["report"], chooser, _LEFT_OUTS)


def _conflict(pair: Pair, text: str, first: str, second: str) -> Iterator[Pair]:
    """Two conflicting passages, both ways: as quoted, as the sentences that hold them, and one sentence of the two
    against the rest of the text."""
    yield replace(pair, text=first, statement=second)
    yield replace(pair, text=second, statement=first)
    sentence_of_first, sentence_of_second = sentence_with(text, first), sentence_with(text, second)
    if sentence_of_first and sentence_of_second and sentence_of_first != sentence_of_second:
        for own, other, decides in (
            (sentence_of_first, sentence_of_second, second),
            (sentence_of_second, sentence_of_first, first),
        ):
            yield replace(pair, text=other, statement=own)
            rest = " ".join(sentence for sentence in sentences(text) if sentence != own)
            yield replace(pair, text=rest, statement=own, at=find(rest, decides))


def _sound(pair: Pair, text: str, chooser: random.Random, left_outs: int = 1) -> Iterator[Pair]:
    """Passages of a sound text, and of `left_outs` each against the rest: whatever else, they do not contradict."""
    pair = replace(pair, label=NOT_CONTRADICTED, at=None)
    cut = sentences(text)
    for pieces in (cut, [statement.text for statement in split(text)]):
        yield from (replace(pair, text=first, statement=second) for first, second in _two(pieces, chooser))
    if len(cut) > 2:
        for left_out in chooser.sample(range(len(cut)), min(left_outs, len(cut))):
            rest = " ".join(cut[:left_out] + cut[left_out + 1 :])
            yield replace(pair, text=rest, statement=cut[left_out])


def _two(pieces: Sequence[str], chooser: random.Random) -> list[tuple[str, str]]:
    """Two different passages in random order, as a list of one pair; none where there are not two."""
    fitting = sorted({passage for passage in pieces if _SHORTEST < len(passage) < _LONGEST})
    if len(fitting) < 2:
        return []
    first, second = chooser.sample(fitting, 2)
    return [(first, second)]


def _sound_texts(data: Path, corpus: Path, chooser: random.Random) -> Iterator[Pair]:
    summaries = [row["summary"] for row in read_csv(data / "tcga/summaries.csv.gz")]
    sound = chooser.sample(summaries, min(_SOUND_SUMMARIES, len(summaries)))
    sound += [row["section_text"] for row in read_csv(data / "mts_dialog/train.csv")]
    for path in sorted((corpus / "ladders").glob("*.jsonl")):
        sound += [record["text"] for record in read_jsonl(path)]
    for text in sound:
        yield from _sound(Pair("sound_texts", text, "", "", passes=1), text, chooser)
    for row in read_csv(data / "tcga/reports.csv.gz"):
        for first, second in _two(sentences(row["text"]), chooser):
            yield Pair("sound_texts", row["text"], first, second, NOT_CONTRADICTED, passes=1)
