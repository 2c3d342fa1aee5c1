"""The Python in the pages on engines, serving, statistics and studies runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = ("engines.md", "serving.md", "statistics.md", "studies.md")
SCORES = "id,system,rouge1,human_score\n" + "".join(
    f"{i},{system},{(i * 7 + k) % 5 / 5},{(i + k) % 4}\n" for i in range(6) for k, system in enumerate("ab")
)


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.S | re.M)


@pytest.mark.parametrize(("page", "k"), [(page, k) for page in PAGES for k in range(len(blocks(page)))])
def test_a_block_runs(page: str, k: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases.csv").write_text("candidate,reference\nno tumor seen,no tumor is seen\ngastritis,gastritis\n")
    (tmp_path / "scores.csv").write_text(SCORES)
    code = blocks(page)[k]
    exec(compile(code, f"{page}, block {k + 1}", "exec"), {"__name__": "example"})


def test_there_are_examples() -> None:
    assert all(len(blocks(page)) >= 1 for page in PAGES)
