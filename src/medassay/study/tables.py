"""A table of a study: plain rows that a terminal, a page and a file can show alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from medassay.study.resampling import Estimate

Cell = Estimate | float | int | str | None


@dataclass(frozen=True)
class Table:
    """Rows by column, with a title and what a reader must know. percent: columns in per cent."""

    name: str
    title: str
    rows: Sequence[Mapping[str, Cell]]
    notes: Sequence[str] = ()
    percent: frozenset[str] = field(default_factory=frozenset)

    @property
    def columns(self) -> list[str]:
        """Every column, in order of appearance."""
        return list(dict.fromkeys(column for row in self.rows for column in row))

    def flat(self) -> list[dict[str, float | int | str | None]]:
        """Rows for a file: an estimate becomes three columns."""
        out = []
        for row in self.rows:
            record: dict[str, float | int | str | None] = {}
            for column in self.columns:
                cell = row.get(column)
                if isinstance(cell, Estimate):
                    value = cell.value if cell.known else None
                    record |= {column: value, f"{column}.low": cell.low, f"{column}.high": cell.high}
                else:
                    record[column] = cell
            out.append(record)
        return out
