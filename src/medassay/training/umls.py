"""A UMLS release as a knowledge graph: MRCONSO.RRF (names) and MRREL.RRF (relations), read line by line.

Columns as in the UMLS Reference Manual, chapter 3 ("Metathesaurus - Rich Release Format"). English names that
are not suppressed; of the relations that stand in both directions, one direction. The licence of the release
covers what is trained from it: keep such a model to yourself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from medassay.errors import InputError
from medassay.language.terms import key, words
from medassay.training.triples import IS_A, LONGEST, Graph, make_graph

NAMES_FILE, RELATIONS_FILE = "MRCONSO.RRF", "MRREL.RRF"
_NAME_COLUMNS, _RELATION_COLUMNS = 18, 16
_BROADER = ("PAR", "RB")
_LEFT_OUT = ("CHD", "RN", "SIB", "SY", "AQ", "QB", "DEL", "XR")
"""Inverses of what is kept, siblings (their parent says it), synonyms and qualifiers."""


def read_umls(folder: Path, sources: Collection[str] = ()) -> Graph:
    """The concepts that have an English name and a relation; `sources` keeps those vocabularies (SAB) alone.

    Memory grows with the concepts and relations that are kept, not with the files.
    """
    labels, names = _read_names(folder / NAMES_FILE, set(sources))
    if not labels:
        which = f" of {', '.join(sorted(sources))}" if sources else ""
        raise InputError(f"{folder / NAMES_FILE}: no English name{which} that is not suppressed")
    edges = _read_relations(folder / RELATIONS_FILE, labels, set(sources))
    return make_graph(labels, edges, names, source=f"UMLS {folder.name}")


def _rows(path: Path, columns: int) -> Iterator[Sequence[str]]:
    """The cells of each line; every line of an RRF file ends with a bar."""
    try:
        stream = path.open(encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); --umls is a folder with {NAMES_FILE} and {RELATIONS_FILE}"
        ) from error
    with stream:
        try:
            for number, line in enumerate(stream, 1):
                cells = line.rstrip("\r\n").split("|")
                if len(cells) != columns + 1:
                    raise InputError(
                        f"{path}, line {number}: {len(cells) - 1} columns where {columns} are needed; "
                        "is it in Rich Release Format, and whole?"
                    )
                yield cells
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: not UTF-8 ({error}); unpack the release again") from error


def _read_names(path: Path, sources: Collection[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Preferred label by concept, and concept by the normal form of each of its names.

    A name that several concepts have goes to one that prefers it (TS = P, STT = PF, ISPREF = Y), then to the
    first in the file.
    """
    labels: dict[str, tuple[int, str]] = {}
    names: dict[str, tuple[int, str]] = {}
    for cells in _rows(path, _NAME_COLUMNS):
        concept, language, status, _, form, _, preferred = cells[:7]
        source, text, suppressed = cells[11], cells[14], cells[16]
        if language != "ENG" or suppressed in ("O", "E", "Y") or (sources and source not in sources):
            continue
        rank = (status != "P") * 4 + (form != "PF") * 2 + (preferred != "Y")
        if concept not in labels or rank < labels[concept][0]:
            labels[concept] = (rank, text)
        if 1 <= len(words(text)) <= LONGEST:
            folded = key(text)
            if folded not in names or rank < names[folded][0]:
                names[folded] = (rank, concept)
    return {c: text for c, (_, text) in labels.items()}, {form: c for form, (_, c) in names.items()}


def read_synonyms(path: Path) -> dict[str, tuple[str, ...]]:
    """The English names of each concept of an MRCONSO.RRF that are not suppressed, the preferred one first."""
    names: dict[str, dict[str, int]] = {}
    for cells in _rows(path, _NAME_COLUMNS):
        concept, language, status, _, form, _, preferred = cells[:7]
        if language != "ENG" or cells[16] in ("O", "E", "Y"):
            continue
        rank = (status != "P") * 4 + (form != "PF") * 2 + (preferred != "Y")
        ranks = names.setdefault(concept, {})
        ranks[cells[14]] = min(rank, ranks.get(cells[14], rank))
    return {concept: tuple(sorted(ranks, key=lambda name: ranks[name])) for concept, ranks in names.items()}


def _read_relations(path: Path, known: Collection[str], sources: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Triples of two known concepts. REL and RELA say what the second concept is to the first."""
    for cells in _rows(path, _RELATION_COLUMNS):
        first, relation, second, label = cells[0], cells[3], cells[4], cells[7]
        source, direction, suppressed = cells[10], cells[13], cells[14]
        if suppressed in ("O", "E", "Y") or (sources and source not in sources):
            continue
        if first not in known or second not in known or relation in _LEFT_OUT:
            continue
        if relation in _BROADER:
            yield first, IS_A, second
        # Others stand in the file twice, once each way: the way the source asserted, else by the order of the ids.
        elif label and (direction == "Y" or (direction == "" and first < second)):
            yield second, label, first
