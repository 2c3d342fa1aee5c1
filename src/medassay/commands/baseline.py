"""`medassay baseline …`: Lead-3, the first three sentences of the source, which every summary should beat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from medassay import console
from medassay.cases import Row, read_cases
from medassay.errors import InputError

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
    from medassay.columns import Value, carried_columns
    from medassay.files import write_rows
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
                record: dict[str, Value] = {"id": case.id, "system": case.system or "", "candidate": case.candidate}
                record |= {"reference": case.reference or "", "source": case.source or ""}
                others.append(record | carried_columns(case.extra, record))
    write_rows([*others, *rows], out)
    print(f"{len(rows)} baseline texts written to {out}")


def lead(text: str, sentences: int = 3) -> str:
    """The first sentences of a text, as they stand in it; a shorter text comes back whole.

    >>> lead("He is 61. He takes lisinopril. He is well. Return in May.")
    'He is 61. He takes lisinopril. He is well.'
    """
    from nupunkt import sent_spans

    spans = sent_spans(text)
    if not spans:
        return ""
    return text[spans[0][0] : spans[min(sentences, len(spans)) - 1][1]].strip()


def read_sources(path: str, columns: Mapping[str, str]) -> Iterator[Row]:
    """The rows of a case file that may have no candidates yet: only `source` is needed."""
    try:
        next(read_cases(path, columns))
    except InputError:
        # Read the source as if it were the candidate; a file without either is refused by name.
        instead = {**columns, "candidate": columns.get("source", "source")}
        for row in read_cases(path, {k: v for k, v in instead.items() if k != "source"}):
            case = row.case
            yield row if case is None else replace(row, case=replace(case, source=case.candidate, candidate=""))
        return
    yield from read_cases(path, columns)


def lead_rows(rows: Iterable[Row], where: str, sentences: int = 3, system: str = "lead3") -> Iterator[dict[str, Any]]:
    """A case file's rows with the baseline as candidate: one per case id, in file order."""
    ids: set[str] = set()
    for row in rows:
        if row.case is None:
            raise InputError(f"{where}, row {row.number}: {row.problem}")
        case = row.case
        if case.id in ids:
            continue
        ids.add(case.id)
        if not case.has("source"):
            raise InputError(f"{where}, row {row.number}: 'source' is empty; the baseline is taken from it")
        yield {
            "id": case.id,
            "system": system,
            "candidate": lead(case.source or "", sentences),
            "reference": case.reference or "",
            "source": case.source,
        }
