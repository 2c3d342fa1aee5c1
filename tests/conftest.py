"""What several test modules share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

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


@pytest.fixture
def given_dimensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grounding and logic whose numbers stand in the cases; stability is the real one."""
    from tests.metrics.dimensions import register_given

    register_given(monkeypatch, "grounding", "logic")


@pytest.fixture
def trust_images(tmp_path: Path) -> Path:
    """A folder with three tiles of tissue."""
    from tests.commands.trust_files import write_images

    return write_images(tmp_path / "images")
