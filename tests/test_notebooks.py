"""The notebooks of docs/notebooks run: their code cells, in order, in a process and a folder of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"
EXPECTED = {
    "score": ("contradicted", ["report.html", "scores.csv"]),
    "validate": ("rouge1", ["scores.csv"]),
    "trust": ("planted error", ["trust.html"]),
    "annotate": ("alpha", ["ratings.csv", "study.yaml"]),
}


def cells(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    return loaded


def test_every_notebook_is_run() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_notebook_runs(name: str, tmp_path: Path) -> None:
    code = ["".join(cell["source"]) for cell in cells(name) if cell["cell_type"] == "code"]
    script = tmp_path / f"{name}.py"
    script.write_text("\n".join(code), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown, files = EXPECTED[name]
    assert shown in done.stdout
    assert all((tmp_path / file).stat().st_size > 0 for file in files)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_notebook_is_plain(name: str) -> None:
    """No stored output (it would age), an id per cell, a title first."""
    listed = cells(name)
    assert listed[0]["source"][0].startswith("# ")
    assert len({cell["id"] for cell in listed}) == len(listed)
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in listed if "outputs" in cell)
