"""Pickled weights to safetensors, in a process of their own.

A pickle can run code when it is opened. Torch's `weights_only` loading refuses everything but tensors and plain
containers; the process that opens the file has no credentials in its environment, a time limit, and only writes the
folder that it is given. The pickle itself is never kept.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from medassay.errors import InputError, MissingExtra, ModelError

_SCRIPT = Path(__file__).with_name("convert_weights.py")
_LONGEST = 1800
_INDEX = "model.safetensors.index.json"
_PASSED_ON = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG", "TMPDIR", "TEMP", "TMP")
_FROM_BASE = (".json", ".txt", ".model")


def convert(pickles: Sequence[Path], folder: Path) -> list[Path]:
    """Write the weights of `pickles` to `folder` as safetensors, one file for each; several with their index."""
    check_converter(pickles[0].name)
    total = len(pickles)
    names = [
        "model.safetensors" if total == 1 else f"model-{i:05}-of-{total:05}.safetensors" for i in range(1, total + 1)
    ]
    weights: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix=".convert-", dir=folder) as apart:
        for source, name in zip(pickles, names):
            weights |= dict.fromkeys(_converted(source, Path(apart) / name), name)
        for name in names:
            (Path(apart) / name).replace(folder / name)
    if total > 1:
        (folder / _INDEX).write_text(json.dumps({"metadata": {}, "weight_map": weights}), encoding="utf-8")
    return [folder / name for name in names]


def check_converter(file: str) -> None:
    """Raise where what converts weights is not installed."""
    if find_spec("torch") is None or find_spec("safetensors") is None:
        raise MissingExtra(f"Converting {file} (pickled weights)", "hf")


def _converted(source: Path, target: Path) -> list[str]:
    """The names of the tensors of one file, written to `target` by another process."""
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    # Isolated: neither the current folder nor PYTHONPATH nor user packages can put a module in torch's place.
    command = [sys.executable, "-I", str(_SCRIPT), str(source.resolve()), str(target)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=_LONGEST, check=False)
    except subprocess.TimeoutExpired as error:
        raise ModelError(f"{source}: not converted within {_LONGEST // 60} minutes") from error
    if done.returncode:
        message = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        raise ModelError(f"{source.name}: its pickled weights are refused, they hold more than weights ({message[-1]})")
    names: list[str] = json.loads(done.stdout)
    return names


def convert_file(source: Path, base: Path, to: Path) -> Path:
    """One file of pickled weights as a model folder: configuration and tokenizer of `base`, weights of `source`."""
    if not source.is_file():
        raise InputError(f"{source}: no such file of weights")
    if not (base / "config.json").is_file():
        raise ModelError(f"{base}: no config.json; --base is the folder of a model of the same architecture")
    if to.exists() and any(to.iterdir() if to.is_dir() else [to]):
        raise InputError(f"{to}: not an empty folder; give another --to")
    to.mkdir(parents=True, exist_ok=True)
    for path in sorted(base.iterdir()):
        if path.is_file() and path.suffix in _FROM_BASE and not path.name.endswith("index.json"):
            shutil.copyfile(path, to / path.name)
    (to / "medassay-origin.json").unlink(missing_ok=True)
    convert([source], to)
    return to
