"""`medassay annotate …`: links, replacing an annotator, the machine's draft, backup and restore."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medassay import console
from medassay.commands.annotate_study import StudyFile, need_extra, open_store, restrict_to_owner, study_files
from medassay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from medassay.human.store import Store


def read_secret(path: Path | None) -> str | dict[str, str] | None:
    """The coordinators' secret, from a file or the environment: one for all, or lines `name: secret`."""
    try:
        text = os.environ.get("MEDASSAY_SECRET", "") if path is None else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the secret cannot be read ({error})") from error
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 or (lines and ": " in lines[0]):
        pairs = [line.partition(":") for line in lines]
        if not all(name.strip() and secret.strip() for name, _, secret in pairs):
            raise InputError("the secret: expected one line, or a line 'name: secret' for each coordinator")
        return {name.strip(): secret.strip() for name, _, secret in pairs}
    return lines[0] if lines else None


def links_text(store: Store, url: str, secret: str | Mapping[str, str] | None) -> str:
    """Everybody's link, one per line."""
    from medassay.human.access import Access, load_key
    from medassay.human.people import current_links

    access = Access(load_key(store.study.key_path), secret)
    current = current_links(store)
    listed = {name: f"{url}/enter/{access.link(name, number)}" for name, number in current.annotators.items()}
    for name, number in current.coordinators.items():
        link = access.coordinator_link(name, number)
        listed[name] = f"{url}/enter/{link}" if link else f"{url}/coordinator  (sign in with the secret)"
    width = max(map(len, listed))
    return "".join(f"{name:<{width}}  {link}\n" for name, link in listed.items())


def write_links(store: Store, url: str, secret: str | Mapping[str, str] | None) -> Path:
    """Write everybody's link to a file beside the study, readable by its owner only; returns the file."""
    path = store.study.links_path
    try:
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
            stream.write(links_text(store, url, secret))
    except OSError as error:
        raise InputError(f"{path}: the links cannot be written ({error.strerror})") from error
    return path


def links_command(
    study: StudyFile,
    url: Annotated[str, typer.Option(help="Where the pages are served.")] = "http://127.0.0.1:8765",
    renew: Annotated[
        str | None, typer.Option(help="Annotator or coordinator whose old link becomes worthless.")
    ] = None,
    secret_file: Annotated[Path | None, typer.Option(help="As for serve.")] = None,
) -> None:
    """Print everybody's personal link, or replace one."""
    store = open_store(study)
    if renew is not None:
        from medassay.human.people import COMMAND_LINE, renew_link

        renew_link(store, renew, COMMAND_LINE)
    print(links_text(store, url.rstrip("/"), read_secret(secret_file)), end="")


def replace_command(
    study: StudyFile,
    annotator: Annotated[str, typer.Option(help="Who leaves.")],
    by: Annotated[str, typer.Option(help="The new name.")],
) -> None:
    """Let a new annotator take over the tasks that another has not finished."""
    from medassay.human.people import COMMAND_LINE, replace_annotator

    store = open_store(study)
    cases = replace_annotator(store, annotator, by, COMMAND_LINE)
    print(f"{by} takes over {cases} cases from {annotator}; 'medassay annotate links {study}' prints the link")


def draft_command(
    study: StudyFile,
    models: console.Models = "embedded",
    off: Annotated[bool, typer.Option("--off", help="Show no draft any more.")] = False,
) -> None:
    """Make the machine's draft of every text, and draw by lot which tasks show it (half of them)."""
    store = open_store(study)
    from medassay.human.drafts import check_draft_allowed, make_drafts, remove_drafts
    from medassay.human.people import COMMAND_LINE

    if off:
        print(f"{remove_drafts(store, COMMAND_LINE)} tasks that nobody has begun show no draft any more")
        return
    from medassay.models import load

    check_draft_allowed(store.study)
    shown = make_drafts(
        store,
        load("checker", models),
        COMMAND_LINE,
        lambda units: console.progress(units, "drafting", "cases", len(units)),
    )
    print(
        f"{shown} tasks will show the draft, as many will not; 'medassay annotate agreement {study}' tells the effect"
    )


def backup_command(
    study: StudyFile, out: Annotated[Path, typer.Option("--out", help="Archive to write (.zip).")]
) -> None:
    """Write the whole study to one file, while the server may run. It holds reports and all links."""
    from medassay.human.backup import backup

    console.check_paths({"study": study_files(study)}, {"--out": out})
    events = backup(open_store(study), out)
    print(f"{events} changes written to {out}")


def restore_command(
    archive: Annotated[Path, typer.Argument(help="What 'annotate backup' wrote.")],
    folder: Annotated[Path, typer.Argument(help="Folder for the study; must not hold its files yet.")],
    database: Annotated[str | None, typer.Option(help="File name, or postgresql://user@host/name.")] = None,
) -> None:
    """Put a study back from a backup and check it; links and answers are as they were."""
    need_extra()
    from medassay.human.backup import restore

    study, events = restore(archive, folder, database)
    restrict_to_owner(study.path)
    print(f"{study.path}: {events} changes restored and checked")
