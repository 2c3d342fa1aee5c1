"""The page of the documentation that shows the figures, made from what the benchmarks kept."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure

_LOAD = re.compile(r", load [\d.]+")
_HEAD = """# Benchmarks

What was compared, the times and their ratio, and the machine. Written by `make bench`; do not edit.
`make bench NAMES="lexical growth"` measures some sections and keeps the others; `make profile` shows where each
metric spends its time.

Other libraries run in the same process on the same pairs, one after the other. Texts are made or recombined from the
bundled examples unless a section says otherwise. *Load* is the number of processes that wanted a core when the section
began: on a busy machine wall-clock times are too long and their ratios are rough, while CPU seconds hold.
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
    sections = [kept[name] for name in order if name in kept]
    machines = list(dict.fromkeys(_without_load(section["machine"]) for section in sections))
    named = [f"- Machine {number}: {machine}" for number, machine in enumerate(machines, 1)]
    parts = [_HEAD, "\n".join(named) + "\n", *(_section(section, machines) for section in sections)]
    missing = [name for name in order if name not in kept]
    if missing:
        parts.append(f"## Not measured yet\n\n{', '.join(missing)}.\n")
    page.write_text("\n".join(parts), encoding="utf-8")


def _section(section: dict[str, Any], machines: Sequence[str]) -> str:
    load = _LOAD.search(section["machine"])
    where = f"machine {machines.index(_without_load(section['machine'])) + 1}{load[0] if load else ''}"
    lines = [f"## {section['title']}", "", f"{section['when']}, {where}.", "", "| what | measured |", "|---|---|"]
    for figure in section["figures"]:
        cells = [" ".join(str(figure[key]).split()) for key in ("what", "measured")]
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _without_load(machine: str) -> str:
    return _LOAD.sub("", machine)
