"""`make graph` draws which room imports from which: docs/img/import-graph.svg.

Rooms stand in the order of the layer contract in pyproject.toml (`[tool.importlinter]`), the first at the top. Each
room that imports has a lane of its own to the right of the boxes; the lane runs upward, and where it crosses the row
of another room a dot says how many imports lead there. An import that ran downward would break the contract.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from html import escape
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "img" / "import-graph.svg"

BOX, ROW, LANE = 150, 34, 40
"""Width of a box, height of a row, width of a lane."""
LEFT, TOP = 12, 44

_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2933; }
.small { font-size: 11px; fill: #616e7c; }
.box { fill: #f5f7fa; stroke: #9aa5b1; }
.row { stroke: #cbd2d9; }
.lane { stroke: #7b8794; fill: none; }
.dot { fill: #2563a8; }
.back { fill: #c2410c; }
.count { fill: #ffffff; font-size: 11px; text-anchor: middle; }
"""


def rooms() -> list[str]:
    """The rooms, the first that the others may import at the top."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = [c for c in settings["tool"]["importlinter"]["contracts"] if c["type"] == "layers"]
    ordered = []
    for layer in reversed(contract["layers"]):
        ordered += [name.strip(" ()") for name in layer.replace(":", "|").split("|")]
    return ordered


def imports() -> Counter[tuple[str, str]]:
    """How many modules of one room import a module of another; imports for type checking alone do not count."""
    graph = grimp.build_graph("medassay", exclude_type_checking_imports=True, cache_dir=None)
    counts: Counter[tuple[str, str]] = Counter()
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            first, second = (name.split(".")[1] if "." in name else "" for name in (importer, imported))
            if first != second and first and second:
                counts[first, second] += 1
    return counts


def draw() -> str:
    """The graph as SVG; the same imports give the same bytes."""
    counts = imports()
    named = {room for pair in counts for room in pair}
    shown = [room for room in rooms() if room in named]
    shown += sorted(named - set(shown))
    rows = {room: TOP + i * ROW for i, room in enumerate(shown)}
    lanes = {
        room: LEFT + BOX + LANE * (i + 1) for i, room in enumerate(r for r in shown if any(r == a for a, _ in counts))
    }
    width, height = max(lanes.values()) + LANE, TOP + len(shown) * ROW + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="Import graph">',
        f"<style>{_STYLE}</style>",
        f'<text class="small" x="{LEFT}" y="20">A room imports from the rooms above it: its lane runs upward, a dot '
        "counts the imports.</text>",
    ]
    for room, y in rows.items():
        reached = [lanes[a] for a, b in counts if b == room]
        if reached:
            parts.append(f'<line class="row" x1="{LEFT + BOX}" x2="{max(reached)}" y1="{y + 13}" y2="{y + 13}"/>')
            parts.append(
                f'<path class="row" d="M{LEFT + BOX + 6} {y + 9}L{LEFT + BOX} {y + 13}L{LEFT + BOX + 6} {y + 17}"/>'
            )
    for room, x in lanes.items():
        ends = [rows[b] + 13 for a, b in counts if a == room]
        start = rows[room] + 21
        parts.append(f'<path class="lane" d="M{LEFT + BOX} {start}H{x}V{min(ends)}"/>')
    for room, y in rows.items():
        parts.append(f'<rect class="box" x="{LEFT}" y="{y}" width="{BOX}" height="{ROW - 6}" rx="4"/>')
        parts.append(f'<text x="{LEFT + 12}" y="{y + 19}">{escape(room)}</text>')
    for (importer, imported), count in sorted(counts.items()):
        x, y = lanes[importer], rows[imported] + 13
        css = "dot" if rows[imported] < rows[importer] else "back"
        parts.append(
            f'<circle class="{css}" cx="{x}" cy="{y}" r="10"><title>{importer} imports {imported}</title></circle>'
        )
        parts.append(f'<text class="count" x="{x}" y="{y + 4}">{count}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    TARGET.write_text(draw(), encoding="utf-8")
    print(f"written to {TARGET.relative_to(ROOT)}")
