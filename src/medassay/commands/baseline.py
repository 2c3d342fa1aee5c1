"""`medassay baseline …`: baseline candidates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medassay import console

baseline_app = typer.Typer(
    name="baseline",
    help="Baseline candidates to compare systems with.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@baseline_app.command("lead3")
def lead3_command(
    cases: Annotated[str, typer.Argument(help="Case file with a source column.")],
    out: Annotated[Path, typer.Option(help="File to write: .csv or .jsonl.")],
    sentences: Annotated[int, typer.Option(min=1, help="How many sentences.")] = 3,
    keep: Annotated[bool, typer.Option(help="Keep the other systems' rows, to compare with.")] = False,
    map_: console.Map = "",
) -> None:
    """The first three sentences of the source, as a system named lead3."""
    from medassay.cases import read_cases
    from medassay.columns import Value, carried_columns
    from medassay.files import write_rows
    from medassay.human.baseline import lead_rows, read_sources
    from medassay.paths import check_read_again

    console.check_paths({"cases": cases}, {}, table=out)
    check_read_again(cases)
    columns = console.parse_mapping(map_)
    system = f"lead{sentences}"
    rows = list(lead_rows(read_sources(cases, columns), cases, sentences, system))
    others = []
    if keep:
        for row in read_cases(cases, columns):
            if row.case is not None:
                case = row.case
                own: dict[str, Value] = {"id": case.id, "system": case.system or "", "candidate": case.candidate}
                own |= {"reference": case.reference or "", "source": case.source or ""}
                others.append(own | carried_columns(case.extra, own))
    write_rows([*others, *rows], out)
    print(f"{len(rows)} baseline texts written to {out}")
