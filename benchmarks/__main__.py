"""`python -m benchmarks` runs all; `python -m benchmarks lexical startup` runs those named."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from benchmarks import bertscore, commands, engines, lexical, links, reading, resampling, server, slides
from benchmarks.figures import Figure, machine, show

ALL: dict[str, tuple[str, Callable[[], Iterator[Figure]]]] = {
    "startup": ("Start-up", commands.startup),
    "lexical": (f"Lexical metrics, {lexical.PAIRS:,} pairs", lexical.run),
    "bertscore": (f"BERTScore, {bertscore.SYSTEMS} systems a reference", bertscore.run),
    "resampling": ("Bootstrap", resampling.run),
    "reading": ("Reading reports: HARE with the embedded set", reading.run),
    "links": ("Linking mentions to concepts", links.run),
    "memory": ("Memory", commands.memory),
    "slides": ("Whole slides", slides.run),
    "engine-startup": ("Engines: start-up and overhead", engines.startup),
    "engine-local": ("Engines: two cores against one", engines.local),
    "engine-ray": ("Engines: Ray", engines.on_ray),
    "server": (f"Score server, {server.CLIENTS} clients", server.run),
}


def main(wanted: list[str]) -> int:
    """Run and print; 2 where a name is unknown."""
    unknown = [name for name in wanted if name not in ALL]
    if unknown:
        print(f"no benchmark '{unknown[0]}'; there are: {', '.join(ALL)}", file=sys.stderr)
        return 2
    print(machine())
    for name in wanted or ALL:
        title, run = ALL[name]
        show(title, run())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
