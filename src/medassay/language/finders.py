"""Who finds the medical words of a text: our own terminology, or a tool that the user brings.

`linker` is `mentions.medical_words`. `medcat:PACK` and `spacy:PIPELINE` (scispaCy's pipelines are spaCy
pipelines) use a model that the user has installed; `py:module:function` any function from a text to spans.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from medassay.errors import MedassayError

Finder = Callable[[str], list[tuple[int, int]]]


@lru_cache(maxsize=4)
def finder(spec: str) -> tuple[Finder, str]:
    """The finder that a setting names, and its name for signatures."""
    kind, _, rest = spec.partition(":")
    if spec == "linker":
        from medassay.language.mentions import medical_words
        from medassay.language.terminology import terminology

        return medical_words, "linker@" + hashlib.sha256(terminology().releases.encode()).hexdigest()[:8]
    makers = {"py": _own, "medcat": _medcat, "spacy": _spacy}
    if kind not in makers or not rest:
        raise MedassayError(f"words: '{spec}' is none of linker, py:module:function, medcat:PACK, spacy:PIPELINE")
    return makers[kind](rest, spec)


def _own(rest: str, spec: str) -> tuple[Finder, str]:
    module, _, attribute = rest.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        imported = import_module(module)
        function = getattr(imported, attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise MedassayError(f"words: '{spec}' cannot be imported: {error}") from error
    if not callable(function):
        raise MedassayError(f"words: '{spec}' is a {type(function).__name__}, not a function")
    source = Path(getattr(imported, "__file__", None) or "")
    mark = hashlib.sha256(source.read_bytes()).hexdigest()[:8] if source.is_file() else "builtin"
    return lambda text: _spans(function(text), text, spec), f"{spec}@{mark}"


def _medcat(rest: str, spec: str) -> tuple[Finder, str]:
    try:
        from medcat.cat import CAT
    except ImportError as error:
        raise MedassayError(f"words: '{spec}' needs MedCAT: pip install medcat ({error})") from error
    try:
        cat = CAT.load_model_pack(rest)
    except Exception as error:  # a broken pack raises anything from OSError to the unpickler's own types
        raise MedassayError(f"words: the MedCAT pack '{rest}' cannot be opened ({error})") from error

    def find(text: str) -> list[tuple[int, int]]:
        entities: dict[Any, dict[str, Any]] = cat.get_entities(text)["entities"]
        return _spans(((entity["start"], entity["end"]) for entity in entities.values()), text, spec)

    return find, f"medcat-{_version('medcat')}:{Path(rest).name}"


def _spacy(rest: str, spec: str) -> tuple[Finder, str]:
    try:
        import spacy
    except ImportError as error:
        raise MedassayError(f"words: '{spec}' needs spaCy: pip install spacy scispacy ({error})") from error
    try:
        pipeline = spacy.load(rest)
    except OSError as error:
        raise MedassayError(f"words: the spaCy pipeline '{rest}' is not there: {error}") from error
    # Reports may be longer than spaCy's caution allows; entities are found sentence by sentence anyway.
    pipeline.max_length = sys.maxsize

    def find(text: str) -> list[tuple[int, int]]:
        return _spans(((entity.start_char, entity.end_char) for entity in pipeline(text).ents), text, spec)

    return find, f"spacy-{_version('spacy')}:{Path(rest).name}-{pipeline.meta.get('version', '?')}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "?"


def _spans(given: Iterable[Any], text: str, spec: str) -> list[tuple[int, int]]:
    """Spans in text order; anything that is no span of this text is an error, never a silent miss."""
    spans = []
    for span in given:
        start, end = (int(span[0]), int(span[1]))
        if not 0 <= start <= end <= len(text):
            raise ValueError(f"words: '{spec}' gave the span ({start}, {end}) for a text of {len(text)} characters")
        spans.append((start, end))
    return sorted(spans)
