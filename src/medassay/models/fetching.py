"""Copying a model from the hub: weights, configuration, tokenizer and licence, nothing else.

Weights are kept as safetensors. Where a model only has pickled ones they are copied to a folder of their own,
converted in a process of their own (`converting.py`) and deleted.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path, PurePosixPath

from medassay.errors import MissingExtra, ModelError
from medassay.models.converting import check_converter, convert
from medassay.models.hub_files import write_origin
from medassay.models.sources import read_paper, write_models_file

_KINDS = (".safetensors", ".json", ".txt", ".model")
_PLAIN = ("README.md", "LICENSE", "LICENSE.md", "LICENSE.txt", "NOTICE")
_SIDE_FOLDERS = ("1_Pooling", "2_Dense")
"""Subfolders that say how a sentence encoder pools; all others (onnx, openvino …) are left alone."""
_PICKLED_WEIGHTS = re.compile(r"pytorch_model(-\d+-of-\d+)?\.bin")
"""The library's own names of pickled weights; other .bin files (tokenizers, optimisers) are never touched."""


def fetch(what: str, to: Path | None = None, revision: str | None = None) -> list[tuple[str, Path]]:
    """Copy one hub model, or all of `paper`; (name, folder) of each.

    Without `to` they land in the hub's cache, where `models.load` finds them by name. With it, a model's
    files land in that folder, and those of `paper` in one subfolder per role: the folder serves as `--models`.
    """
    if what == "embedded":
        raise ModelError("the embedded set came with medassay; there is nothing to fetch")
    if what != "paper":
        return [(what, _fetch_one(what, to, revision))]
    if revision:
        raise ModelError("--revision belongs to one model; fetch the models of 'paper' one by one with it")
    paper = read_paper()
    fetched = [(name, _fetch_one(name, to / role if to else None, None)) for role, name in paper.roles.items()]
    if to:
        write_models_file(to, paper)
    return fetched


def _fetch_one(name: str, to: Path | None, revision: str | None) -> Path:
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HFValidationError

    endpoint = os.environ.get("HF_ENDPOINT") or None
    try:
        info = HfApi(endpoint=endpoint).model_info(name, revision=revision, timeout=20)
        files = [file.rfilename for file in info.siblings or []]
        plain_files, pickles = wanted_files(files, name), pickled_weights(files)
        if pickles:
            check_converter(pickles[0])
        _hide_progress_bars()

        def download(patterns: list[str], folder: Path | None) -> Path:
            # The commit, not the branch: what is listed here is what is copied.
            return Path(
                snapshot_download(
                    name, revision=info.sha, allow_patterns=patterns, local_dir=folder, endpoint=endpoint, max_workers=4
                )
            )

        folder = download(plain_files, to)
        if pickles:
            with tempfile.TemporaryDirectory(prefix="medassay-convert-") as apart:
                download(pickles, Path(apart))
                convert([Path(apart) / file for file in pickles], folder)
        if to is None:
            return _point_main_at(folder, str(info.sha))
        write_origin(folder, name, str(info.sha))
        return folder
    except HFValidationError as error:
        raise ModelError(f"'{name}' is not a hub name such as {read_paper().roles['ner']} ({error})") from error
    except (ModelError, MissingExtra):
        raise
    except Exception as error:  # each way to have no network has its own type, in two HTTP libraries
        raise _unreachable(name, error) from error


def wanted_files(files: list[str], name: str) -> list[str]:
    """Which of a repository's files to copy as they are; an error where it has no weights at all."""
    copied = []
    for file in files:
        path = PurePosixPath(file)
        subfolder = path.parent.as_posix()
        at_top = subfolder == "." and (path.suffix in _KINDS or path.name in _PLAIN)
        if at_top or (subfolder in _SIDE_FOLDERS and path.suffix == ".json"):
            copied.append(file)
    if not any(file.endswith(".safetensors") for file in copied) and not pickled_weights(files):
        raise ModelError(f"{name}: no weights on the hub that can be read (safetensors, or pytorch_model.bin)")
    return copied


def pickled_weights(files: list[str]) -> list[str]:
    """The pickled weights to convert: none where there are safetensors."""
    if any(file.endswith(".safetensors") and "/" not in file for file in files):
        return []
    return sorted(file for file in files if _PICKLED_WEIGHTS.fullmatch(file))


def _point_main_at(folder: Path, commit: str) -> Path:
    """Point the cache's default branch at the copied commit, so that the name without a revision finds it."""
    refs = folder.parent.parent / "refs"
    refs.mkdir(parents=True, exist_ok=True)
    (refs / "main").write_text(commit, encoding="utf-8")
    return folder


def _hide_progress_bars() -> None:
    """Turn progress bars off where standard error is not a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        from huggingface_hub.utils.tqdm import disable_progress_bars

        disable_progress_bars()


def _unreachable(name: str, error: Exception) -> ModelError:
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    line = (str(error).strip().splitlines() or [""])[0]
    if isinstance(error, GatedRepoError):
        return ModelError(f"{name}: its owners ask for consent first: accept on its page, then `hf auth login`")
    if isinstance(error, RevisionNotFoundError):
        return ModelError(f"{name}: the hub has no such revision ({line})")
    if isinstance(error, RepositoryNotFoundError):
        return ModelError(f"{name}: the hub has no model of that name, or it is private (`hf auth login`)")
    return ModelError(
        f"{name}: the model hub cannot be reached ({type(error).__name__}: {line}). On a machine with network: "
        f"`medassay models fetch {name} --to FOLDER`; copy FOLDER here and give its path to --models"
    )
