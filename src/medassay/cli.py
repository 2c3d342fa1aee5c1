"""The command line: the list of commands, and how a run ends (exit codes: `medassay.console`)."""

from __future__ import annotations

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
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
_COMMANDS = (
    score, check, extract, compare, validate, bench, stress, trust, perturb, serve_scores, metrics, train, demo,
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
) -> None:
    """Judge machine-written medical text. For research and quality assurance, not for clinical decisions."""


def _drop_output() -> None:
    """What is still buffered has nowhere to go; without this Python would complain about it on exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> NoReturn:
    """Entry point: errors meant for people become one line and an exit code."""
    from medassay.cores import one_thread_for_blas

    one_thread_for_blas()
    try:
        code: Any = app(standalone_mode=False)
    except MedassayError as error:
        say(str(error))
        sys.exit(STOPPED)
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        say(_CONTINUES)
        sys.exit(INTERRUPTED)
    except (BrokenPipeError, SystemExit):  # rich leaves by SystemExit when the reader of our output has gone
        _drop_output()
        sys.exit(0)
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
