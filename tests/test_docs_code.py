"""The Python in the pages runs as it stands, and so does the first hour."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from medassay.examples.tissue import draw_tissue

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOT_RUN = {"first-hour.md", "slides.md"}  # run below as a whole; needs a whole slide
SCORES = "id,system,rouge1,human_score\n" + "".join(
    f"{i},{system},{(i * 7 + k) % 5 / 5},{(i + k) % 4}\n" for i in range(6) for k, system in enumerate("ab")
)


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.S | re.M)


PAGES = {
    name: found
    for path in sorted(DOCS.glob("**/*.md"))
    if (name := str(path.relative_to(DOCS))) not in NOT_RUN and (found := blocks(name))
}


@pytest.mark.parametrize(("page", "k"), [(page, k) for page in PAGES for k in range(len(PAGES[page]))])
def test_a_block_runs(page: str, k: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases.csv").write_text("candidate,reference\nno tumor seen,no tumor is seen\ngastritis,gastritis\n")
    (tmp_path / "scores.csv").write_text(SCORES)
    if page == "trust.md":
        draw_tile(tmp_path / "tile.png")
    code = PAGES[page][k]
    exec(compile(code, f"{page}, block {k + 1}", "exec"), {"__name__": "example"})


def draw_tile(path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    image.fromarray(draw_tissue("glands")).save(path)


@pytest.mark.snippets
def test_the_first_hour_leads_to_a_comparison_and_its_pages(tmp_path: Path) -> None:
    shutil.copytree(DOCS / "examples", tmp_path / "docs" / "examples")
    text = (DOCS / "first-hour.md").read_text(encoding="utf-8")
    steps = re.findall(r"^```(bash|python)\n(.*?)^```", text, re.S | re.M)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    assert len(steps) == 6
    for language, code in steps:
        command = [sys.executable, "-c", code] if language == "python" else ["bash", "-euo", "pipefail", "-c", code]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    for name in ("reports", "reports-comparison", "sections-comparison", "sections"):
        assert "System comparison" in (tmp_path / f"{name}.html").read_text(encoding="utf-8")
    assert "Primary metric facts" in (tmp_path / "reports-comparison.md").read_text(encoding="utf-8")


def test_there_are_examples() -> None:
    assert {"check.md", "human/agreement.md", "metrics/facts.md", "serving.md", "trust.md"} <= set(PAGES)
