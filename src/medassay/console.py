"""What the commands share: messages, options, progress bars, exit codes.

=====  =======================================================================================
code   meaning
=====  =======================================================================================
0      done
1      done, but some rows had problems or failed; they are named, the other results are kept
2      stopped, or a metric failed on every row
130    interrupted; the same command continues where it stopped
=====  =======================================================================================
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, TypeVar

import typer

from medassay.errors import InputError, MedassayError, MissingExtra

if TYPE_CHECKING:
    from medassay.metrics.base import Metric
    from medassay.paths import Given

DONE = 0
PROBLEMS = 1
STOPPED = 2
INTERRUPTED = 130

_LISTED = 8
"""Problems printed in full; the rest are counted (with --out all of them are in the meta file)."""

COUNTED_BYTES = 100_000_000
"""Bytes of case files whose rows are counted before a run, for a total and the time left: one to two seconds' work."""

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Addresses that only this machine can reach."""

T = TypeVar("T")

Cases = Annotated[
    str,
    typer.Argument(
        help="Case file (.csv, .tsv, .jsonl, .parquet), a folder of them, - for standard input, or hf:owner/name:split."
    ),
]


def complete_metrics(incomplete: str) -> list[str]:
    """Names of metrics and families that a shell offers for the last of a comma-separated list.

    >>> complete_metrics("hare,rougeL")
    ['hare,rougeL', 'hare,rougeLsum']
    """
    from medassay.metrics.registry import FAMILIES, names

    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in (*FAMILIES, *names()) if name.startswith(last)]


Metrics = Annotated[
    str, typer.Option(help="Comma-separated; `medassay metrics` lists them.", autocompletion=complete_metrics)
]
Models = Annotated[str, typer.Option(help="embedded, fast, gpu, paper, a hub name, or a folder or file of models.")]
Map = Annotated[str, typer.Option("--map", help="Other column names: candidate=generated,reference=gt.")]
Format = Annotated[str | None, typer.Option(help="csv, tsv, jsonl or parquet, where the name does not say.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of every random choice.")]
Strict = Annotated[bool, typer.Option(help="Stop at the first row with a problem.")]
ObservableOnly = Annotated[bool, typer.Option(help="Leave out template text and what a slide cannot show.")]
Scores = Annotated[Path | None, typer.Option(help="Scores file: .csv, .tsv, .jsonl or .parquet.")]
Report = Annotated[Path | None, typer.Option(help="Report page to write (.html).")]
Table = Annotated[Path | None, typer.Option(help="The table as .csv or .jsonl.")]
References = Annotated[str, typer.Option(help="Several references per case: best or mean.")]
By = Annotated[str | None, typer.Option(help="Column to group the summary by; default: system.")]
System = Annotated[str, typer.Option(help="Column that tells the systems apart.")]
Cluster = Annotated[str, typer.Option(help="Resample by reference, none, or a column.")]
Resamples = Annotated[int, typer.Option(help="Bootstrap resamples; 0 for no intervals.")]
Store = Annotated[Path | None, typer.Option(help="Lasting store of results, shared by runs.")]
NoStore = Annotated[bool, typer.Option("--no-store", help="Keep nothing for a later resume.")]
Workers = Annotated[int | None, typer.Option(min=0, help="Processes; default: one per core. 0: none.")]
CaseTimeout = Annotated[
    float | None, typer.Option(help="Seconds a metric may take for one case; one that takes longer fails.")
]
Images = Annotated[Path | None, typer.Option(help="Folder of the images; default: the case file's.")]
Mpp = Annotated[float | None, typer.Option(help="Micrometres per pixel, where the files do not say (0.5 is 20×).")]
Prompts = Annotated[str, typer.Option(help="Wording put to the subject: a version, or a .toml file.")]
Histories = Annotated[str, typer.Option(help="False clinical histories: a version, or a .tsv file.")]
Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(help="Port to listen on.")]


def say(message: str) -> None:
    """Print one line to standard error; control characters are replaced, not sent to the terminal."""
    printable = "".join(c if c.isprintable() or c == "\n" else "�" for c in message)
    if sys.stderr is not None:  # closed: there is nobody to tell
        print(f"medassay: {printable}", file=sys.stderr)


def record_stream() -> IO[str] | None:
    """Standard output for records that programs read: UTF-8, whatever a terminal has; None where it is closed."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="strict", newline="\n")
    return sys.stdout


def say_written(**outputs: Path | None) -> None:
    """Name the files that were written: `say_written(scores=out, report=page)`."""
    for what, path in outputs.items():
        if path is not None:
            say(f"{what} written to {path}")


def finish(source: object, problems: Sequence[str], ended: Collection[str] = ()) -> None:
    """List the rows that had problems and end the command with the exit code that says so.

    Args:
        source: the file that the rows are of.
        problems: "row 3: …", in the order of the rows; metrics that failed on every row come last.
        ended: metrics that failed on every row; the last problems are theirs, and they are always listed.
    """
    problems, last = problems[: len(problems) - len(ended)], problems[len(problems) - len(ended) :]
    for problem in problems[:_LISTED]:
        say(f"{source}, {problem}")
    if len(problems) > _LISTED:
        say(f"… and {len(problems) - _LISTED} more rows with problems")
    for problem in last:
        say(f"{source}: {problem}")
    raise typer.Exit(STOPPED if ended else PROBLEMS if problems else DONE)


def say_warnings(warnings: Sequence[str]) -> None:
    """Print warnings, the first few of many."""
    for warning in warnings[:_LISTED]:
        say(warning)


def say_unlimited(case_timeout: float | None, metrics: Sequence[Metric]) -> None:
    """Name the metrics that a time limit per case does not hold for."""
    from medassay.engine.placement import unlimited

    if case_timeout is not None and (names := unlimited(metrics)):
        listed = ", ".join(names)
        say(f"warning: no time limit per case for {listed}: it waits for an endpoint, or its models run on torch")


@contextmanager
def progress_bar(what: str, unit: str, total: int | None = None) -> Iterator[Callable[[int, int | None], None]]:
    """A bar on a terminal, silence in a pipe.

    Args:
        what: the work, as in `scoring`.
        unit: what is counted, as in `cases`.
        total: how many there are, where that is known.

    Returns:
        A function that is told how many are done, and of how many (None: as before).
    """
    if not _watched():
        yield lambda done, of: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    left = [TextColumn("left"), TimeRemainingColumn()] if total else []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), *left)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(_counted(what, unit, 0, total), total=total)
        yield lambda done, of: bar.update(task, completed=done, total=of, description=_counted(what, unit, done, of))


def _watched() -> bool:
    """Whether a progress bar would be seen: standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def _counted(what: str, unit: str, done: int, total: int | None) -> str:
    """The text before a progress bar.

    >>> _counted("scoring", "cases", 12, 1200)
    'scoring, 12 of 1,200 cases'
    """
    return f"{what}, {done:,} {unit}" if total is None else f"{what}, {done:,} of {total:,} {unit}"


def count_rows(cases: str, format: str | None = None) -> int | None:
    """How many rows a case file (or a folder of them) has, for a bar's total.

    None where no bar is shown, where the rows can be read only once, where the files are so large that counting takes
    long, or where they cannot be read: the run itself reports what is wrong with them.
    """
    from medassay.cases import case_files
    from medassay.hub_data import data_set_length, is_data_set
    from medassay.records import read_records

    if not _watched() or not (is_data_set(cases) or Path(cases).exists()):
        return None
    try:
        if is_data_set(cases):
            return data_set_length(cases)
        files = case_files(cases, format)
        if (
            not all(Path(file).is_file() for file in files)
            or sum(Path(f).stat().st_size for f in files) > COUNTED_BYTES
        ):
            return None
        return sum(1 for file in files for _ in read_records(file, format=format))
    except (MedassayError, OSError):
        return None


def progress(
    items: Iterable[T], what: str, unit: str, total: int | None = None, size: Callable[[T], int] = lambda _: 1
) -> Iterator[T]:
    """Pass items on while a bar counts them; `size` says how many one item is (a batch is several)."""
    count = 0
    with progress_bar(what, unit, total) as update:
        for item in items:
            count += size(item)
            update(count, total)
            yield item


def scoring_progress(batches: Iterable[list[T]], total: int | None = None) -> Iterator[list[T]]:
    """Batches of scored cases with a bar."""
    return progress(batches, "scoring", "cases", total, len)


def file_progress(cases: str, format: str | None = None) -> Callable[[Iterable[list[T]]], Iterator[list[T]]]:
    """A bar for the scored cases of a file, with its number of rows as the total where that can be known."""
    return lambda batches: scoring_progress(batches, count_rows(cases, format))


def parse_mapping(text: str) -> dict[str, str]:
    """`candidate=generated,reference=gt` as a dictionary."""
    pairs: dict[str, str] = {}
    for item in parse_list(text):
        ours, equals, theirs = item.partition("=")
        if not equals or not ours.strip() or not theirs.strip():
            raise InputError(f"--map: '{item}' is not ours=theirs, as in candidate=generated")
        pairs[ours.strip()] = theirs.strip()
    return pairs


def parse_list(text: str) -> list[str]:
    """The parts of comma-separated text, empty ones left out.

    >>> parse_list("a, b,,c ")
    ['a', 'b', 'c']
    """
    return [part.strip() for part in text.split(",") if part.strip()]


def check_paths(inputs: Mapping[str, Given], outputs: Mapping[str, Given], *, table: Path | None = None) -> None:
    """Check before a run that its outputs can be written and overwrite no input.

    Args:
        inputs: files that are read, by what messages call them.
        outputs: files that are written, in the same way.
        table: the `--out` of a command that writes .csv or .jsonl.
    """
    from medassay.files import table_kind
    from medassay.paths import check_paths

    if table is not None:
        table_kind(table)
    check_paths(inputs, {"--out": table, **outputs})


def existing(name: str) -> Path | None:
    """The path that an option gives, where it is a file; else None (`--models` takes names and files)."""
    return Path(name) if Path(name).is_file() else None


def files_in(text: str) -> list[str]:
    """The files that a list of metrics names: `z(rouge1,reference=set.json)`, `py:rules:score`."""
    parts = [part for part in re.split(r"[(),=:\s]+", text) if part]
    names = [name for part in parts for name in (part, part.replace(".", "/") + ".py")]
    return [name for name in names if Path(name).is_file()]


def need_extra(what: str, extra: str, *modules: str) -> None:
    """Stop with the remedy where one of the modules of an optional extra is not installed."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in modules):
        raise MissingExtra(what, extra)


def check_port(host: str, port: int) -> None:
    """Stop where the port is taken or the address is not this machine's, before anything is served."""
    import socket

    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(
                f"cannot listen on {host}, port {port} ({error.strerror}); choose another --port"
            ) from error
