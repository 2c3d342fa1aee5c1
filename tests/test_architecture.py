"""docs/architecture.md says what is so: the layers, the graph, and walks that go forward only."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WALKS = {
    part.splitlines()[0]: re.findall(r"^\d+\. `([^`]+)`", part, re.M)
    for part in PAGE.partition("## Three walks")[2].partition("\n## ")[0].split("\n### ")[1:]
}

grimp = pytest.importorskip("grimp")


@pytest.fixture(scope="module")
def graph() -> object:
    return grimp.build_graph("medassay", exclude_type_checking_imports=True, cache_dir=None)


def test_there_are_three_walks() -> None:
    assert len(WALKS) == 3 and all(len(files) >= 8 for files in WALKS.values())


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_names_files_and_goes_forward(walk: str, graph: grimp.ImportGraph) -> None:
    assert [file for file in WALKS[walk] if not (ROOT / file).is_file()] == []
    modules = [file.removeprefix("src/").removesuffix(".py").replace("/", ".") for file in WALKS[walk]]
    back = [
        (later, earlier)
        for i, later in enumerate(modules)
        for earlier in modules[:i]
        if graph.direct_import_exists(importer=later, imported=earlier)
    ]
    assert back == []


def test_the_page_lists_every_room() -> None:
    table = PAGE.partition("| room |")[2].partition("\n\n")[0]
    rooms = {name.strip("/").removesuffix(".py") for name in re.findall(r"`([\w/]+(?:\.py)?)`", table)}
    source = ROOT / "src" / "medassay"
    there = {path.stem for path in source.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert there - {"__init__", "__main__"} <= rooms


def test_the_graph_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    monkeypatch.delitem(sys.modules, "import_graph", raising=False)
    import import_graph

    assert import_graph.TARGET.read_text(encoding="utf-8") == import_graph.draw(), "run `make graph`"
