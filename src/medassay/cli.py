"""The command line: parse, call, print.

Exit codes: 0 done; 1 done, but some rows of the input had problems (they are named, the others' results
are kept); 2 stopped, nothing usable was made; 130 interrupted (the same command continues).
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from medassay.engine.trust_commands import add_commands as add_trust_commands
from medassay.errors import InputError, MedassayError, MissingExtra
from medassay.human.commands import annotate_app, baseline_app
from medassay.models.commands import models_app
from medassay.serving.commands import add_commands as add_serving_commands
from medassay.study.commands import add_commands
from medassay.study.trust_commands import trust_study_app

app = typer.Typer(
    name="medassay",
    help="Judge machine-written medical text. For research and quality assurance, not for clinical decisions.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for _group in (annotate_app, baseline_app, models_app):
    app.add_typer(_group)

_SHOWN = 8
"""Problems printed in full; the rest are counted (with --out all of them stand in the meta file)."""

_INTERRUPTED = 130
_CONTINUES = "interrupted; the same command continues where it stopped"

Cases = Annotated[str, typer.Argument(help="Case file: .csv, .tsv, .jsonl, .parquet, or - for standard input.")]
Metrics = Annotated[str, typer.Option(help="Comma-separated; `medassay metrics` lists them.")]
Map = Annotated[str, typer.Option("--map", help="Other column names: candidate=generated,reference=gt.")]
Format = Annotated[str | None, typer.Option(help="csv, tsv, jsonl or parquet, where the name does not say.")]
Seed = Annotated[int, typer.Option(help="Seed of the resampling.")]
Models = Annotated[str, typer.Option(help="embedded, paper, or a folder or file of models.")]
Strict = Annotated[bool, typer.Option(help="Stop at the first row with a problem.")]


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


@app.command()
def score(
    cases: Cases,
    metrics: Metrics = "",
    models: Models = "embedded",
    out: Annotated[Path | None, typer.Option(help="Scores file: .csv, .tsv, .jsonl or .parquet.")] = None,
    report: Annotated[Path | None, typer.Option(help="Report page to write (.html).")] = None,
    map_: Map = "",
    format: Format = None,
    references: Annotated[str, typer.Option(help="Several references a case: best or mean.")] = "best",
    by: Annotated[str | None, typer.Option(help="Column to group the summary by; default: system.")] = None,
    cluster: Annotated[str, typer.Option(help="Resample by reference, none, or a column.")] = "reference",
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples; 0 for no intervals.")] = 1000,
    seed: Seed = 1,
    strict: Strict = False,
    store: Annotated[Path | None, typer.Option(help="Lasting store of results, shared by runs.")] = None,
    no_store: Annotated[bool, typer.Option("--no-store", help="Keep nothing for a later resume.")] = False,
    save_distribution: Annotated[
        Path | None, typer.Option(help="Store means and deviations (.json), for z(…,reference=FILE).")
    ] = None,
    engine: Annotated[str, typer.Option(help="local: this machine's cores; ray: a Ray cluster.")] = "local",
    workers: Annotated[int | None, typer.Option(min=0, help="Processes; default: one a core. 0: none.")] = None,
    address: Annotated[str | None, typer.Option(help="The Ray cluster; default: one on this machine.")] = None,
) -> None:
    """Score a file of cases; print a summary, write scores and a report page."""
    from rich.console import Console

    from medassay.engine import load_engine
    from medassay.engine.job import Job
    from medassay.engine.worker import RARELY
    from medassay.metrics.registry import DEFAULT, load_metrics
    from medassay.report.terminal import print_summary

    loaded = load_metrics(metrics or ",".join(DEFAULT), models=models, references=references)
    job = Job(
        cases=cases,
        metrics=loaded,
        columns=_mapping(map_),
        format=format,
        out=out,
        page=report,
        by=by,
        cluster=cluster,
        resamples=resamples,
        seed=seed,
        strict=strict,
        store=store,
        keep=not no_store,
        distribution=save_distribution,
        engine=load_engine(engine, workers=workers, address=address),
    )
    gc.set_threshold(*RARELY)
    outcome = job.run()
    print_summary(Console(), outcome.aggregates)
    for path, what in ((out, "scores"), (report, "report"), (save_distribution, "distribution")):
        if path is not None:
            say(f"{what} written to {path}")
    _say_problems(cases, outcome.problems)
    raise typer.Exit(1 if outcome.problems else 0)


@app.command()
def extract(
    cases: Cases,
    column: Annotated[str, typer.Option(help="Column whose text is read.")] = "candidate",
    out: Annotated[Path | None, typer.Option(help="JSON lines to write; default: standard output.")] = None,
    html: Annotated[Path | None, typer.Option(help="Page that shows what was read (.html).")] = None,
    map_: Map = "",
    format: Format = None,
    models: Models = "embedded",
    strict: Strict = False,
) -> None:
    """Entities, relations, assertions and concepts of every report, as JSON lines and as a page."""
    from medassay.language.extract import Extraction

    job = Extraction(cases, column, _mapping(map_), format, out, html, models, strict)
    problems = job.run()
    for path, what in ((out, "extract"), (html, "page")):
        if path is not None:
            say(f"{what} of {job.count:,} reports written to {path}")
    _say_problems(cases, problems)
    raise typer.Exit(1 if problems else 0)


@app.command()
def compare(
    scores: Annotated[Path, typer.Argument(help="Scores file with several systems.")],
    by: Annotated[str, typer.Option(help="Column that tells the systems apart.")] = "system",
    item: Annotated[str | None, typer.Option(help="Column that tells which rows belong together.")] = None,
    metrics: Metrics = "",
    resamples: Annotated[int, typer.Option(help="Resamples and randomisations.")] = 10_000,
    seed: Seed = 1,
) -> None:
    """Which system is better, and is the difference more than chance?"""
    from rich.console import Console

    from medassay.report.terminal import print_comparison
    from medassay.study.significance import compare_file

    wanted = [name.strip() for name in metrics.split(",") if name.strip()] or None
    comparison = compare_file(scores, by=by, item=item, metrics=wanted, resamples=resamples, seed=seed)
    print_comparison(Console(), comparison)


add_commands(app)  # here, so that the help lists them beside compare
add_trust_commands(app)
add_serving_commands(app)
app.add_typer(trust_study_app)


@app.command("metrics")
def metrics_command(
    name: Annotated[str | None, typer.Argument(help="A metric, for its card.")] = None,
) -> None:
    """List the metrics, or print one metric's card."""
    from rich.console import Console

    from medassay.metrics.registry import metric_class, names
    from medassay.report.terminal import print_metric_card, print_metric_list

    if name is None:
        listed = []
        for known in names():
            try:
                listed.append((known, metric_class(known)))
            except MedassayError as error:  # a broken plug-in must not hide the others
                say(str(error))
        print_metric_list(Console(), listed)
    else:
        print_metric_card(Console(), name, metric_class(name))


@app.command()
def train(
    role: Annotated[str, typer.Argument(help="ner, re, align, expert, quality, nli, likelihood, image or kge.")],
    out: Annotated[Path, typer.Option(help="Folder for the model, as models.load(role, folder) reads it.")],
    data: Annotated[
        Path | None,
        typer.Option(help="Annotation (ner, re), JSON lines of concepts (align), CSV of pairs (all others but kge)."),
    ] = None,
    base: Annotated[
        str | None, typer.Option(help="Folder of a BERT to start from; preset paper: any encoder of transformers.")
    ] = None,
    preset: Annotated[str, typer.Option(help="embedded: our recipes; paper: HARE's settings (ner, re).")] = "embedded",
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the data; default: the recipe's.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the split and of training.")] = 0,
    general: Annotated[Path | None, typer.Option(help="align: texts, one a line, whose similarity stays.")] = None,
    umls: Annotated[Path | None, typer.Option(help="kge: folder with MRCONSO.RRF and MRREL.RRF.")] = None,
    sources: Annotated[str, typer.Option(help="kge: vocabularies of UMLS to keep, as SNOMEDCT_US,RXNORM.")] = "",
    ontologies: Annotated[str, typer.Option(help="kge: OBO files, comma-separated; default: our terminology.")] = "",
) -> None:
    """Train a model for one role on your own annotation; a part is held out and measured."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("torch", "transformers", "onnx")):
        raise MissingExtra("training", "train")
    if preset == "paper" and (epochs is not None or seed != 0):
        raise InputError("--preset paper repeats published settings: leave out --epochs and --seed")
    if role == "kge":
        from medassay.training.kge import train_kge

        figures = train_kge(out, umls=umls, ontologies=ontologies, sources=sources, epochs=epochs, seed=seed)
    elif data is None or base is None:
        raise InputError(f"train {role}: give {'--data' if data is None else '--base'} (see medassay train --help)")
    else:
        from medassay.training.command import train_role

        figures = train_role(role, data, base, out, preset, epochs, seed, general)
    for name, value in figures.items():
        print(f"{name:<24}{value:.4f}")
    say(f"figures above are of the held-out part; model written to {out}")


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the scores and the report page.")] = Path("demo-out"),
    trust: Annotated[bool, typer.Option("--trust", help="Trust of made-up reports about drawn pictures.")] = False,
) -> None:
    """Score the bundled examples and write a report page."""
    if trust:
        from medassay.engine.trust_commands import trust as run_trust
        from medassay.examples.trust_demo import write_trust_example

        cases = write_trust_example(out)
        run_trust(str(cases), out=out / "trust-scores.csv", report=out / "trust.html", evidence=out / "trust.jsonl")
    from medassay.examples import run_demo

    raise typer.Exit(run_demo(out))


def _say_problems(cases: str, problems: Sequence[str]) -> None:
    for problem in problems[:_SHOWN]:
        say(f"{cases}, {problem}")
    if len(problems) > _SHOWN:
        say(f"… and {len(problems) - _SHOWN} more rows with problems")


def _mapping(text: str) -> dict[str, str]:
    """`candidate=generated,reference=gt` as a dictionary."""
    pairs: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        ours, equals, theirs = item.partition("=")
        if not equals or not ours.strip() or not theirs.strip():
            raise InputError(f"--map: '{item}' is not ours=theirs, as in candidate=generated")
        pairs[ours.strip()] = theirs.strip()
    return pairs


def say(message: str) -> None:
    """One line to standard error; control characters of hostile text are shown, not sent to the terminal."""
    printable = "".join(c if c.isprintable() or c == "\n" else "�" for c in message)
    print(f"medassay: {printable}", file=sys.stderr)


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
        sys.exit(2)
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        say(_CONTINUES)
        sys.exit(_INTERRUPTED)
    except (BrokenPipeError, SystemExit):  # rich leaves by SystemExit when the reader of our output has gone
        _drop_output()
        sys.exit(0)
    except OSError as error:
        _drop_output()
        say(f"{error.filename or 'output'}: {error.strerror or error}; is the disk full, or the file in use?")
        sys.exit(2)
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error of the parser; without a command, the help itself
            message = error.format_message()
            say(f"{message} (see medassay --help)") if "\n" not in message else print(message, file=sys.stderr)
            sys.exit(2)
        traceback.print_exc()
        say("stopped by the fault above, which is not of your making; please report it")
        sys.exit(2)
    if code == _INTERRUPTED:
        say(_CONTINUES)
    sys.exit(code if isinstance(code, int) else 0)
