"""The page of the documentation that shows the figures, made from what the benchmarks kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure

_HEAD = """# Benchmarks

Made by `make bench` from its own output; do not edit. Every section names the machine, the versions and the load
(processes that wanted a core) when it began: on a busy machine wall-clock times are too long and ratios of two
times taken one after the other are rough, while CPU seconds hold. Peers run in the same process on the same pairs,
in turn. Texts are made or recombined from the bundled examples unless a section says otherwise.

`make bench NAMES="lexical growth"` measures some sections and keeps the others; `make profile` shows where each
metric spends its time.
"""


def keep(path: Path, name: str, title: str, machine: str, figures: Sequence[Figure]) -> None:
    """Put a section's figures in place of those kept before."""
    kept = read(path)
    kept[name] = {
        "title": title,
        "machine": machine,
        "when": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "figures": [asdict(figure) for figure in figures],
    }
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """What is kept; nothing where no benchmark has run yet."""
    if not path.exists():
        return {}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def write_page(page: Path, order: Sequence[str]) -> None:
    """The page, its sections in the order of the benchmarks; a benchmark never run is listed as such."""
    kept = read(page.with_suffix(".json"))
    parts = [_HEAD, *(_section(kept[name]) for name in order if name in kept)]
    missing = [name for name in order if name not in kept]
    if missing:
        parts.append(f"## Not measured yet\n\n{', '.join(missing)}.\n")
    page.write_text("\n".join(parts), encoding="utf-8")


def _section(section: dict[str, Any]) -> str:
    lines = [f"## {section['title']}", "", f"{section['when']}; {section['machine']}", ""]
    lines += ["| what | measured | goal | |", "|---|---|---|---|"]
    for figure in section["figures"]:
        verdict = {True: "reached", False: "**missed**", None: ""}[figure["reached"]]
        cells = [" ".join(str(figure[key]).split()) for key in ("what", "measured", "goal")]
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} | {verdict} |")
    return "\n".join(lines) + "\n"
