"""Model folders of the transformers library: where one lies, and whether it can serve a role.

Nothing here needs torch: problems of a folder are reported before anything heavy is loaded. Only safetensors weights
are read, because pickled .bin and .pt files can run code when they are opened.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medassay.errors import ModelError

HEADS: dict[str, str | tuple[str, ...]] = {
    "ner": "ForTokenClassification",
    "re": "ForSequenceClassification",
    "expert": "ForSequenceClassification",
    "quality": "ForSequenceClassification",
    "image": "Model",
    "likelihood": ("ForConditionalGeneration", "ForCausalLM", "LMHeadModel"),
}
"""How the architecture of a role's model must end; the encoder roles take any text encoder."""

_NOT_ENCODERS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForImageClassification", "CLIPModel")
_TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "spm.model", "spiece.model", "sentencepiece.bpe.model")
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
_NAME = re.compile(r"^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?$")
_EDGE = 1 << 20
ORIGIN = "medassay-origin.json"
"""The file in which `models fetch` notes where a folder came from."""


@dataclass(frozen=True, slots=True)
class HubFolder:
    """A checked model folder: where it lies, what it is called in signatures, its config.json."""

    path: Path
    name: str
    config: dict[str, Any]


def is_path(source: str) -> bool:
    """Whether a source means a folder rather than a name on the hub."""
    return Path(source).expanduser().exists() or not _NAME.match(source)


def open_folder(role: str, source: str) -> HubFolder:
    """The folder of a role's model, found and checked; the error says what is missing and the remedy."""
    if is_path(source):
        path = Path(source).expanduser()
        if not path.is_dir():
            raise ModelError(f"{source}: no such model folder. Give a folder, a hub name, or embedded")
        remedy = "Copy the whole model folder again, or `medassay models fetch NAME --to FOLDER`"
        name = f"{read_origin(path) or path.resolve().name}@{fingerprint(path)}"
    else:
        path = cached(source)
        remedy = f"`medassay models fetch {source}`"
        name = f"{source}@{path.name[:8]}"
    config = read_config(path, remedy)
    check_tokenizer(path, remedy)
    check_weights(path, remedy)
    check_architecture(role, path, config)
    return HubFolder(path, re.sub(r"[^\w.@/-]", "_", name), config)


def cached(name: str) -> Path:
    """The snapshot of a hub model in the local cache. Scoring never opens a connection by itself."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        cached_config = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        cached_config = None
    if isinstance(cached_config, str):
        return Path(cached_config).parent
    raise ModelError(
        f"{name}: no such folder, and no hub model of that name has been fetched. With network: "
        f"`medassay models fetch {name}`. Without: fetch it elsewhere with --to FOLDER, copy the folder "
        "here and give its path"
    )


def read_config(folder: Path, remedy: str) -> dict[str, Any]:
    """The folder's config.json."""
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if (folder / "open_clip_config.json").is_file():
            raise ModelError(
                f"{folder}: a model of the open_clip library; convert it to transformers' CLIP form first"
            ) from None
        raise ModelError(f"{folder}: no config.json, so no transformers model. {remedy}") from None
    except ValueError as error:
        raise ModelError(f"{path}: not JSON ({error}). {remedy}") from error
    if not isinstance(config, dict):
        raise ModelError(f"{path}: not a model's configuration (a JSON object was expected). {remedy}")
    return config


def check_tokenizer(folder: Path, remedy: str) -> None:
    """Raise `ModelError` where a folder has no tokenizer."""
    if not any((folder / name).is_file() for name in _TOKENIZERS):
        raise ModelError(f"{folder}: no tokenizer.json (nor {', '.join(_TOKENIZERS[1:4])}). {remedy}")


def weights(folder: Path) -> list[Path]:
    """The folder's safetensors files."""
    return sorted(folder.glob("*.safetensors"))


def check_weights(folder: Path, remedy: str) -> None:
    """Raise `ModelError` where weights are missing, wholly or in part, or exist only in pickled form."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        shards = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        missing = sorted(name for name in shards if not (folder / name).is_file())
        if missing:
            raise ModelError(f"{folder}: no {missing[0]}, which model.safetensors.index.json lists. {remedy}")
        return
    if (folder / "model.safetensors").is_file():
        return
    pickles = sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern))
    if pickles:
        raise pickled(str(folder), pickles[0])
    raise ModelError(f"{folder}: no model.safetensors, so no weights. {remedy}")


def pickled(where: str, file: str) -> ModelError:
    """The error for weights that exist only in pickled form."""
    return ModelError(
        f"{where}: its weights are pickled ({file}) and opening them could run code; only safetensors are "
        f"read. `medassay models fetch NAME` converts what it copies; for a file that you have: `medassay models "
        f"convert {file} --base {where} --to FOLDER`"
    )


def write_origin(folder: Path, name: str, commit: str) -> None:
    """Note in a folder which hub model it is a copy of."""
    (folder / ORIGIN).write_text(json.dumps({"name": name, "commit": commit}) + "\n", encoding="utf-8")


def read_origin(folder: Path) -> str:
    """The hub name of the model that a folder is a copy of; empty where nothing says so."""
    try:
        noted = json.loads((folder / ORIGIN).read_text(encoding="utf-8"))["name"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return noted if isinstance(noted, str) and _NAME.match(noted) else ""


def check_architecture(role: str, folder: Path, config: dict[str, Any]) -> None:
    """Raise `ModelError` where a model's architecture does not fit the role."""
    architectures = [str(name) for name in config.get("architectures") or []]
    shown = ", ".join(architectures) or f"no architecture (model_type {config.get('model_type')})"
    head = HEADS.get(role)
    if head and not any(name.endswith(head) for name in architectures):
        ends = head if isinstance(head, str) else " or …".join(head)
        raise ModelError(f"{folder}: the role '{role}' needs a model …{ends}, but config.json says {shown}")
    if not head and (any(name.endswith(_NOT_ENCODERS) for name in architectures) or config.get("is_encoder_decoder")):
        raise ModelError(
            f"{folder}: the role '{role}' needs a text encoder (such as BertModel), but config.json says {shown}"
        )


def fingerprint(folder: Path) -> str:
    """Eight hex digits that change with the configuration, the tokenizer or the weights.

    Weights count by size and by their first and last megabyte, so that large models open fast.
    """
    digest = hashlib.sha256()
    listed = [path for path in folder.glob("*.json") if path.name != ORIGIN]
    for path in sorted([*listed, *folder.glob("*.txt"), *weights(folder)]):
        size = path.stat().st_size
        digest.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as file:
            digest.update(file.read(_EDGE))
            file.seek(max(size - _EDGE, 0))
            digest.update(file.read(_EDGE))
    return digest.hexdigest()[:8]
