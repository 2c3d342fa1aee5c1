"""Tables that commands write: records as CSV or JSON lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medassay.errors import InputError


def write_rows(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write records as CSV or JSON lines, whole or not at all."""
    from medassay.files import guard

    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("w", encoding="utf-8", newline="") as stream:
            if path.suffix.lower() == ".jsonl":
                stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            else:
                header = list(dict.fromkeys(name for row in rows for name in row))
                writer = csv.writer(stream, lineterminator="\n")
                writer.writerow(header)
                for row in rows:
                    cells = [row.get(name) for name in header]
                    writer.writerow(["" if c is None else guard(c) if isinstance(c, str) else c for c in cells])
        partial.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another --out") from error
