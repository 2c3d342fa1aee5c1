"""The command line: the list of commands, and how a run ends (exit codes: `medassay.console`)."""

from __future__ import annotations

import io
import logging
import os
import sys
import traceback
from contextlib import suppress
from typing import Annotated, Any, NoReturn

import typer

from medassay.commands.annotate import annotate_app
from medassay.commands.baseline import baseline_app
from medassay.commands.bench import bench
from medassay.commands.check import check
from medassay.commands.compare import compare
from medassay.commands.demo import demo
from medassay.commands.extract import extract
from medassay.commands.metrics import metrics
from medassay.commands.models import models_app
from medassay.commands.perturb import perturb
from medassay.commands.run import run
from medassay.commands.score import score
from medassay.commands.serve_scores import serve_scores
from medassay.commands.stress import stress
from medassay.commands.train import train
from medassay.commands.trust import trust
from medassay.commands.trust_study import trust_study_app
from medassay.commands.validate import validate
from medassay.console import INTERRUPTED, STOPPED, say
from medassay.errors import MedassayError

app = typer.Typer(
    name="medassay",
    help="Judge machine-written medical text. For research and quality assurance, not for clinical decisions.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
_COMMANDS = (
    score, check, extract, compare, validate, run, bench, stress, trust, perturb, serve_scores, metrics, train, demo,
)  # fmt: skip
for _command in _COMMANDS:
    app.command()(_command)
for _group in (annotate_app, baseline_app, models_app, trust_study_app):
    app.add_typer(_group)

_CONTINUES = "interrupted; the same command continues where it stopped"


def _print_version(wanted: bool) -> None:
    if wanted:
        from medassay import __version__

        print(f"medassay {__version__}")
        raise typer.Exit


@app.callback()
def start(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Say what is done and how long it takes; also after the command.")
    ] = False,
) -> None:
    """Judge machine-written medical text. For research and quality assurance, not for clinical decisions."""


def _take_verbose(arguments: list[str]) -> tuple[list[str], bool]:
    """The arguments without `--verbose`, which may stand anywhere before `--`; whether it was there.

    >>> _take_verbose(["score", "x.csv", "--verbose"])
    (['score', 'x.csv'], True)
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept = [argument for argument in arguments[:end] if argument != "--verbose"]
    return kept + arguments[end:], len(kept) < end


class _MessageHandler(logging.Handler):
    """Prints the package's log records as messages, with the milliseconds since the start."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"{record.relativeCreated:6.0f} ms  {record.getMessage()}")


def _set_logging(verbose: bool) -> None:
    logger = logging.getLogger("medassay")
    logger.handlers = [_MessageHandler()] if verbose else []
    logger.setLevel(logging.INFO if verbose else logging.NOTSET)


def _completing() -> bool:
    """Whether a shell asks for completions, or a person for the shell's script; both end by sys.exit."""
    return "_MEDASSAY_COMPLETE" in os.environ or any(
        argument in sys.argv for argument in ("--show-completion", "--install-completion")
    )


def _drop_output() -> None:
    """Send buffered output to the null device; otherwise Python reports an error about it on exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _ready_streams() -> None:
    """Make standard streams safe to use, whatever they are.

    Where a stream is closed, its descriptor is opened on the null device: otherwise a file that is opened later would
    take that number and receive messages. Characters that a terminal's encoding lacks are shown as `?`, not raised.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def main() -> NoReturn:
    """Entry point: errors meant for users become one line and an exit code."""
    from medassay.cores import one_thread_for_blas

    _ready_streams()
    one_thread_for_blas()
    arguments, verbose = _take_verbose(sys.argv[1:])
    _set_logging(verbose)
    try:
        code: Any = app(arguments, standalone_mode=False, prog_name="medassay")
    except MedassayError as error:
        if verbose:
            traceback.print_exc()
        say(str(error))
        sys.exit(STOPPED)
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        say(_CONTINUES)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _drop_output()
        sys.exit(0)
    except SystemExit as stop:
        if _completing():
            raise
        _drop_output()
        if isinstance(stop.__context__, BrokenPipeError):  # rich leaves so when the reader of our output has gone
            sys.exit(0)
        say(f"stopped by a call of sys.exit({stop.code!r}) in code that was run")
        sys.exit(STOPPED)
    except MemoryError:
        say("there is not enough memory; use fewer --workers, or a machine with more")
        sys.exit(STOPPED)
    except OSError as error:
        _drop_output()
        say(f"{error.filename or 'output'}: {error.strerror or error}; is the disk full, or the file in use?")
        sys.exit(STOPPED)
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error of the parser; without a command, the help itself
            message = error.format_message()
            say(f"{message} (see medassay --help)") if "\n" not in message else print(message, file=sys.stderr)
            sys.exit(STOPPED)
        traceback.print_exc()
        say("stopped by the fault above, which is not of your making; please report it")
        sys.exit(STOPPED)
    if code == INTERRUPTED:
        say(_CONTINUES)
    sys.exit(code if isinstance(code, int) else 0)
