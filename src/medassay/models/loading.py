"""Which model serves a role: `embedded`, `fast`, `paper`, a folder, a hub name, or a file that says so by role.

`fast` is the embedded set with the early layers of its reader alone: three times as fast, and coarser.
"""

from __future__ import annotations

import copyreg
import json
import tomllib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from medassay.errors import ModelError, UnknownName, nearest
from medassay.models.base import (
    CheckerModel,
    Encoder,
    EntityModel,
    ExpertModel,
    ImageModel,
    LikelihoodModel,
    NliModel,
    QualityModel,
    RelationModel,
)
from medassay.models.graphs import HOME, ModelSet

if TYPE_CHECKING:
    from medassay.models.kge import ConceptVectors

ROLES = ("encoder", "ner", "re", "align", "expert", "image", "likelihood", "nli", "quality", "kge", "checker")

PAPER = {
    "encoder": "UFNLP/gatortronS",
    "ner": "knowlab-research/HARE-NER",
    "re": "knowlab-research/HARE-RE",
    "align": "knowlab-research/HARE-alignment",
    "image": "vinid/plip",
    "nli": "pritamdeka/PubMedBERT-MNLI-MedNLI",
    "likelihood": "facebook/bart-large-cnn",
    "quality": "lucadiliello/BLEURT-20",
}
"""The papers' own models, on the hub; other roles have none and stay embedded."""

FAST = ("checker", "nli")
"""Roles whose model is another one in the fast set."""


@overload
def load(role: Literal["encoder", "align"], spec: str = ...) -> Encoder: ...
@overload
def load(role: Literal["ner"], spec: str = ...) -> EntityModel: ...
@overload
def load(role: Literal["re"], spec: str = ...) -> RelationModel: ...
@overload
def load(role: Literal["expert"], spec: str = ...) -> ExpertModel: ...
@overload
def load(role: Literal["image"], spec: str = ...) -> ImageModel: ...
@overload
def load(role: Literal["likelihood"], spec: str = ...) -> LikelihoodModel: ...
@overload
def load(role: Literal["quality"], spec: str = ...) -> QualityModel: ...
@overload
def load(role: Literal["kge"], spec: str = ...) -> ConceptVectors: ...
@overload
def load(role: Literal["nli"], spec: str = ...) -> NliModel: ...
@overload
def load(role: Literal["checker"], spec: str = ...) -> CheckerModel: ...
def load(role: str, spec: str = "embedded") -> Any:
    """The model for a role; loaded once per process."""
    if role not in ROLES:
        raise UnknownName(f"no model role '{role}'{nearest(role, ROLES)} Roles: {', '.join(ROLES)}")
    return _load(role, resolve(role, spec))


def resolve(role: str, spec: str) -> str:
    """The one source that a specification means for a role: `embedded`, `fast`, a folder, or a hub name.

    In a folder with one subfolder per role, and in a models file, a role left out is embedded.
    """
    if spec == "embedded":
        return spec
    if spec == "fast":
        return "fast" if role in FAST else "embedded"
    if spec == "paper":
        return PAPER.get(role, "embedded")
    path = Path(spec).expanduser()
    if path.suffix in (".toml", ".json"):
        return resolve(role, _from_file(path, role))
    if any((path / name).is_dir() for name in ROLES):
        return str(path / role) if (path / role).is_dir() else "embedded"
    return spec


def _from_file(path: Path, role: str) -> str:
    """A models file: `ner = "folder or hub name"`, one line per role; folders are looked for beside the file first."""
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError) as error:
        raise ModelError(f'{path}: not a models file ({error}); write lines such as ner = "folder"') from error
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise ModelError(f'{path}: not a models file; write one line per role, such as ner = "folder"')
    unknown = [name for name in table if name not in ROLES]
    if unknown:
        raise UnknownName(f"{path}: no model role '{unknown[0]}'{nearest(unknown[0], ROLES)}")
    named: str = table.get(role, "embedded")
    if named.endswith((".toml", ".json")):
        raise ModelError(f"{path}: '{named}' for the role '{role}' is a file; give a folder or a hub name")
    beside = path.parent / Path(named).expanduser()
    return str(beside) if beside.is_dir() else named


@lru_cache(maxsize=64)
def _load(role: str, source: str) -> Any:
    model = _open(role, source)
    # A model travels to another process by name and is opened there: weights are never pickled.
    model.loaded_from = (role, source)
    copyreg.pickle(type(model), _by_name)
    return model


def _by_name(model: Any) -> tuple[Any, tuple[str, str]]:
    return _load, model.loaded_from


def _open(role: str, source: str) -> Any:
    embedded = source in ("embedded", "fast")
    folder = HOME if embedded else Path(source)
    if embedded or (folder / "manifest.json").is_file():
        return _embedded(role, model_set(folder), fast=source == "fast")
    from medassay.models.hub import load_hub

    return load_hub(role, source)


def unload() -> None:
    """Forget the models loaded so far: the next `load` opens them anew."""
    _load.cache_clear()
    model_set.cache_clear()


@lru_cache(maxsize=32)
def model_set(folder: Path = HOME) -> ModelSet:
    """A model set, opened once per process: its graphs and caches are shared by all roles."""
    return ModelSet(folder)


def _embedded(role: str, models: ModelSet, *, fast: bool) -> Any:
    from medassay.models.checker import EmbeddedChecker
    from medassay.models.image import EmbeddedImage
    from medassay.models.kge import ConceptVectors
    from medassay.models.likelihood import EmbeddedLikelihood
    from medassay.models.nli import EmbeddedNli
    from medassay.models.quality import EmbeddedQuality
    from medassay.models.roles import EmbeddedEncoder, EmbeddedExpert, EmbeddedNer, EmbeddedRelations

    makers: dict[str, Callable[[], Any]] = {
        "encoder": lambda: EmbeddedEncoder(models, "encoder"),
        "align": lambda: EmbeddedEncoder(models, "align"),
        "ner": lambda: EmbeddedNer(models),
        "re": lambda: EmbeddedRelations(models),
        "expert": lambda: EmbeddedExpert(models),
        "image": lambda: EmbeddedImage(models),
        "likelihood": lambda: EmbeddedLikelihood(models),
        "nli": lambda: EmbeddedNli(models, fast),
        "quality": lambda: EmbeddedQuality(models),
        "kge": lambda: ConceptVectors(models),
        "checker": lambda: EmbeddedChecker(models, load("encoder"), fast),
    }
    return makers[role]()
