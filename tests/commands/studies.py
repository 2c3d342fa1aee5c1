"""Studies of the tutorial, begun on the command line."""

from __future__ import annotations

import shutil
from pathlib import Path

TUTORIAL = Path(__file__).parents[2] / "docs" / "human" / "tutorial"


def new_study(command, tmp_path, *words: str) -> None:
    """Begin `study.yaml` with the tutorial's notes and two annotators."""
    shutil.copy(TUTORIAL / "notes.csv", tmp_path / "notes.csv")
    command("annotate", "new", "study.yaml", "--cases", "notes.csv", "--annotators", "anna,ben", *words)
