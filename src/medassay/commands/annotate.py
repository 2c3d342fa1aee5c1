"""`medassay annotate …`: studies with people, from the study file to agreement tables and exports."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medassay import console
from medassay.errors import InputError

if TYPE_CHECKING:
    from medassay.human.plan import Unit
    from medassay.human.ratings import Ratings
    from medassay.human.store import Store
    from medassay.human.study import Study

annotate_app = typer.Typer(
    name="annotate",
    help="Human evaluation: studies, annotation in a browser, agreement, export.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

StudyFile = Annotated[Path, typer.Argument(help="The study file (.yaml).")]
Out = Annotated[Path, typer.Option("--out", help="File to write: .csv or .jsonl.")]


def _study(path: Path) -> Study:
    _need_extra()
    from medassay.human.study import load_study

    return load_study(path)


def _store(path: Path) -> tuple[Study, Store]:
    study = _study(path)
    from medassay.human.store import Store

    return study, Store(study)


def _files_of(path: Path) -> list[Path]:
    """The files that a study is made of: the study file, the cases, the database and the key; or a table of counts."""
    if path.suffix.lower() not in (".yaml", ".yml"):
        return [path]
    study = _study(path)
    stored = [] if "://" in study.database else [path.parent / study.database]
    return [path, study.cases, study.key_path, *stored]


def _need_extra() -> None:
    console.need_extra("annotation", "serve", "sqlalchemy", "fastapi", "jinja2", "yaml", "itsdangerous", "uvicorn")


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
    map_: console.Map = "",
) -> None:
    """Begin a study: write the study file, wording and all, and check the cases."""
    _need_extra()
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
        Path | None, typer.Option(help="File with the coordinator's secret; or set MEDASSAY_SECRET.")
    ] = None,
) -> None:
    """Serve the pages; prints everybody's personal link."""
    opened = _study(study)
    secret = _secret(secret_file)
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
    if host not in console.LOOPBACK and not (public_url or "").startswith("https://"):
        console.say(
            "warning: texts and links travel unencrypted. Put a TLS proxy in front, let medassay listen on "
            "127.0.0.1 behind it, and give --public-url https://…"
        )
    from medassay.human.web.app import bracketed, create_app, serve

    app = create_app(opened, secret=secret, hosts=[host], public_url=public_url)
    console.check_port(host, port)
    url = (public_url or f"http://{bracketed(host)}:{port}").rstrip("/")
    _print_links(app.state.context.store, opened, url, secret)
    print("Stop with Ctrl+C; every answer is on disk already.", flush=True)
    serve(app, host, port)


def _secret(path: Path | None) -> str | None:
    if path is None:
        return os.environ.get("MEDASSAY_SECRET") or None
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise InputError(f"{path}: the secret cannot be read ({error.strerror})") from error


def _print_links(store: Store, study: Study, url: str, secret: str | None) -> None:
    from medassay.human.access import Access, load_key

    access = Access(load_key(study.key_path), secret)
    links = {name: f"{url}/enter/{access.link(name, number)}" for name, number in store.link_numbers().items()}
    own = access.coordinator_link()
    links["coordinator"] = f"{url}/enter/{own}" if own else f"{url}/coordinator  (sign in with the secret)"
    width = max(map(len, links))
    for name in [*store.names, "coordinator"]:
        print(f"{name:<{width}}  {links[name]}", flush=True)


@annotate_app.command("links")
def links_command(
    study: StudyFile,
    url: Annotated[str, typer.Option(help="Where the pages are served.")] = "http://127.0.0.1:8765",
    renew: Annotated[str | None, typer.Option(help="Annotator whose old link becomes worthless.")] = None,
) -> None:
    """Print everybody's personal link again, or replace one."""
    opened, store = _store(study)
    if renew is not None:
        if renew not in store.names:
            from medassay.errors import nearest

            raise InputError(f"annotator '{renew}' is not in this study{nearest(renew, store.names)}")
        store.renew_link(renew)
    _print_links(store, opened, url.rstrip("/"), _secret(None))


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

    from medassay.human import show

    console.check_paths({"study": _files_of(study)}, {"--report": report}, table=out)
    ratings, units = _ratings(study, protocol)
    if not ratings.rows:
        raise InputError(f"{study}: no task is finished yet")
    from medassay.human.tables import agreement, choice_shares, system_table

    rows = agreement(ratings, resamples=resamples, seed=seed)
    systems = system_table(ratings)
    terminal = Console()
    if not terminal.is_terminal:  # a pipe has no width, but rich assumes one and would fold the columns
        terminal = Console(width=140)
    show.print_agreement(terminal, ratings, rows)
    show.print_choices(terminal, choice_shares(ratings))
    if units:
        from medassay.human.highlights import span_agreement

        show.print_spans(terminal, span_agreement(_store(study)[1]))
    show.print_systems(terminal, ratings, systems)
    if out is not None:
        from medassay.files import write_rows

        write_rows(show.agreement_records(rows), out)
        print(f"table written to {out}")
    if report is not None:
        from medassay.human.report import write_page

        write_page(ratings, rows, systems, report, title=study.stem, units=units)
        print(f"page written to {report}")


def _ratings(path: Path, protocol: str | None) -> tuple[Ratings, list[Unit]]:
    """Ratings, and the texts they speak of where they are at hand."""
    if path.suffix.lower() in (".yaml", ".yml"):
        from medassay.human.ratings import from_store

        store = _store(path)[1]
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
        str, typer.Option(help="texts: a row per text; annotators: a row per text and annotator; events: all changes.")
    ] = "texts",
) -> None:
    """Write the results; `texts` is a case file with human scores, ready for `medassay score`."""
    from medassay.files import write_rows
    from medassay.human.export import per_annotator, per_text
    from medassay.human.ratings import from_store

    console.check_paths({"study": _files_of(study)}, {}, table=out)
    _, store = _store(study)
    if what == "events":
        rows = [{**event, "payload": json.dumps(event["payload"])} for event in store.history()]
        write_rows(rows, out)
    elif what in ("texts", "annotators"):
        ratings = from_store(store)
        if not ratings.rows:
            raise InputError(f"{study}: no task is finished yet")
        rows_out = per_text(ratings, store.units()) if what == "texts" else per_annotator(ratings)
        write_rows(rows_out, out)
    else:
        raise InputError(f"--what {what}: use texts, annotators or events")
    print(f"{what} written to {out}")


@annotate_app.command("check")
def check_command(study: StudyFile) -> None:
    """Rebuild every task from its recorded changes and compare; exit code 2 where something differs."""
    _, store = _store(study)
    problems = store.audit()
    for line in problems:
        console.say(line)
    print(f"{len(store.tasks())} tasks, {sum(1 for _ in store.history())} changes, {len(problems)} problems")
    raise typer.Exit(console.STOPPED if problems else 0)


@annotate_app.command("label-studio-write")
def label_studio_write(study: StudyFile, folder: Annotated[Path, typer.Argument(help="Folder to write to.")]) -> None:
    """Write a Label Studio labelling configuration and tasks for the study's protocol."""
    from medassay.human.label_studio import WRITTEN, write
    from medassay.paths import check_paths

    outputs = {"folder": [folder / name for name in WRITTEN]}
    check_paths({"study": _files_of(study)}, outputs, folders={"folder": folder})
    config, tasks = write(_study(study), folder)
    print(f"labelling interface: {config}\ntasks to import: {tasks}")


@annotate_app.command("label-studio-read")
def label_studio_read(
    study: StudyFile,
    export: Annotated[Path, typer.Argument(help="Label Studio's export, format JSON.")],
    out: Out,
) -> None:
    """Read Label Studio's JSON export into a table of ratings, one row per text and annotator."""
    from medassay.files import write_rows
    from medassay.human.export import per_annotator
    from medassay.human.label_studio import read

    console.check_paths({"study": _files_of(study), "export": export}, {}, table=out)
    ratings = read(_study(study), export)
    write_rows(per_annotator(ratings), out)
    print(f"{len(ratings.rows)} ratings written to {out}")


@annotate_app.command("inception-write")
def inception_write(
    extracted: Annotated[Path, typer.Argument(help="JSONL as `medassay extract` writes it.")],
    folder: Annotated[Path, typer.Argument(help="Folder to write to.")],
) -> None:
    """Write documents with their entities for INCEpTION (UIMA CAS XMI)."""
    from medassay.human.inception import file_names, write
    from medassay.paths import check_paths

    try:
        lines = extracted.read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError) as error:
        raise InputError(f"{extracted}: not JSON lines ({error})") from error
    outputs = {"folder": [folder / name for name in file_names(records)]}
    check_paths({"extract": extracted}, outputs, folders={"folder": folder})
    print(f"{write(records, folder)} documents written to {folder}")


@annotate_app.command("inception-read")
def inception_read(
    export: Annotated[Path, typer.Argument(help="INCEpTION's export: .xmi, .json, .zip or a folder.")],
    out: Annotated[Path, typer.Option(help="JSONL to write, as `medassay extract` does.")],
) -> None:
    """Read entities annotated in INCEpTION."""
    from medassay.files import write_rows
    from medassay.human.inception import read

    if out.suffix.lower() != ".jsonl":
        raise InputError(f"{out}: annotated text is written as .jsonl")
    console.check_paths({"export": None if export.is_dir() else export}, {}, table=out)
    records = read(export)
    write_rows(records, out)
    print(f"{len(records)} documents written to {out}")
