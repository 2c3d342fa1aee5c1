"""The installed models: each file with its role, size, licence and state, and what to do where one is missing.

States: `ok` (there, and its content is what the manifest or the hub says), `missing`, `wrong hash`,
`not fetched` (a hub model that nobody has asked for yet; no fault), `not verified` (there, but nothing
says what its content should be).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medassay.errors import ModelError
from medassay.models.graphs import HOME, RESTORE, ModelSet
from medassay.models.hub_files import check_tokenizer, check_weights, read_config
from medassay.models.loading import PAPER, ROLES

GOOD = ("ok", "not fetched", "not verified")
_LICENCE = re.compile(r"^license(?:_name)?:\s*[\"']?([\w.+ -]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Item:
    """One file of a model (or a whole model that is not here): `bytes` is None where nothing is there."""

    role: str
    source: str
    file: str
    bytes: int | None
    licence: str
    state: str
    remedy: str = ""


def inventory() -> list[Item]:
    """The embedded set and the hub models of the preset `paper`."""
    return [*set_items(HOME, "embedded"), *(item for role in PAPER for item in paper_items(role))]


def folder_items(folder: Path) -> list[Item]:
    """The files of a folder that somebody uses as --models: a model set, a model, or one folder per role."""
    if (folder / "manifest.json").is_file():
        return set_items(folder, str(folder))
    roles = [role for role in ROLES if (folder / role).is_dir()]
    if roles:
        return [item for role in roles for item in model_items(folder / role, role, str(folder))]
    if folder.is_dir():
        return model_items(folder, "any", str(folder))
    raise ModelError(f"{folder}: no such folder. Give a folder of models, or nothing for the embedded set")


def set_items(folder: Path, source: str) -> list[Item]:
    """The files of a model set, each hashed against the manifest."""
    try:
        models = ModelSet(folder)
    except ModelError as error:
        return [Item("all", source, "manifest.json", None, "", "missing", str(error))]
    items = []
    for entry in models.manifest["files"]:
        path = folder / entry["name"]
        problem = models.problem(entry)
        state = "ok" if problem is None else "missing" if problem == "missing" else "wrong hash"
        size = path.stat().st_size if path.is_file() else None
        remedy = "" if problem is None else f"{path}: {problem}. Restore it: {RESTORE}"
        roles = _roles_of(entry["name"], models.manifest["roles"])
        items.append(Item(roles, models.name, entry["name"], size, str(entry["licence"]), state, remedy))
    return items


def _roles_of(file: str, roles: Mapping[str, Mapping[str, Any]]) -> str:
    served = [role for role in ROLES if role in roles]
    using = [role for role in served if file in roles[role].values()]
    return ", ".join(using) if 0 < len(using) < len(served) else "all"


def paper_items(role: str) -> list[Item]:
    """The files of the paper's model for a role, as far as they have been fetched."""
    from medassay.models.hub_files import cached

    name = PAPER[role]
    try:
        folder = cached(name)
    except ModelError:
        remedy = f"medassay models fetch {name}"
        return [Item(role, name, "", None, "see its page", "not fetched", remedy)]
    return model_items(folder, role, name)


def model_items(folder: Path, role: str, source: str) -> list[Item]:
    """The files of one transformers folder; one more item where something it needs is not there."""
    licence = licence_of(folder)
    items = []
    for path in sorted(p for p in folder.glob("*") if p.suffix in (".safetensors", ".json", ".txt", ".model")):
        state = blob_state(path)
        remedy = "" if state != "wrong hash" else f"{path}: delete it and run `medassay models fetch {source}`"
        items.append(Item(role, source, path.name, path.stat().st_size, licence, state, remedy))
    try:
        read_config(folder, "Copy the whole folder again")
        check_tokenizer(folder, "Copy the whole folder again")
        check_weights(folder, "Copy the whole folder again")
    except ModelError as error:
        items.append(Item(role, source, "", None, licence, "missing", str(error)))
    return items


def blob_state(path: Path) -> str:
    """State of a file in the hub's cache, where the link's target is named after the content's hash."""
    if not path.exists():
        return "missing"
    target = path.resolve()
    if target.parent.name != "blobs" or not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", target.name):
        return "not verified"
    size = target.stat().st_size
    # Large files are named by sha256, small ones as git names a blob.
    digest = hashlib.sha256() if len(target.name) == 64 else hashlib.sha1(usedforsecurity=False)
    if len(target.name) == 40:
        digest.update(f"blob {size}\0".encode())
    with target.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return "ok" if digest.hexdigest() == target.name else "wrong hash"


def licence_of(folder: Path) -> str:
    """The licence that the model's own card states."""
    try:
        match = _LICENCE.search((folder / "README.md").read_text(encoding="utf-8", errors="replace")[:4000])
    except OSError:
        match = None
    return match[1].strip() if match else "not stated"
