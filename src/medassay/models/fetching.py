"""Copying a model from the hub: safetensors weights, configuration, tokenizer and licence, nothing else."""

from __future__ import annotations

import os
import sys
from pathlib import Path, PurePosixPath

from medassay.errors import ModelError
from medassay.models.hub_files import pickled
from medassay.models.loading import PAPER

_KINDS = (".safetensors", ".json", ".txt", ".model")
_PLAIN = ("README.md", "LICENSE", "LICENSE.md", "LICENSE.txt", "NOTICE")
_SIDE_FOLDERS = ("1_Pooling", "2_Dense")
"""Subfolders that say how a sentence encoder pools; all others (onnx, openvino …) are left alone."""


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
    return [(name, _fetch_one(name, to / role if to else None, None)) for role, name in PAPER.items()]


def _fetch_one(name: str, to: Path | None, revision: str | None) -> Path:
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HFValidationError

    endpoint = os.environ.get("HF_ENDPOINT") or None
    try:
        info = HfApi(endpoint=endpoint).model_info(name, revision=revision, timeout=20)
        wanted = wanted_files([file.rfilename for file in info.siblings or []], name)
        _hush()
        # The commit, not the branch: what is listed here is what is copied.
        folder = snapshot_download(
            name, revision=info.sha, allow_patterns=wanted, local_dir=to, endpoint=endpoint, max_workers=4
        )
        return _named(Path(folder), str(info.sha)) if to is None else Path(folder)
    except HFValidationError as error:
        raise ModelError(f"'{name}' is not a hub name such as {PAPER['ner']} ({error})") from error
    except ModelError:
        raise
    except Exception as error:  # each way to have no network has its own type, in two HTTP libraries
        raise _unreachable(name, error) from error


def wanted_files(files: list[str], name: str) -> list[str]:
    """Which of a repository's files to copy; an error where its weights only exist pickled."""
    wanted = []
    for file in files:
        path = PurePosixPath(file)
        place = path.parent.as_posix()
        at_top = place == "." and (path.suffix in _KINDS or path.name in _PLAIN)
        if at_top or (place in _SIDE_FOLDERS and path.suffix == ".json"):
            wanted.append(file)
    if not any(file.endswith(".safetensors") for file in wanted):
        unsafe = [file for file in files if PurePosixPath(file).suffix in (".bin", ".pt", ".pth", ".ckpt")]
        raise pickled(name, unsafe[0]) if unsafe else ModelError(f"{name}: no weights at all on the hub")
    return wanted


def _named(folder: Path, commit: str) -> Path:
    """Let the cache's default branch point at the commit just copied, so that the bare name finds it."""
    refs = folder.parent.parent / "refs"
    refs.mkdir(parents=True, exist_ok=True)
    (refs / "main").write_text(commit, encoding="utf-8")
    return folder


def _hush() -> None:
    """No progress bars where nobody watches."""
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
