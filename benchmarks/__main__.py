"""`python -m benchmarks` runs all; `python -m benchmarks lexical startup` runs those named.

With `--page FILE.md` the figures are also kept beside that page (FILE.json) and the page is written anew from
all that is kept there: a section says itself when, on what machine and at what load it was measured.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from benchmarks.figures import Figure, machine, show
from benchmarks.page import keep, write_page

ALL: dict[str, tuple[str, str]] = {
    "startup": ("Start-up of the command", "commands:startup"),
    "engine-startup": ("Start-up, and what workers add", "engines:startup"),
    "lexical": ("Lexical metrics against rouge-score, sacrebleu and nltk", "lexical:run"),
    "torchmetrics": ("Lexical metrics and BERTScore against torchmetrics", "peers:run"),
    "bertscore": ("BERTScore against bert-score, four systems per reference", "bertscore:run"),
    "resampling": ("Bootstrap", "resampling:run"),
    "reading": ("Reading reports: HARE with the embedded set", "reading:run"),
    "hare": ("HARE on the CPU against the published algorithm, same weights", "hare:run"),
    "hare-gpu": ("HARE with an encoder of GatorTronS' size on one GPU", "hare_gpu:run"),
    "links": ("Linking mentions to concepts", "links:run"),
    "growth": ("How cost grows", "growth:run"),
    "growth-hare": ("How the cost of HARE grows", "growth:hare"),
    "memory-growth": ("How memory grows", "growth:memory"),
    "memory": ("Memory on a million pairs", "commands:memory"),
    "slides": ("Whole slides", "slides:run"),
    "grounding": ("Grounding on a whole slide", "grounding:run"),
    "engine-local": ("Engines: two cores against one", "engines:local"),
    "engine-ray": ("Engines: Ray", "engines:on_ray"),
    "server": ("Score server", "server:run"),
}
"""Title, and the function that measures, by name."""


def main(arguments: list[str]) -> int:
    """Run and print; 2 where a name is unknown, 1 where a section could not be measured."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(ALL))
    parser.add_argument("--page", type=Path, help="keep the figures and write this page")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in ALL]
    if unknown:
        print(f"no benchmark '{unknown[0]}'; there are: {', '.join(ALL)}", file=sys.stderr)
        return 2
    print(machine())
    failed = 0
    for name in given.names or ALL:
        title, place = ALL[name]
        try:
            show(title, _kept(_measure(place), name, given.page))
        except (RuntimeError, OSError, ValueError) as error:
            print(f"  stopped: {error}", file=sys.stderr)
            failed = 1
    return failed


def _measure(place: str) -> Iterator[Figure]:
    module, _, function = place.partition(":")
    run: Callable[[], Iterator[Figure]] = getattr(import_module(f"benchmarks.{module}"), function)
    return run()


def _kept(figures: Iterator[Figure], name: str, page: Path | None) -> Iterator[Figure]:
    """The figures, kept as they come: a long section that is stopped leaves what it has measured."""
    here, so_far = machine(), list[Figure]()
    for figure in figures:
        so_far.append(figure)
        if page and not figure.measured.startswith("not measured"):  # what another machine measured stays
            keep(page.with_suffix(".json"), name, ALL[name][0], here, so_far)
            write_page(page, list(ALL))
        yield figure


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
