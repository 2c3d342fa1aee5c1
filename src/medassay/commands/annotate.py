"""`medassay annotate …`: studies with people, from the study file to agreement tables and exports."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from medassay import console
from medassay.commands import annotate_exchange as exchange
from medassay.commands import annotate_manage as manage
from medassay.commands.annotate_study import (
    Out,
    StudyFile,
    need_extra,
    open_store,
    open_study,
    restrict_to_owner,
    study_files,
)
from medassay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from medassay.human.plan import Unit
    from medassay.human.ratings import Ratings

annotate_app = typer.Typer(
    name="annotate",
    help="Human evaluation: studies, annotation in a browser, agreement, export.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@annotate_app.command("new")
def new_command(
    study: StudyFile,
    cases: Annotated[Path, typer.Option(help="Case file; texts of one id and several systems are one task.")],
    annotators: Annotated[str, typer.Option(help="Comma-separated names.")],
    protocol: Annotated[
        str, typer.Option(help="fact-counting, fact-categories, key-phrases or expert-scale.")
    ] = "fact-counting",
    per_case: Annotated[int | None, typer.Option(help="Annotators per case, balanced; default: all.")] = None,
    seed: Annotated[int, typer.Option(help="Decides assignment and orders.")] = 1,
    database: Annotated[str | None, typer.Option(help="File name, or postgresql://user@host/name.")] = None,
    training: Annotated[bool, typer.Option(help="Begin with a practice task.")] = True,
    coordinators: Annotated[str, typer.Option(help="Comma-separated names; default: one without a name.")] = "",
    practice_threshold: Annotated[
        float, typer.Option(min=0, max=1, help="Share of practice answers that must be as expected; 0: none.")
    ] = 0.0,
    map_: console.Map = "",
) -> None:
    """Begin a study: write the study file, wording and all, and check the cases."""
    need_extra()
    from medassay.files import write_text
    from medassay.human.study import load_study, new_study_text

    if study.exists():
        raise InputError(f"{study}: is there already; edit it, or choose another name")
    stored = [] if "://" in (database or "") else [study.parent / (database or study.with_suffix(".db").name)]
    console.check_paths({"--cases": cases}, {"study": study, "database": stored, "key": study.with_suffix(".key")})
    text = new_study_text(
        name=study.stem,
        protocol=protocol,
        cases=os.path.relpath(cases.resolve(), study.resolve().parent),
        annotators=console.parse_list(annotators),
        assignment="all" if per_case is None else str(per_case),
        seed=seed,
        database=database or study.with_suffix(".db").name,
        training=training,
        columns=console.parse_mapping(map_),
        coordinators=console.parse_list(coordinators) if coordinators else (),
        practice_threshold=practice_threshold,
    )
    write_text(study, text)
    try:
        units = load_study(study).units()
    except Exception:
        study.unlink()  # a study file that cannot be used is worse than none
        raise
    texts = sum(len(unit.items) for unit in units)
    print(f"{study}: {len(units)} cases, {texts} texts. Edit the wording if you like, then:")
    print(f"  medassay annotate serve {study}")


@annotate_app.command("serve")
def serve_command(
    study: StudyFile,
    host: console.Host = "127.0.0.1",
    port: console.Port = 8765,
    public_url: Annotated[
        str | None, typer.Option(help="How people reach the pages, e.g. https://study.example.org.")
    ] = None,
    secret_file: Annotated[
        Path | None, typer.Option(help="File with the coordinators' secret; or set MEDASSAY_SECRET.")
    ] = None,
    trusted_proxy: Annotated[
        str | None, typer.Option(help="Address of a reverse proxy whose X-Forwarded-For is believed.")
    ] = None,
) -> None:
    """Serve the pages; writes everybody's personal link to a file beside the study."""
    opened = open_study(study)
    secret = manage.read_secret(secret_file)
    if host not in console.LOOPBACK and secret is None:
        raise InputError(
            f"--host {host} can be reached by others: give the coordinator a secret with --secret-file FILE "
            "or MEDASSAY_SECRET (16 characters or more)"
        )
    if host in ("0.0.0.0", "::") and public_url is None:
        raise InputError(
            f"--host {host} listens on every address: say how people reach it with --public-url, "
            "e.g. https://study.example.org (a request for any other name is refused)"
        )
    console.check_port(host, port)
    if host not in console.LOOPBACK and not (public_url or "").startswith("https://"):
        console.say(
            "warning: texts and links travel unencrypted. Put a TLS proxy in front, let medassay listen on "
            "127.0.0.1 behind it, and give --public-url https://…"
        )
    from medassay.human.web.app import bracketed, create_app, serve

    app = create_app(opened, secret=secret, hosts=[host], public_url=public_url)
    url = (public_url or f"http://{bracketed(host)}:{port}").rstrip("/")
    written = manage.write_links(app.state.context.store, url, secret)
    print(f"Serving {url}. Everybody's link: {written} (readable by you only).", flush=True)
    print("Stop with Ctrl+C; every answer is on disk already.", flush=True)
    serve(app, host, port, trusted_proxy)


@annotate_app.command("agreement")
def agreement_command(
    study: Annotated[Path, typer.Argument(help="Study file, or a CSV of raw counts (with --protocol).")],
    protocol: Annotated[str | None, typer.Option(help="The protocol of a CSV of raw counts.")] = None,
    out: Annotated[Path | None, typer.Option(help="Also write the table: .csv or .jsonl.")] = None,
    report: Annotated[Path | None, typer.Option(help="Also write a page (.html).")] = None,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples.")] = 1000,
    seed: console.Seed = 1,
) -> None:
    """Agreement on raw answers and derived scores, and each system's means, as published."""
    from rich.console import Console

    from medassay.human import terminal

    console.check_paths({"study": study_files(study)}, {"--report": report}, table=out)
    ratings, units = _ratings(study, protocol)
    if not ratings.rows:
        raise InputError(f"{study}: no task is finished yet")
    from medassay.human.tables import agreement, choice_shares, effects, system_table

    rows = agreement(ratings, resamples=resamples, seed=seed)
    systems = system_table(ratings)
    screen = Console()
    if not screen.is_terminal:  # a pipe has no width, but rich assumes one and would fold the columns
        screen = Console(width=140)
    terminal.print_agreement(screen, rows)
    terminal.print_choices(screen, choice_shares(ratings))
    if units:
        from medassay.human.tables import span_agreement

        terminal.print_spans(screen, span_agreement(open_store(study)))
    terminal.print_systems(screen, ratings, systems)
    draft_effects = effects(ratings, resamples=resamples, seed=seed)
    terminal.print_effects(screen, draft_effects)
    if out is not None:
        from medassay.files import write_rows

        write_rows(terminal.agreement_records(rows), out)
        restrict_to_owner(out)
        print(f"table written to {out}")
    if report is not None:
        from medassay.human.report_page import write_page

        write_page(ratings, rows, systems, report, title=study.stem, units=units, effects=draft_effects)
        restrict_to_owner(report)
        print(f"page written to {report}")


def _ratings(path: Path, protocol: str | None) -> tuple[Ratings, list[Unit]]:
    """Ratings, and the texts they speak of where they are at hand."""
    if path.suffix.lower() in (".yaml", ".yml"):
        from medassay.human.live import from_store

        store = open_store(path)
        return from_store(store), store.units()
    from medassay.human.protocols import load_protocol
    from medassay.human.published import read_table

    if protocol is None:
        raise InputError(f"{path}: a table of raw counts needs --protocol, e.g. --protocol fact-counting")
    return read_table(path, load_protocol(protocol)), []


@annotate_app.command("export")
def export_command(
    study: StudyFile,
    out: Out,
    what: Annotated[
        str,
        typer.Option(
            help="texts: a row per text; annotators: a row per text and annotator; highlights: a row per highlight, "
            "with who proposed it; events: all changes."
        ),
    ] = "texts",
) -> None:
    """Write the results; `texts` is a case file with human scores, ready for `medassay score`."""
    from medassay.files import write_rows
    from medassay.human.export import per_annotator, per_text
    from medassay.human.live import from_store

    console.check_paths({"study": study_files(study)}, {}, table=out)
    store = open_store(study)
    if what == "events":
        rows = [{**event, "payload": json.dumps(event["payload"])} for event in store.history()]
        write_rows(rows, out)
    elif what in ("texts", "annotators"):
        ratings = from_store(store)
        if not ratings.rows:
            raise InputError(f"{study}: no task is finished yet")
        rows_out = per_text(ratings, store.units()) if what == "texts" else per_annotator(ratings)
        write_rows(rows_out, out)
    elif what == "highlights":
        from medassay.human.drafts import proposals

        write_rows(proposals(store), out)
    else:
        raise InputError(f"--what {what}: use texts, annotators, highlights or events")
    restrict_to_owner(out)
    print(f"{what} written to {out}")


@annotate_app.command("check")
def check_command(study: StudyFile) -> None:
    """Rebuild every task from its recorded changes and compare; exit code 2 where something differs."""
    store = open_store(study)
    problems = store.audit()
    for line in problems:
        console.say(line)
    print(f"{len(store.tasks())} tasks, {sum(1 for _ in store.history())} changes, {len(problems)} problems")
    raise typer.Exit(console.STOPPED if problems else 0)


for _name, _command in (
    ("links", manage.links_command),
    ("replace", manage.replace_command),
    ("draft", manage.draft_command),
    ("backup", manage.backup_command),
    ("restore", manage.restore_command),
    ("label-studio-write", exchange.label_studio_write),
    ("label-studio-read", exchange.label_studio_read),
    ("argilla-write", exchange.argilla_write),
    ("argilla-read", exchange.argilla_read),
    ("inception-write", exchange.inception_write),
    ("inception-read", exchange.inception_read),
):
    annotate_app.command(_name)(cast("Callable[..., None]", _command))
