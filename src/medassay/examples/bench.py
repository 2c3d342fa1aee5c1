"""The texts of the bundled benchmark: documents with faithful, wrong and unrelated versions, and claims about them.

Every text was written for medassay (`corpus/README.md`) and none is trained on. In a checkout they are read from
`corpus/bench`; an installed package carries the same files beside this module.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medassay.errors import InputError

KINDS = ("pathology", "notes", "radiology")
"""The kinds of text, each a file."""

FORMS = ("copy", "paraphrase", "error", "contradictory", "graded", "unrelated")
"""What a version is to its document. `error`: one planted error; `contradictory`: it contradicts itself."""

SELF = "self"
"""The kind of error of a text that contradicts itself."""

_PLACES = (Path(__file__).with_name("bench_texts"), Path(__file__).parents[3] / "corpus" / "bench")


@dataclass(frozen=True, slots=True)
class Version:
    """A text to be scored against its document.

    kind, severity: of the error, where there is one. wording: `verbatim` or `reworded`, of what surrounds the error.
    level: of a graded text, 1 (fit as it is) to 4 (dangerous); else 0.
    """

    form: str
    text: str
    kind: str = ""
    severity: str = ""
    wording: str = ""
    level: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement about a document: its label is `supported`, `not_stated` or `contradicted`."""

    text: str
    label: str
    kind: str
    severity: str


@dataclass(frozen=True, slots=True)
class Document:
    """A text of the benchmark with its versions, in the order of `FORMS`, and the claims about it."""

    id: str
    kind: str
    text: str
    versions: tuple[Version, ...]
    claims: tuple[Claim, ...]


def read_bench(kinds: Sequence[str] = KINDS, every: int = 1) -> list[Document]:
    """The documents of these kinds, or every n-th of each kind.

    >>> len(read_bench()), len(read_bench(["notes"], every=5))
    (300, 20)
    """
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise InputError(f"no benchmark texts of kind '{unknown[0]}'; there are {', '.join(KINDS)}")
    return [document for kind in kinds for document in list(_documents(kind))[::every]]


def _documents(kind: str) -> Iterator[Document]:
    folder = next((folder for folder in _PLACES if folder.is_dir()), None)
    if folder is None:
        raise InputError(f"the benchmark's texts are missing from {_PLACES[0]}; install medassay again")
    records = [json.loads(line) for line in (folder / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()]
    for i, record in enumerate(records):
        # The text of a document half the list away, which speaks of something else.
        stranger = records[(i + len(records) // 2) % len(records)]["text"]
        claims = tuple(Claim(c["claim"], c["label"], c["kind"], c["severity"]) for c in record["claims"])
        yield Document(record["id"], kind, record["text"], tuple(_versions(record, stranger)), claims)


def _versions(record: dict[str, Any], stranger: str) -> Iterator[Version]:
    yield Version("copy", record["text"])
    for text in record["paraphrases"]:
        yield Version("paraphrase", text)
    for error in record["errors"]:
        yield Version("error", error["text"], error["kind"], error["severity"], error["form"])
    yield Version("contradictory", record["contradictory"]["text"], SELF, "critical", "verbatim")
    for graded in record["graded"]:
        yield Version("graded", graded["text"], level=graded["level"])
    yield Version("unrelated", stranger)
