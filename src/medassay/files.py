"""Output files: written beside their target, and moved over it only when they are complete.

A file that is there stays until its successor is whole and on the disk. A symbolic link is followed; a device, a pipe
or a socket is written to and never replaced. Two runs never share a temporary file; one that a killed run has left
behind is removed by the next run that writes the same target.
"""

from __future__ import annotations

import csv
import glob
import io
import itertools
import json
import math
import os
import re
import shutil
import socket
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Self

from medassay.errors import InputError

TABLES = (".csv", ".jsonl")
"""Endings of the files that `write_rows` writes."""
_COUNT = itertools.count()
_HOST = f"{zlib.crc32(socket.gethostname().encode()):08x}"
_LONGEST = 100
"""Characters of a target's name that its temporary file repeats; a file name has 255 bytes at most."""
_LINKS = 40
"""Symbolic links followed from one to the next, as many as Linux follows."""
_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
_DESCRIPTOR = re.compile(r"/(?:dev|proc/(self|\d+))/fd/(\d+)")
_TEXTS = ("candidate", "reference", "source")
_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?%?")


class OutputFile:
    """A file that is being written: write to `temporary`, then `commit` or `discard`; the end of a `with` discards.

    special: the target is a device, a pipe or a socket, which gets everything at the commit.
    Raises OSError where it cannot be created.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.special = is_special(path)
        self.target = path if self.special else path.resolve()
        if self.target.is_dir():
            raise IsADirectoryError(21, "Is a directory", str(path))
        folder = Path(tempfile.gettempdir()) if self.special else self.target.parent
        name = hidden_name(self.target)
        _remove_abandoned(folder, name)
        self.temporary = folder / f"{name}.{_HOST}-{os.getpid()}-{next(_COUNT)}.partial"
        self._mode = _mode_of(self.target)
        # The temporary file has the permissions of the old one: it must not be readable by others meanwhile.
        mode = 0o600 if self.special else 0o666 if self._mode is None else self._mode | 0o600
        os.close(os.open(self.temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    def commit(self) -> None:
        """Put the file in its place; on return it is on the disk."""
        if self.special:
            with self.temporary.open("rb") as written, _open_special(self.target) as device:
                shutil.copyfileobj(written, device)
            self.discard()
            return
        _sync(self.temporary, os.O_RDWR)
        if self._mode is not None:
            with suppress(OSError):
                self.temporary.chmod(self._mode)
        self.temporary.replace(self.target)
        with suppress(OSError):  # not every file system lets a folder be opened
            _sync(self.target.parent, os.O_RDONLY)

    def discard(self) -> None:
        """Leave the target as it is, and remove what is left of the temporary file."""
        self.temporary.unlink(missing_ok=True)


@contextmanager
def open_output(path: Path, *, errors: str = "strict", newline: str = "\n") -> Iterator[IO[str]]:
    """A text file that appears under its name only when the block ends without an exception.

    Raises InputError where it cannot be written.
    """
    try:
        with OutputFile(path) as file:
            with file.temporary.open("w", encoding="utf-8", errors=errors, newline=newline) as stream:
                yield stream
            file.commit()
    except OSError as error:
        raise unwritable(path, error) from error


def write_text(path: Path, text: str, *, errors: str = "strict") -> None:
    """Write a whole text file, or leave what is there. Raises InputError where it cannot be written."""
    with open_output(path, errors=errors) as stream:
        stream.write(text)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole binary file, or leave what is there. Raises InputError where it cannot be written."""
    try:
        with OutputFile(path) as file:
            file.temporary.write_bytes(content)
            file.commit()
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: Path, error: OSError) -> InputError:
    """The error for a file that cannot be written."""
    return InputError(
        f"{path}: cannot be written ({error.strerror or error}); is the disk full, or the file in use? "
        "Make room, or choose another file"
    )


def exists(path: Path) -> bool:
    """As `Path.exists`; no error for a name that no file can have: too long, or with a null character in it."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """As `Path.is_file`; no error for a name that no file can have."""
    return exists(path) and path.is_file()


def is_special(path: Path) -> bool:
    """Whether a path, links followed, is written to and must not be replaced: a device, a pipe, a socket, a stream."""
    path = _followed(path)
    return _is_stream(path) or (path.exists() and not path.is_file() and not path.is_dir())


def _followed(path: Path) -> Path:
    """Where symbolic links lead; links inside /dev and /proc stand for streams, and are not followed."""
    path = path.absolute()
    for _ in range(_LINKS):
        if _is_stream(path):
            break
        path = path.parent.resolve() / path.name
        if _is_stream(path) or not path.is_symlink():
            break
        path = path.parent / path.readlink()
    return path


def _is_stream(path: Path) -> bool:
    """What /dev and /proc hold may look like a plain file: /dev/stdout does where it is redirected to one."""
    return path.parts[1:2] == ("proc",) or (path.parts[1:2] == ("dev",) and path.parts[2:3] != ("shm",))


def hidden_name(target: Path) -> str:
    """The beginning of the names of temporary and lock files beside a target; short enough for a suffix."""
    name = target.name
    if len(name.encode("utf-8", "surrogateescape")) > _LONGEST:
        name = f"{name[: _LONGEST // 4]}~{zlib.crc32(os.fsencode(name)):08x}"
    return f".{name}"


def _open_special(path: Path) -> IO[bytes]:
    """A device or pipe for writing. A stream of this process is taken as it stands, not opened anew at its start."""
    path = _followed(path)
    descriptor = _DESCRIPTOR.fullmatch(str(path))
    number = (
        int(descriptor[2])
        if descriptor and descriptor[1] in (None, "self", str(os.getpid()))
        else _STREAMS.get(str(path))
    )
    if number is None:
        return os.fdopen(os.open(path, os.O_WRONLY), "wb")  # neither created nor cut
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return os.fdopen(os.dup(number), "wb")


def _mode_of(path: Path) -> int | None:
    """The permissions of a file that is there; a new one gets what the umask grants."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return None


def _sync(path: Path, access: int) -> None:
    """Wait until a file, or the entries of a folder, are on the disk."""
    descriptor = os.open(path, access)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def guard(cell: str) -> str:
    """A CSV cell that no spreadsheet will run as a formula; plain numbers stay as they are.

    >>> guard("=cmd|' /C calc'!A0"), guard("-0.5")
    ("'=cmd|' /C calc'!A0", '-0.5')
    """
    return "'" + cell if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Records as CSV, no cell of which a spreadsheet will run; columns in order of appearance."""
    stream = io.StringIO()
    columns = list(dict.fromkeys(column for row in rows for column in row))
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([guard(column) for column in columns])
    for row in rows:
        writer.writerow([_cell(column, row.get(column)) for column in columns])
    return stream.getvalue()


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON that any program reads: a number that is not finite is null.

    >>> json_text({"recall": float("nan"), "n": [1, float("inf")]})
    '{"recall": null, "n": [1, null]}'
    """
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def jsonl_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Records as JSON lines."""
    return "".join(json_text(dict(row)) + "\n" for row in rows)


def table_kind(path: Path, formats: Sequence[str] = TABLES) -> str:
    """The ending that says how a table is written; `.csv` for a device or a pipe whose name says nothing."""
    suffix = path.suffix.lower()
    if suffix in formats:
        return suffix
    if is_special(path):
        return ".csv"
    raise InputError(f"{path}: cannot write '{path.suffix}'; use one of {', '.join(formats)}")


def write_rows(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write records to a .csv or .jsonl file, whole or not at all."""
    write_text(path, csv_text(rows) if table_kind(path) == ".csv" else jsonl_text(rows))


def _cell(column: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        # A text that a spreadsheet would run gets a space in front, which no metric minds; an
        # apostrophe, as for other cells, would be a change to the text that is judged.
        safe = guard(value)
        return " " + value if safe != value and column in _TEXTS else safe
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) and value.is_integer() else str(value)


def _remove_abandoned(folder: Path, name: str) -> None:
    """Remove temporary files of processes of this machine that have ended."""
    if sys.platform == "win32":  # there os.kill(pid, 0) would end the process
        return
    for path in folder.glob(f"{glob.escape(name)}.{_HOST}-*.partial*"):
        pid = path.name.removeprefix(f"{name}.{_HOST}-").partition("-")[0]
        if pid.isdigit():
            with suppress(PermissionError):
                try:
                    os.kill(int(pid), 0)
                except ProcessLookupError:
                    path.unlink(missing_ok=True)
