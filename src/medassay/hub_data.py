"""Data sets of the Hugging Face hub as tables: `hf:owner/name:split`, with the library `datasets` (extra `datasets`).

Instead of `owner/name`, a folder may be given: one that `save_to_disk` wrote or one of data files; then no network is
needed. Only data are read: no code of a data set is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from medassay.errors import InputError, MissingExtra, shortened

PREFIX = "hf:"
EXTRA = "datasets"
_NAME = re.compile(r"hf:(?P<name>[^:]+)(?::(?P<subset>[^:]+)(?=:))?(?::(?P<split>[^:]+))?")
_ROWS = 1_000
"""Rows that are taken from a data set at a time."""


def is_data_set(path: str | Path) -> bool:
    """Whether a path names a data set of the hub.

    >>> is_data_set("hf:owner/notes:test"), is_data_set("notes.csv")
    (True, False)
    """
    return str(path).startswith(PREFIX)


def data_set_records(name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows of a data set, counted from 1. Columns of images, sound and the like are left out."""
    number = 0
    for table in opened(name).iter(batch_size=_ROWS):
        for record in table.to_pylist():
            number += 1
            yield number, record


def data_set_length(name: str) -> int:
    """How many rows a data set has."""
    return len(opened(name))


@lru_cache(maxsize=2)  # a run opens its cases several times
def opened(name: str) -> Any:
    """The table that a name stands for, as Arrow: texts and numbers as they are stored, nothing decoded."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise InputError(f"{name}: write hf:owner/name, hf:owner/name:split or hf:owner/name:subset:split")
    table = _split(_loaded(name, match["name"], match["subset"]), name, match["split"])
    texts = [column for column, feature in table.features.items() if not hasattr(feature, "decode_example")]
    return table.select_columns(texts).with_format("arrow")


def _loaded(name: str, path: str, subset: str | None) -> Any:
    try:
        import datasets
    except ImportError as error:
        raise MissingExtra(name, EXTRA) from error
    try:
        if any((Path(path) / written).is_file() for written in ("dataset_dict.json", "state.json")):
            return datasets.load_from_disk(path)
        return datasets.load_dataset(path, subset)
    except Exception as error:
        reason = shortened(" ".join(str(error).split()) or type(error).__name__, 300)
        raise InputError(
            f"{name}: cannot be loaded ({reason}); is the name right, and can the hub be reached? "
            "What was loaded before is found without it where HF_HUB_OFFLINE=1 is set"
        ) from error


def _split(loaded: Any, name: str, split: str | None) -> Any:
    """The part of a data set that was asked for; without splits, or with one alone, the whole."""
    if not isinstance(loaded, dict):
        if split not in (None, str(loaded.split)):
            raise InputError(f"{name}: is one table without splits; leave ':{split}' out")
        return loaded
    if split is None and len(loaded) == 1:
        return next(iter(loaded.values()))
    if split not in loaded:
        wrong = "has several splits" if split is None else f"no split '{split}'"
        example = f"{name.removesuffix(f':{split}')}:{list(loaded)[-1]}"
        raise InputError(f"{name}: {wrong}; name one of {', '.join(loaded)}, as in {example}")
    return loaded[split]
