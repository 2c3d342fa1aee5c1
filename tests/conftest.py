"""What several test modules share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from medassay.cli import main

# Numbers are compared with the library's own: on a machine with a graphics card, too, in full precision.
os.environ.setdefault("MEDASSAY_DTYPE", "float32")


@dataclass(frozen=True)
class Ran:
    """What one command came to."""

    code: int
    out: str
    err: str


@pytest.fixture
def medassay(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command line in this process: `medassay("score", path, "--out", path)`."""

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["medassay", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return Ran(int(stop.value.code or 0), captured.out, captured.err)

    return run
