"""Role `kge`: vectors of a knowledge graph's concepts, and the names by which a text is searched for them.

The embedded vectors are of medassay's own terminology; a folder made by `medassay train kge` may bring a
terminology of its own (UMLS, OBO files).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from medassay.errors import ModelError
from medassay.models.base import Matrix
from medassay.models.graphs import ModelSet, write_manifest, write_record

FILE = "kge.npz"
Codes = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Terms:
    """A terminology that came with the vectors: concepts by row, and the row of each name in its normal form."""

    ids: Sequence[str]
    labels: Sequence[str]
    names: Mapping[str, int]


class ConceptVectors:
    """Unit vectors of concepts by id; their cosine says how related two concepts are, −1 to 1."""

    def __init__(self, models: ModelSet) -> None:
        self.models = models
        self.file = str(models.role("kge")["file"])
        digest = next(e["sha256"] for e in models.manifest["files"] if e["name"] == self.file)
        self.name = f"{models.name}/kge@{digest[:8]}"

    @cached_property
    def _table(self) -> tuple[Mapping[str, int], Codes, Terms | None]:
        path = self.models.file(self.file)
        try:
            with np.load(path, allow_pickle=False) as arrays:
                text = {name: arrays[name].tobytes().decode() for name in ("ids", "labels", "names")}
                codes: Codes = arrays["vectors"]
                places = arrays["name_rows"].tolist()
        except (OSError, ValueError, KeyError) as error:
            raise ModelError(f"{path}: not a file of concept vectors ({error}); make it with train kge") from error
        ids = text["ids"].split("\n")
        terms = Terms(ids, text["labels"].split("\n"), dict(zip(text["names"].split("\n"), places))) if places else None
        return {identity: row for row, identity in enumerate(ids)}, codes, terms

    @property
    def size(self) -> int:
        """Numbers per vector."""
        return int(self._table[1].shape[1])

    def __contains__(self, identity: str) -> bool:
        return identity in self._table[0]

    def __len__(self) -> int:
        return len(self._table[0])

    def vectors(self, ids: Sequence[str]) -> Matrix:
        """Unit vectors [ids, size] of known concepts.

        >>> from medassay.models import load
        >>> a, b, c = load("kge").vectors(["MONDO:0005148", "MONDO:0005015", "UBERON:0002107"])
        >>> bool(a @ b > 0.5 > a @ c)  # type 2 diabetes mellitus, diabetes mellitus, liver
        True
        """
        rows, codes, _ = self._table
        picked = codes[[rows[identity] for identity in ids]].astype(np.float32)
        vectors: Matrix = picked / np.maximum(np.linalg.norm(picked, axis=1, keepdims=True), 1e-12)
        return vectors

    @property
    def terms(self) -> Terms | None:
        """The terminology to search texts with; None where it is medassay's own."""
        return self._table[2]


def quantise(vectors: Matrix) -> Codes:
    """Rows in 8 bits, each scaled to its largest number; the scale does not change the cosine."""
    largest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-12)
    codes: Codes = np.rint(vectors / largest * 127).astype(np.int8)
    return codes


def write_vectors(
    path: Path, ids: Sequence[str], codes: Codes, names: Mapping[str, int], labels: Sequence[str], source: str
) -> None:
    """Write the file of vectors; labels are stored where names are, for showing the concepts that were found."""
    forms = sorted(names)
    packed: dict[str, Any] = {
        name: np.frombuffer("\n".join(many).encode(), np.uint8)
        for name, many in (("ids", ids), ("labels", [_one_line(x) for x in labels] if names else []), ("names", forms))
    }
    packed["source"] = np.frombuffer(source.encode(), np.uint8)
    np.savez_compressed(path, vectors=codes, name_rows=np.array([names[f] for f in forms], np.uint32), **packed)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def write_kge(
    out: Path,
    ids: Sequence[str],
    codes: Codes,
    names: Mapping[str, int],
    labels: Sequence[str],
    source: str,
    figures: Mapping[str, float],
) -> None:
    """A model folder that `models.load("kge", folder)` reads: vectors, manifest, held-out figures."""
    out.mkdir(parents=True, exist_ok=True)
    write_vectors(out / FILE, ids, codes, names, labels, source)
    origin = {"licence": "as the terminology it was trained on", "source": source}
    write_manifest(out, "trained-kge", {"kge": {"file": FILE}}, origin)
    write_record(out, "kge", figures)
