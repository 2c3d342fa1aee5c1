"""`medassay models list|check|fetch|convert`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medassay import console

if TYPE_CHECKING:
    from medassay.models.inventory import Item

models_app = typer.Typer(
    name="models",
    help="The models: what is here, is it intact, and fetching others.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Folder = Annotated[Path | None, typer.Argument(help="A folder of models of your own; default: embedded and paper.")]


@models_app.command("list")
def list_command(folder: Folder = None) -> None:
    """List every model file with its role, size, licence and state."""
    print_items(_items(folder))


@models_app.command("check")
def check_command(folder: Folder = None) -> None:
    """Verify every model file against its hash; exit code 2 where something is wrong."""
    from medassay.models.inventory import GOOD

    items = _items(folder)
    print_items(items)
    wrong = [item for item in items if item.state not in GOOD]
    for item in wrong:
        console.say(f"{item.source}, {item.state}: {item.remedy}")
    if wrong:
        raise typer.Exit(console.STOPPED)
    counts = Counter(item.state for item in items)
    console.say("nothing wrong: " + ", ".join(f"{count} {state}" for state, count in counts.items()))


@models_app.command("fetch")
def fetch_command(
    what: Annotated[str, typer.Argument(help="paper, or the name of a hub model.")],
    to: Annotated[Path | None, typer.Option(help="Folder to copy to; default: the hub's cache.")] = None,
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit of one model.")] = None,
) -> None:
    """Copy a model from the hub: weights (as safetensors), configuration and tokenizer only."""
    from medassay.models.fetching import fetch
    from medassay.models.sources import read_paper

    for name, folder in fetch(what, to, revision):
        typer.echo(f"{name}: {folder}")
    for role, reason in read_paper().unavailable.items() if what == "paper" else ():
        console.say(f"{role}: not fetched. {reason}")


@models_app.command("convert")
def convert_command(
    weights: Annotated[Path, typer.Argument(help="A file of pickled weights (.bin, .pt, .pth).")],
    base: Annotated[Path, typer.Option(help="Folder of a model of the same architecture: configuration, tokenizer.")],
    to: Annotated[Path, typer.Option(help="New folder for the model.")],
) -> None:
    """Convert pickled weights to a model folder with safetensors; the file is opened in a process of its own."""
    from medassay.models.converting import convert_file

    console.need_extra("converting weights", "hf", "torch", "safetensors")
    typer.echo(f"{weights}: {convert_file(weights, base, to)}")


def _items(folder: Path | None) -> list[Item]:
    from medassay.models.inventory import folder_items, inventory

    return inventory() if folder is None else folder_items(folder)


def print_items(items: list[Item]) -> None:
    """The inventory as aligned columns; names from other people's folders are shown, never obeyed."""
    rows: list[tuple[str, ...]] = [("role", "source", "file", "size", "licence", "state")]
    for item in items:
        size = "" if item.bytes is None else f"{item.bytes / 1e6:.1f} MB"
        cells = (item.role, item.source, item.file, size, item.licence, item.state)
        rows.append(tuple("".join(c if c.isprintable() else "�" for c in cell) for cell in cells))
    widths = [max(len(row[i]) for row in rows) for i in range(6)]
    for row in rows:
        padded = (cell.rjust(w) if i == 3 else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths)))
        typer.echo("  ".join(padded).rstrip())
    for remedy in dict.fromkeys(item.remedy for item in items if item.state == "not fetched"):
        typer.echo(f"to get it: {remedy}")
