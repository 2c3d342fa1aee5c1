"""The paths of a command: compared before it runs, and locked while it does.

An input is never an output, no two outputs are one file, and two runs do not write one output at the same time.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from medassay.errors import InputError
from medassay.files import hidden_name, is_special, unwritable

PathOrNone = str | Path | None
Given = PathOrNone | Sequence[PathOrNone]
"""A path, several, or none."""


@dataclass(frozen=True)
class ReadFolder:
    """A folder of inputs: the files in it, and below it, with these endings; without endings, all of them."""

    path: Path
    endings: Collection[str] = ()

    def holds(self, path: Path) -> bool:
        """Whether a file that is there belongs to the inputs."""
        if not path.is_file() or (self.endings and path.suffix.lower() not in self.endings):
            return False
        return path.resolve().is_relative_to(self.path.resolve())


def check_read_again(path: str | Path) -> None:
    """Raise `InputError` for what can be read only once, in commands that read a file several times."""
    if str(path) == "-" or is_special(Path(path)):
        name = "standard input" if str(path) == "-" else path
        raise InputError(f"{name}: can be read only once, and this command reads it again; write it to a file first")


def check_paths(
    inputs: Mapping[str, Given | ReadFolder], outputs: Mapping[str, Given], *, folders: Mapping[str, Path] | None = None
) -> None:
    """Check before a run that its outputs can be written and overwrite neither an input nor one another.

    Files are compared by identity, not by name: links and hard links count as the file itself. A character device may
    be named twice.

    Args:
        inputs: files that are read, by what messages call them; `-` is standard input.
        outputs: files that are written, those beside an output (meta file, store) included.
        folders: folders that are created where they are not there.
    """
    for label, folder in (folders or {}).items():
        _check_folder(folder, label)
    read_paths = [(label, path) for label, path in _each(inputs) if str(path) == "-" or path.exists()]
    read_folders = [(label, value) for label, value in inputs.items() if isinstance(value, ReadFolder)]
    written = list(_each(outputs))
    created = [folder.absolute() for folder in (folders or {}).values()]
    known: dict[tuple[object, ...], tuple[str, Path]] = {}
    for label, path in read_paths:
        if (mark := _mark(path)) is not None:
            known.setdefault(mark, (label, path))
    taken: dict[tuple[object, ...], tuple[str, Path]] = {}
    for label, path in written:
        _check_writable(path, created)
        mark = _mark(path)
        if mark is None:
            continue
        if mark in known:
            raise InputError(f"{path} ({label}): is the input itself, {_named(known[mark])}; write to another file")
        for other, read_folder in read_folders:
            if read_folder.holds(path):
                raise InputError(f"{path} ({label}): is read from {read_folder.path} ({other}); write to another file")
        if mark in taken:
            raise InputError(f"{path} ({label}) and {_named(taken[mark])} cannot be one file; name two")
        taken[mark] = (label, path)


def _each(paths: Mapping[str, Given | ReadFolder]) -> Iterator[tuple[str, Path]]:
    for label, value in paths.items():
        if isinstance(value, ReadFolder):
            continue
        for path in [value] if value is None or isinstance(value, str | Path) else value:
            if path is not None:
                yield label, Path(path)


def _named(labelled: tuple[str, Path]) -> str:
    label, path = labelled
    return "standard input" if str(path) == "-" else f"{path} ({label})"


def _mark(path: Path) -> tuple[object, ...] | None:
    """The identity of a file: its inode, or its folder's and its name; None where sharing does no harm."""
    try:
        if str(path) == "-":
            status = os.fstat(sys.stdin.fileno())
        elif path.exists():
            status = path.stat()
        else:
            target = path.resolve()
            folder = target.parent.stat() if target.parent.exists() else None
            return (folder.st_dev, folder.st_ino, target.name) if folder else (str(target),)
    except (OSError, ValueError, AttributeError):  # closed standard input, or one that is no file
        return None
    return None if stat.S_ISCHR(status.st_mode) else (status.st_dev, status.st_ino)


def _check_writable(path: Path, created: Sequence[Path]) -> None:
    """Raise where a file cannot be written. created: folders that will exist by then."""
    try:
        target = path.resolve()
    except (OSError, RuntimeError) as error:  # links in a circle
        raise InputError(f"{path}: leads nowhere ({error}); remove the link or choose another file") from error
    if is_special(path):
        if not path.exists():
            raise InputError(f"{path}: no such device")
        return
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file in it")
    folder = target.parent
    if not folder.is_dir():
        if any(path.absolute().is_relative_to(new) for new in created):
            return
        raise InputError(f"{path}: the folder {folder} does not exist; create it first")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{path}: the folder {folder} cannot be written to; choose another")
    if path.exists() and not os.access(path, os.W_OK):
        raise InputError(f"{path}: is write-protected; choose another file")


def _check_folder(folder: Path, label: str) -> None:
    """Raise where a folder is not there and cannot be created."""
    nearest = folder.absolute()
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    if not nearest.is_dir():
        raise InputError(f"{folder} ({label}): {nearest} is a file and no folder; choose another {label}")
    if not os.access(nearest, os.W_OK):
        raise InputError(f"{folder} ({label}): the folder {nearest} cannot be written to; choose another")


_HELD: dict[tuple[int, Path], str] = {}
"""The outputs that this process has locked, with its claim: a lock keeps out other processes, not this one."""


@contextmanager
def hold(outputs: Iterable[Path | None]) -> Iterator[None]:
    """Keep other runs from writing the same files until the block ends.

    A lock file lies beside each output. The system releases the lock when the process ends, however it ends.

    Raises InputError that names the process which holds a file, and since when.
    """
    targets = {path.resolve() for path in outputs if path is not None and not is_special(path)}
    with ExitStack() as stack:
        for target in sorted(targets):
            stack.enter_context(_hold(target))
        yield


@contextmanager
def _hold(target: Path) -> Iterator[None]:
    key = (os.getpid(), target)
    if key in _HELD:
        raise _taken(target, _HELD[key])
    claim = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")})
    lock = target.with_name(hidden_name(target) + ".lock")
    if sys.platform == "win32":  # knows no such locks; unique temporary names must do
        yield
        return
    try:
        descriptor = _acquire(lock, target)
    except OSError as error:
        raise unwritable(target, error) from error
    _HELD[key] = claim
    try:
        with suppress(OSError):  # a full disk; the lock holds without the words
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, claim.encode(), 0)
        yield
    finally:
        del _HELD[key]
        with suppress(OSError):
            lock.unlink()
        os.close(descriptor)


def _acquire(lock: Path, target: Path) -> int:
    """Open and lock the lock file; that of a dead process is free. Gives the descriptor that holds the lock."""
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            if not _lock(descriptor):
                raise _taken(target, os.pread(descriptor, 1000, 0).decode("utf-8", "replace"))
            # The holder before us may have removed the file between our opening and our locking it.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), lock.stat()):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock a whole file without waiting. A forked worker does not inherit the lock, so it cannot outlive its owner.

    Where the file system knows no locks, unique temporary names must do.
    """
    import fcntl

    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True


def _taken(target: Path, claim: str) -> InputError:
    try:
        holder = json.loads(claim)
        who = f"process {int(holder['pid'])} on {holder['host']}, since {holder['since']}"
    except (ValueError, KeyError, TypeError):
        who = "another process"
    return InputError(f"{target}: is being written by {who}; wait for it to end, or choose another file")
