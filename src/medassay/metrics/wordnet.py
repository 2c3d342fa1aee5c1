"""Synonyms from an installed WordNet dictionary (Miller 1995), read from its own files.

Debian's `wordnet-base` puts them under /usr/share/wordnet; `$WNSEARCHDIR` (the folder itself) and
`$WNHOME` (the folder above `dict`) are honoured first, as WordNet's own programs do. Lookup goes by
WordNet's morphology, so that `tumours` finds `tumour`. Answers are those of nltk's WordNet reader.
"""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache, cached_property, lru_cache
from pathlib import Path

from medassay.errors import MedassayError

_POS = ("noun", "verb", "adj", "adv")

# Endings that are taken off, and what is put back (morphy, WordNet's manual).
_ENDINGS = {
    "noun": (
        ("s", ""),
        ("ses", "s"),
        ("ves", "f"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "verb": (
        ("s", ""),
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
    ),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}


class WordNet:
    """One dictionary folder; files are read when first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.synonyms = lru_cache(maxsize=2**16)(self._synonyms)

    def __reduce__(self) -> tuple[object, ...]:
        return _opened, (str(self.folder),)  # another process reads the files itself

    @cached_property
    def version(self) -> str:
        """The release its files name (`3.0`), or a short hash of them where they name none."""
        head = self._bytes("data.noun")
        named = re.search(rb"WordNet (\d+\.\d+)", head[:4096])
        return named[1].decode() if named else hashlib.sha256(head).hexdigest()[:8]

    def _synonyms(self, word: str) -> frozenset[str]:
        """Single words that share a meaning with `word`, in any part of speech; itself included."""
        synonyms = {word}
        for pos in _POS:
            for form in self._forms(word.lower(), pos):
                for offset in self._offsets(form, pos):
                    synonyms.update(name for name in self._lemmas(pos, offset) if "_" not in name)
        return frozenset(synonyms)

    def _forms(self, word: str, pos: str) -> list[str]:
        """The word and its base forms, those that the dictionary has."""
        irregular = self._exceptions[pos].get(word)
        bases = irregular or [word[: -len(old)] + new for old, new in _ENDINGS[pos] if word.endswith(old)]
        return [form for form in dict.fromkeys([word, *bases]) if form in self._index[pos]]

    def _offsets(self, form: str, pos: str) -> list[int]:
        """Where the form's synonym sets stand in the data file: the last fields of its index line."""
        fields = self._index[pos][form].split()
        try:
            return [int(offset) for offset in fields[-int(fields[1]) :]]
        except (IndexError, ValueError) as error:
            raise self._broken(f"index.{pos}", f"'{form}': {error}") from error

    def _lemmas(self, pos: str, offset: int) -> list[str]:
        """The words of the synonym set at `offset`, without markers such as `(a)`."""
        data = self._data[pos]
        fields = data[offset : data.find(b"|", offset)].decode("utf-8", "replace").split()
        try:
            if int(fields[0]) != offset:
                raise ValueError(f"found {fields[0]}")
            names = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
        except (IndexError, ValueError) as error:
            raise self._broken(f"data.{pos}", f"no entry at {offset} ({error})") from error
        return [re.sub(r"\([^()]*\)$", "", name) for name in names]

    @cached_property
    def _index(self) -> dict[str, dict[str, str]]:
        index: dict[str, dict[str, str]] = {}
        for pos in _POS:
            lines = self._bytes(f"index.{pos}").decode("utf-8", "replace").splitlines()
            entries = (line.partition(" ") for line in lines if not line.startswith(" "))
            index[pos] = {lemma: rest for lemma, _, rest in entries}
        return index

    @cached_property
    def _exceptions(self) -> dict[str, dict[str, list[str]]]:
        exceptions: dict[str, dict[str, list[str]]] = {}
        for pos in _POS:
            lines = self._bytes(f"{pos}.exc").decode("utf-8", "replace").splitlines()
            exceptions[pos] = {words[0]: words[1:] for line in lines if (words := line.split())}
        return exceptions

    @cached_property
    def _data(self) -> dict[str, bytes]:
        return {pos: self._bytes(f"data.{pos}") for pos in _POS}

    def _bytes(self, name: str) -> bytes:
        try:
            return (self.folder / name).read_bytes()
        except OSError as error:
            raise self._broken(name, error.strerror or str(error)) from error

    def _broken(self, name: str, what: str) -> MedassayError:
        return MedassayError(
            f"{self.folder / name}: not a readable WordNet dictionary ({what}); reinstall it, "
            "or score with meteor(synonyms=no)"
        )


def installed() -> WordNet | None:
    """The machine's WordNet, or None."""
    folders = []
    if search_folder := os.environ.get("WNSEARCHDIR"):
        folders.append(search_folder)
    if home := os.environ.get("WNHOME"):
        folders.append(str(Path(home) / "dict"))
    folders += ["/usr/share/wordnet", "/usr/local/WordNet-3.0/dict"]
    for folder in folders:
        if all((Path(folder) / name).is_file() for name in ("index.noun", "data.noun")):
            return _opened(folder)
    return None


@cache
def _opened(folder: str) -> WordNet:
    return WordNet(Path(folder))
