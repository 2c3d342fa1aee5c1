"""Which model a specification means: `embedded`, `fast`, `gpu`, `paper`, a folder, a hub name, or a models file.

A models file (TOML or JSON) has one line per role, `ner = "folder or hub name"`, and may have a section per metric
that takes other models for some roles. `paper` is such a file that comes with the package (paper.toml), and
`models fetch paper --to FOLDER` writes one beside the models it copies, so that the folder serves as `--models`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from medassay.errors import ModelError, UnknownName, nearest

FILE = "models.toml"
"""The models file that a folder of models may hold."""

EMBEDDED = ("embedded", "fast", "gpu")
"""The embedded set, and the other ways to run its reader."""

READER_ROLES = ("checker", "nli")
"""Roles that have a fast and a GPU variant. `expert` has none: its early head follows shared words."""

UNAVAILABLE = "unavailable"
"""The section of roles whose model cannot be had, with what to do instead."""

_PAPER_FILE = Path(__file__).with_name("paper.toml")
_MARK = "#"


@dataclass(frozen=True, slots=True)
class ModelsFile:
    """The sources of a models file: by role, by metric and role, and roles that have none, with the reason."""

    path: Path
    roles: Mapping[str, str]
    metrics: Mapping[str, Mapping[str, str]]
    unavailable: Mapping[str, str]

    def source(self, role: str, metric: str) -> str:
        """The source for a role (of `metric`, or empty): `embedded` where the file names none."""
        source = self.metrics.get(metric, {}).get(role) or self.roles.get(role)
        if source is None:
            beside = self.path.parent / role
            if beside.is_dir() and self.path != _PAPER_FILE:
                return str(beside)
            if role in self.unavailable:
                raise ModelError(f"the papers' model for the role '{role}' is not to be had: {self.unavailable[role]}")
            return "embedded"
        if source.endswith((".toml", ".json")):
            raise ModelError(f"{self.path}: '{source}' for the role '{role}' is a file; give a folder or a hub name")
        folder = self.path.parent / Path(source).expanduser()
        return str(folder) if self.path != _PAPER_FILE and folder.is_dir() else source


def read_paper() -> ModelsFile:
    """The preset `paper`."""
    return _parsed(_PAPER_FILE, _PAPER_FILE.read_bytes())


def paper_names() -> dict[str, str]:
    """The papers' models on the hub by role; other roles have none and stay embedded."""
    return dict(read_paper().roles)


def find_file(spec: str) -> ModelsFile | None:
    """The models file that a specification names: `paper`, a .toml or .json, or a folder that holds one."""
    if spec == "paper":
        return read_paper()
    path = Path(spec).expanduser()
    if path.suffix not in (".toml", ".json"):
        path = path / FILE
        if not path.is_file():
            return None
    try:
        return _parsed(path, path.read_bytes())
    except OSError as error:
        raise ModelError(f'{path}: not a models file ({error}); write lines such as ner = "folder"') from error


@lru_cache(maxsize=16)
def _parsed(path: Path, content: bytes) -> ModelsFile:
    try:
        text = content.decode("utf-8")
        table = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except ValueError as error:
        raise ModelError(f'{path}: not a models file ({error}); write lines such as ner = "folder"') from error
    if not isinstance(table, dict) or not all(_is_line(value) for value in table.values()):
        raise ModelError(f'{path}: not a models file; write one line per role, such as ner = "folder"')
    roles = {name: value for name, value in table.items() if isinstance(value, str)}
    sections = {name: value for name, value in table.items() if isinstance(value, dict)}
    return ModelsFile(path, roles, sections, sections.pop(UNAVAILABLE, {}))


def _is_line(value: Any) -> bool:
    """A source, or a section of sources."""
    return isinstance(value, str) or (
        isinstance(value, dict) and all(isinstance(entry, str) for entry in value.values())
    )


def for_metric(metric: str, spec: str) -> str:
    """The specification for a metric: marked with the metric's name where a models file has a section for it.

    >>> for_metric("bleurt", "paper"), for_metric("rouge1", "paper"), for_metric("bleurt", "embedded")
    ('paper#bleurt', 'paper', 'embedded')
    """
    spec, _ = _unmarked(spec)
    file = None if spec in EMBEDDED else find_file(spec)
    return f"{spec}{_MARK}{metric}" if file is not None and metric in file.metrics else spec


def _unmarked(spec: str) -> tuple[str, str]:
    """A specification and the metric that it is marked with, or an empty name."""
    base, mark, metric = spec.rpartition(_MARK)
    if not mark or Path(spec).expanduser().exists() or find_file(base) is None:
        return spec, ""
    return base, metric


def resolve_source(role: str, spec: str, roles: Collection[str]) -> str:
    """The one source that a specification means for a role: one of `EMBEDDED`, a folder, or a hub name.

    In a folder with one subfolder per role, and in a models file, a role left out is embedded.
    """
    if spec in EMBEDDED:
        return spec if role in READER_ROLES else "embedded"
    base, metric = _unmarked(spec)
    file = find_file(base)
    if file is not None:
        _check_roles(file, roles)
        source = file.source(role, metric)
        return source if base == "paper" else resolve_source(role, source, roles)
    path = Path(spec).expanduser()
    if any((path / name).is_dir() for name in roles):
        return str(path / role) if (path / role).is_dir() else "embedded"
    return spec


def _check_roles(file: ModelsFile, roles: Collection[str]) -> None:
    for table in (file.roles, *file.metrics.values(), file.unavailable):
        unknown = next((name for name in table if name not in roles), None)
        if unknown is not None:
            raise UnknownName(f"{file.path}: no model role '{unknown}'{nearest(unknown, list(roles))}")


def write_models_file(folder: Path, file: ModelsFile) -> None:
    """A models file beside models that were copied to one subfolder per role: the same sections, without names."""
    lines = ["# Written by `medassay models fetch`: role = folder. What is not named is embedded.", ""]
    lines += [f"{role} = {json.dumps(role)}" for role in file.roles]
    by_name = {name: role for role, name in file.roles.items()}
    sections = {**file.metrics, UNAVAILABLE: file.unavailable}
    for section, table in sections.items():
        if table:
            lines += ["", f"[{section}]"]
            lines += [f"{role} = {json.dumps(by_name.get(value, value))}" for role, value in table.items()]
    (folder / FILE).write_text("\n".join([*lines, ""]), encoding="utf-8")
