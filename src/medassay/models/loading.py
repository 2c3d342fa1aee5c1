"""Which model serves a role: `embedded`, `fast`, `gpu`, `paper`, a folder, a hub name, or a file that says so by role.

`fast` is the embedded set with the early layers of its reader alone: three times as fast, and coarser. `gpu` is the
embedded set with its reader on a graphics card (needs the extra `hf`).
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from medassay.errors import UnknownName, nearest
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
from medassay.models.sources import EMBEDDED, paper_names, resolve_source

if TYPE_CHECKING:
    from medassay.models.kge import ConceptVectors

ROLES = ("encoder", "ner", "re", "align", "expert", "image", "likelihood", "nli", "quality", "kge", "checker")

PAPER = paper_names()
"""The papers' own models, on the hub (paper.toml); other roles have none and stay embedded."""


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
    """The one source of a role: `embedded`, `fast`, `gpu`, a folder, or a hub name (sources.py).

    A role that a model set does not have is embedded, so that a set with one trained role serves every metric.
    """
    source = resolve_source(role, spec, ROLES)
    if source not in EMBEDDED and _is_model_set(source) and role not in model_set(Path(source)).manifest["roles"]:
        return "embedded"
    return source


def _is_model_set(source: str) -> bool:
    return (Path(source) / "manifest.json").is_file()


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
    if source in EMBEDDED:
        return _embedded(role, model_set(HOME), source)
    if _is_model_set(source):
        return _embedded(role, model_set(Path(source)))
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


def _embedded(role: str, models: ModelSet, variant: str = "embedded") -> Any:
    from medassay.models.checker import EmbeddedChecker
    from medassay.models.expert import open_expert
    from medassay.models.image import EmbeddedImage
    from medassay.models.kge import ConceptVectors
    from medassay.models.likelihood import EmbeddedLikelihood
    from medassay.models.nli import EmbeddedNli
    from medassay.models.quality import EmbeddedQuality
    from medassay.models.roles import EmbeddedEncoder, EmbeddedNer, EmbeddedRelations

    makers: dict[str, Callable[[], Any]] = {
        "encoder": lambda: EmbeddedEncoder(models, "encoder"),
        "align": lambda: EmbeddedEncoder(models, "align"),
        "ner": lambda: EmbeddedNer(models),
        "re": lambda: EmbeddedRelations(models),
        "expert": lambda: open_expert(models),
        "image": lambda: EmbeddedImage(models),
        "likelihood": lambda: EmbeddedLikelihood(models),
        "nli": lambda: EmbeddedNli(models, variant),
        "quality": lambda: EmbeddedQuality(models),
        "kge": lambda: ConceptVectors(models),
        "checker": lambda: EmbeddedChecker(models, load("encoder"), variant),
    }
    return makers[role]()
