"""The embedded set on disk: its manifest, its files checked, its graphs opened with ONNX Runtime."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np

from medassay.cores import cores
from medassay.errors import ModelError
from medassay.files import write_text
from medassay.models.base import Matrix
from medassay.models.tokens import CLS, SEP, Tokenizer, batches, pad

_LOG = logging.getLogger(__name__)


def _home() -> Path:
    """The folder of the embedded set: in a checkout beside this file, otherwise where `medassay-models` put it."""
    beside = Path(__file__).parent / "embedded"
    if (beside / "manifest.json").is_file():
        return beside
    spec = find_spec("medassay_models")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return Path(folders[0]) if folders else beside


HOME = _home()
SCHEMA = 1
BUDGET = 1024
"""Padded tokens per batch: fills the cores and stays in their caches; larger batches were a quarter slower."""

CACHE_BYTES = 96 * 2**20
"""Bytes of the trunk's states that a set keeps for rows that are read again."""
_SETS: WeakSet[ModelSet] = WeakSet()
_INHERITED: list[dict[str, Any]] = []
"""Sessions of a parent process; kept, because closing one would wait for threads that this process does not have."""
RESTORE = "pip install --force-reinstall medassay-models medassay-models-reader"
"""What to do where the weights are missing or damaged."""


class ModelSet:
    """A folder of ONNX graphs with a `manifest.json` (see FORMAT.md there)."""

    def __init__(self, folder: Path = HOME) -> None:
        self.folder = folder
        try:
            self.manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ModelError(f"{folder}: no manifest.json, so no model set. Install the weights: {RESTORE}") from None
        except ValueError as error:
            raise ModelError(f"{folder / 'manifest.json'}: not JSON ({error}). Restore it: {RESTORE}") from error
        if not isinstance(self.manifest, dict) or not {"set", "files", "roles"} <= set(self.manifest):
            raise ModelError(
                f"{folder / 'manifest.json'}: not a model set's manifest (set, files, roles). Restore it: {RESTORE}"
            )
        if self.manifest.get("schema") != SCHEMA:
            raise ModelError(
                f"{folder}: model set of schema {self.manifest.get('schema')}, this version reads {SCHEMA}; "
                "install the matching medassay"
            )
        self.sessions: dict[str, Any] = {}
        _SETS.add(self)
        self.hidden_cache: OrderedDict[tuple[int, ...], Matrix] = OrderedDict()
        self.hidden_bytes = 0

    @property
    def name(self) -> str:
        """The set's name, as in signatures: `embedded-5`."""
        return str(self.manifest["set"])

    def role(self, role: str) -> Mapping[str, Any]:
        """The settings of a role."""
        roles: Mapping[str, Mapping[str, Any]] = self.manifest["roles"]
        if role not in roles:
            raise ModelError(f"{self.folder}: no model for the role '{role}'; it has {', '.join(roles)}")
        return roles[role]

    def problem(self, entry: Mapping[str, Any]) -> str | None:
        """What is wrong with a file of the set: missing, or another content than the manifest says."""
        path = self.folder / entry["name"]
        if not path.is_file():
            return "missing"
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return None if digest == entry["sha256"] else f"wrong hash {digest[:12]}…, expected {entry['sha256'][:12]}…"

    def file(self, name: str) -> Path:
        """The path of a file of the set, after its hash has been checked."""
        entry = next((e for e in self.manifest["files"] if e["name"] == name), None)
        if entry is None:
            raise ModelError(f"{self.folder}: the manifest does not list '{name}'. Restore it: {RESTORE}")
        problem = self.problem(entry)
        if problem:
            raise ModelError(f"{self.folder / name}: {problem}. Restore it: {RESTORE}")
        return self.folder / name

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that all roles share."""
        return Tokenizer(self.file("tokenizer.json"))

    def run(self, graph: str, feeds: Mapping[str, Any], *, cores: int | None = None) -> list[Any]:
        """All outputs of one graph; `cores`: how many one run may use, when the graph is first opened here."""
        if graph not in self.sessions:
            self.sessions[graph] = open_session(self.file(graph), cores)
        try:
            outputs: list[Any] = self.sessions[graph].run(None, dict(feeds))
        except Exception as error:  # ONNX Runtime has a type of its own for each way a graph may not fit
            check_memory(self.folder / graph, error)
            raise ModelError(
                f"{self.folder / graph}: not the graph that this version expects ({error}). Restore it: {RESTORE}"
            ) from error
        return outputs

    def hidden(self, rows: Sequence[tuple[int, ...]], sides: Sequence[Sequence[int]] | None = None) -> list[Matrix]:
        """The trunk's states of each row of ids (frame tokens included), computed once per row."""
        if not sides and len(set(rows)) < len(rows):
            distinct = list(dict.fromkeys(rows))
            computed = dict(zip(distinct, self.hidden(distinct)))
            return [computed[row] for row in rows]
        states_of_rows: list[Matrix | None] = [None if sides else self._recall(row) for row in rows]
        todo = [i for i, row_states in enumerate(states_of_rows) if row_states is None]
        for batch in batches([len(rows[i]) for i in todo], BUDGET):
            indices = [todo[i] for i in batch]
            ids = pad([rows[i] for i in indices])
            mask = pad([[1] * len(rows[i]) for i in indices])
            side = pad([sides[i] for i in indices]) if sides else np.zeros_like(ids)
            states = self.run("trunk.onnx", {"ids": ids, "mask": mask, "sides": side})[0]
            for k, i in enumerate(indices):
                states_of_rows[i] = states[k, : len(rows[i])]
                if not sides:
                    self._remember(rows[i], states[k, : len(rows[i])].copy())
        return [row_states for row_states in states_of_rows if row_states is not None]

    def _recall(self, row: tuple[int, ...]) -> Matrix | None:
        states = self.hidden_cache.get(row)
        if states is not None:
            self.hidden_cache.move_to_end(row)
        return states

    def _remember(self, row: tuple[int, ...], states: Matrix) -> None:
        if row in self.hidden_cache:
            return
        self.hidden_cache[row] = states
        self.hidden_bytes += states.nbytes
        while self.hidden_bytes > CACHE_BYTES:
            self.hidden_bytes -= self.hidden_cache.popitem(last=False)[1].nbytes


def _reset_sessions() -> None:
    """In a forked process, which has no threads of the parent's sessions: open graphs again on next use."""
    for models in _SETS:
        _INHERITED.append(models.sessions)
        models.sessions = {}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_sessions)


def write_manifest(folder: Path, name: str, roles: Mapping[str, Any], origin: Mapping[str, str]) -> None:
    """manifest.json: what each file is (hash, bytes, licence, source) and what each role needs."""
    files = []
    for path in sorted(path for kind in ("*.onnx", "*.npz", "*.tsv", "tokenizer.json") for path in folder.glob(kind)):
        content = path.read_bytes()
        files.append(
            {"name": path.name, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content), **origin}
        )
    manifest = {"schema": SCHEMA, "set": name, "files": files, "roles": dict(roles)}
    write_text(folder / "manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def write_record(folder: Path, role: str, figures: Mapping[str, float], **more: object) -> None:
    """training.json: the role that was trained and its held-out figures."""
    record = {"role": role, "held_out": dict(figures), **more}
    write_text(folder / "training.json", json.dumps(record, indent=1) + "\n")


def framed(ids: Sequence[int]) -> tuple[int, ...]:
    """Ids with the frame tokens around them."""
    return (CLS, *ids, SEP)


def stack(states: Sequence[Matrix]) -> tuple[Matrix, Any]:
    """States of several rows as one padded array, and its mask.

    A text's numbers must not depend, not even in the last bit, on what was read with it. So a row alone is
    given twice (matrix products of one row take another path in ONNX Runtime) and the width is a multiple of
    8 (sums over a tail of less are taken in another order).
    """
    states = [*states, *states] if len(states) == 1 else states
    width = -(-max(len(row) for row in states) // 8) * 8
    hidden = np.zeros((len(states), width, states[0].shape[1]), np.float32)
    mask = np.zeros((len(states), width), np.int64)
    for i, row in enumerate(states):
        hidden[i, : len(row)] = row
        mask[i, : len(row)] = 1
    return hidden, mask


def threads() -> int:
    """Cores this process may use (`MEDASSAY_THREADS` overrides)."""
    setting = os.environ.get("MEDASSAY_THREADS", "")
    if setting.isdigit() and int(setting) > 0:
        return int(setting)
    return cores()


def check_memory(path: Path, error: BaseException) -> None:
    """Raise a `ModelError` about memory where a model could not be opened or run because there is too little of it."""
    if isinstance(error, MemoryError) or _NO_MEMORY.search(str(error)):
        raise ModelError(
            f"{path}: there is not enough memory for the model; use fewer --workers, or raise the limit (ulimit -v)"
        ) from error


_NO_MEMORY = re.compile(
    r"bad.?alloc|failed to allocate|cannot allocate|not enough memory|out of memory|map segment|PosixThread|pthread",
    re.I,
)
"""What ONNX Runtime, and the system that loads it, say where memory or threads run out."""


_SLOWER_FUSIONS = ["SkipLayerNormFusion"]
"""On the CPU the fused sum and layer norm take six times as long as the two operations."""


def open_session(path: Path, cores: int | None = None) -> Any:
    """An ONNX Runtime session on the CPU, each run on `cores` (by default on all that this process may use)."""
    try:
        import onnxruntime as ort
    except ImportError as error:
        check_memory(path, error)
        raise ModelError(f"onnxruntime is not installed or broken ({error}): pip install onnxruntime") from error
    if "CPUExecutionProvider" not in ort.get_available_providers():
        raise ModelError("onnxruntime has no CPU provider here: pip install --force-reinstall onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = cores or threads()
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Weights are stored as int8 and unfolded to float once, at load, not in every run.
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    # Products of bytes overflow on x86 processors without VNNI: the reader's p differ by .1 and more from elsewhere.
    options.add_session_config_entry("session.x64quantprecision", "1")
    # Threads that spin while they wait take a third of the CPU from whatever else runs on a shared machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    _LOG.info("opening model %s", path.name)
    try:
        return ort.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=_SLOWER_FUSIONS
        )
    except Exception as error:  # ONNX Runtime raises a type of its own for each kind of broken file
        check_memory(path, error)
        raise ModelError(f"{path}: not a graph that ONNX Runtime can open ({error})") from error
