"""Output files: written beside their target, and moved over it only when they are complete.

A file that is there stays until its successor is whole. A symbolic link is followed; a device, a pipe or a socket is
written to and never replaced. Two runs never share a temporary file; one that a killed run has left behind is
removed by the next run that writes the same target.
"""

from __future__ import annotations

import csv
import glob
import io
import itertools
import json
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
from typing import IO, Any

from medassay.errors import InputError

_COUNT = itertools.count()
_HOST = f"{zlib.crc32(socket.gethostname().encode()):08x}"
_LONGEST = 100
"""Characters of a target's name that its temporary file repeats; a file name has 255 bytes at most."""
_TEXTS = ("candidate", "reference", "source")
_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?%?")


class OutputFile:
    """One file on its way: write to `temporary`, then `commit` or `discard`.

    Raises OSError where it cannot be created.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.special = _is_special(path)
        self.target = path if self.special else path.resolve()
        if self.target.is_dir():
            raise IsADirectoryError(21, "Is a directory", str(path))
        folder = Path(tempfile.gettempdir()) if self.special else self.target.parent
        name = f".{self.target.name[:_LONGEST]}"
        _remove_abandoned(folder, name)
        self.temporary = folder / f"{name}.{_HOST}-{os.getpid()}-{next(_COUNT)}.partial"
        self.temporary.open("xb").close()

    def commit(self) -> None:
        """Put the file in its place."""
        if self.special:
            with self.temporary.open("rb") as written, self.target.open("wb") as device:
                shutil.copyfileobj(written, device)
            self.discard()
            return
        with suppress(OSError):  # of the file that is replaced; a new one has what the umask grants
            self.temporary.chmod(stat.S_IMODE(self.target.stat().st_mode))
        self.temporary.replace(self.target)

    def discard(self) -> None:
        """Leave the target as it was."""
        self.temporary.unlink(missing_ok=True)


@contextmanager
def open_output(path: Path, *, errors: str = "strict", newline: str = "\n") -> Iterator[IO[str]]:
    """A text file that appears under its name only when the block ends without an exception.

    Raises InputError where it cannot be written.
    """
    try:
        file = OutputFile(path)
        try:
            with file.temporary.open("w", encoding="utf-8", errors=errors, newline=newline) as stream:
                yield stream
            file.commit()
        except BaseException:
            file.discard()
            raise
    except OSError as error:
        raise unwritable(path, error) from error


def write_text(path: Path, text: str, *, errors: str = "strict") -> None:
    """Write a whole text file, or leave what is there. Raises InputError where it cannot be written."""
    with open_output(path, errors=errors) as stream:
        stream.write(text)


def unwritable(path: Path, error: OSError) -> InputError:
    """What to tell the user of a file that cannot be written."""
    return InputError(
        f"{path}: cannot be written ({error.strerror or error}); is the disk full, or the file in use? "
        "Make room, or choose another file"
    )


def check_output(path: Path, *, inputs: tuple[str | Path, ...] = ()) -> None:
    """Find out before a run what could not be written after it; an input is never an output."""
    folder = path.resolve().parent
    if not _is_special(path):
        if not folder.is_dir():
            raise InputError(f"{path}: the folder {folder} does not exist; create it first")
        if not os.access(folder, os.W_OK):
            raise InputError(f"{path}: the folder {folder} cannot be written to; choose another")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file in it")
    for source in map(Path, inputs):
        if path.exists() and source.exists() and path.samefile(source):
            raise InputError(f"{path}: is the input itself; write to another file")


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


def jsonl_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Records as JSON lines."""
    return "".join(json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)


def write_rows(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write records to a .csv or .jsonl file, whole or not at all."""
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".jsonl"):
        raise InputError(f"{path}: cannot write '{path.suffix}'; use .csv or .jsonl")
    write_text(path, csv_text(rows) if suffix == ".csv" else jsonl_text(rows))


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


def _is_special(path: Path) -> bool:
    """Whether the path is something that is written to and must not be replaced: a device, a pipe, a socket."""
    if path.absolute().parts[1:2] in (("dev",), ("proc",)):
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


def _remove_abandoned(folder: Path, name: str) -> None:
    """Remove temporary files of processes of this machine that are no more."""
    if sys.platform == "win32":  # where asking for a process would end it
        return
    for path in folder.glob(f"{glob.escape(name)}.{_HOST}-*.partial*"):
        pid = path.name.removeprefix(f"{name}.{_HOST}-").partition("-")[0]
        if pid.isdigit():
            with suppress(PermissionError):
                try:
                    os.kill(int(pid), 0)
                except ProcessLookupError:
                    path.unlink(missing_ok=True)
