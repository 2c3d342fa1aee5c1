"""`medassay extract`: entities, relations, assertions and concepts of a whole file, as JSON lines and as a page.

Rows stream through. A run that is interrupted leaves `<out>.<mark>.partial`; the same command, with the same
models, uses the records in it that still fit and continues from there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from medassay import console
from medassay.errors import InputError

if TYPE_CHECKING:
    from medassay.cases import Case, Row
    from medassay.paths import Given
    from medassay.report import ExtractPage

_BATCH = 64
"""Rows read together."""


def extract(
    cases: console.Cases,
    column: Annotated[str, typer.Option(help="Column whose text is read.")] = "candidate",
    out: Annotated[Path | None, typer.Option(help="JSON lines to write; default: standard output.")] = None,
    html: Annotated[Path | None, typer.Option(help="Page that shows what was read (.html).")] = None,
    map_: console.Map = "",
    format: console.Format = None,
    models: console.Models = "embedded",
    strict: console.Strict = False,
) -> None:
    """Entities, relations, assertions and concepts of every report, as JSON lines and as a page."""
    job = Extraction(cases, column, console.parse_mapping(map_), format, out, html, models, strict)
    problems = job.run()
    for path, what in ((out, "extract"), (html, "page")):
        if path is not None:
            console.say(f"{what} of {job.count:,} reports written to {path}")
    console.finish(cases, problems)


@dataclass
class Extraction:
    """One `medassay extract` command.

    column: the column of the file whose text is read (after `columns`, the mapping of names).
    out: JSON lines; standard output where neither `out` nor `page` is named.
    """

    cases: str
    column: str = "candidate"
    columns: Mapping[str, str] = field(default_factory=dict)
    format: str | None = None
    out: Path | None = None
    page: Path | None = None
    models: str = "embedded"
    strict: bool = False
    count: int = field(default=0, init=False)
    problems: list[str] = field(default_factory=list, init=False)

    def run(self) -> Sequence[str]:
        """Read every row; gives the problems of rows that could not be read (the others are written)."""
        from medassay.cases import case_files
        from medassay.files import is_special
        from medassay.paths import hold

        inputs = {"cases": case_files(self.cases, self.format), "--models": console.existing(self.models)}
        outputs: dict[str, Given] = {"--out": self.out, "--html": self.page}
        console.check_paths(inputs, outputs)  # before models are loaded, and again with what depends on them
        if self.out is not None and not is_special(self.out):
            console.check_paths(inputs, outputs | {"unfinished extract": self.unfinished_files(self.out)})
        with hold([self.out, self.page]):
            self._run()
        return self.problems

    def _run(self) -> None:
        from medassay.files import write_text
        from medassay.report import ExtractPage

        page = ExtractPage() if self.page is not None else None
        if self.out is None:
            self._write(self._records(iter(())), console.record_stream() if page is None else None, page)
        else:
            self._write_file(self.out, page)
        if page is not None and self.page is not None:
            write_text(self.page, page.html(), errors="replace")

    def _write_file(self, out: Path, page: ExtractPage | None) -> None:
        """Write the file, which appears under its name only when it is complete.

        Records are collected in a file beside it that an interrupted run leaves behind: what is in it that still
        fits is not read again.
        """
        from medassay.files import OutputFile, is_special, open_output, unwritable

        if is_special(out):  # nothing can be kept beside it
            with open_output(out) as stream:
                self._write(self._records(iter(())), stream, page)
            return
        partial, earlier = self.unfinished_files(out)
        # A run that stops while it copies earlier records leaves fewer than it found: the longer file counts.
        if partial.exists() and (not earlier.exists() or partial.stat().st_size > earlier.stat().st_size):
            partial.replace(earlier)
        try:
            with partial.open("w", encoding="utf-8", newline="\n") as stream:
                self._write(self._records(_earlier_records(earlier)), stream, page)
            with OutputFile(out) as target:
                partial.replace(target.temporary)
                target.commit()
        except OSError as error:
            raise unwritable(out, error) from error
        finally:
            if self.count == 0:
                partial.unlink(missing_ok=True)
        earlier.unlink(missing_ok=True)

    def _write(self, records: Iterator[dict[str, Any]], stream: IO[str] | None, page: ExtractPage | None) -> None:
        from medassay.files import json_text

        for record in console.progress(records, "reading", "reports", console.count_rows(self.cases, self.format)):
            self.count += 1
            if stream is not None:
                stream.write(json_text(record) + "\n")
            if page is not None:
                page.add(record)
        if self.count == 0:
            raise InputError(f"{self.cases}: no usable row. First problem: {self.problems[0]}")

    def _records(self, earlier: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """One record per readable row, in order; records of an earlier run are used as they are."""
        from medassay.language.graph import read_reports

        readable = (case for row in self._rows() if (case := self._readable(row)) is not None)
        next_earlier = next(earlier, None)
        while cases := list(islice(readable, _BATCH)):
            done: dict[int, dict[str, Any]] = {}
            for i, case in enumerate(cases):
                if next_earlier is not None and _is_of_case(next_earlier, case):
                    done[i] = next_earlier
                    next_earlier = next(earlier, None)
            fresh = [i for i in range(len(cases)) if i not in done]
            for i, report in zip(fresh, read_reports([cases[i].candidate for i in fresh], self.models)):
                done[i] = {**_identity(cases[i]), **report.to_json()}
            yield from (done[i] for i in range(len(cases)))

    def _rows(self) -> Iterator[Row]:
        from medassay.cases import read_cases

        theirs = self.columns.get(self.column, self.column)
        columns = {ours: name for ours, name in self.columns.items() if name != theirs}
        if theirs != "candidate":
            columns["candidate"] = theirs
        return read_cases(self.cases, columns, format=self.format, strict=self.strict)

    def _readable(self, row: Row) -> Case | None:
        """The row's case, or None with the problem noted."""
        from medassay.language.checks import problem

        case = row.case
        if case is None:
            reason = row.problem
        elif not case.candidate.strip():
            reason = f"column '{self.columns.get(self.column, self.column)}' is empty; nothing to read"
        else:
            fault = problem(case.candidate)
            if fault is None:
                return case
            reason = f"column '{self.columns.get(self.column, self.column)}' {fault}; it was not read"
        self.problems.append(f"row {row.number}: {reason}")
        if self.strict:
            raise InputError(f"{self.cases}, {self.problems[-1]}")
        return None

    def unfinished_files(self, out: Path) -> tuple[Path, Path]:
        """The records of the run under way, and those that a former run has left."""
        partial = out.with_name(f"{out.name}.{self._models_hash()}.partial")
        return partial, partial.with_name(partial.name + ".kept")

    def _models_hash(self) -> str:
        """A short hash of the models and the version: only runs that agree on it share records."""
        import hashlib

        from medassay import __version__
        from medassay.models import load

        names = [load("ner", self.models).name, load("re", self.models).name, __version__]
        return hashlib.blake2b(json.dumps(names).encode(), digest_size=4).hexdigest()


def _identity(case: Case) -> dict[str, Any]:
    return {"id": case.id, **({"system": case.system} if case.system else {})}


def _is_of_case(record: Mapping[str, Any], case: Case) -> bool:
    return (record.get("id"), record.get("system"), record.get("text")) == (case.id, case.system, case.candidate)


def _earlier_records(path: Path) -> Iterator[dict[str, Any]]:
    """The whole records an interrupted run left; its last line may be cut short."""
    if not path.exists():
        return
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            try:
                record = json.loads(line)
            except ValueError:
                return
            if not isinstance(record, dict) or not line.endswith("\n"):
                return
            yield record
