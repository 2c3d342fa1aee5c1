"""Results as files: one row per text (ready for `medassay score` and `validate`), or per text and annotator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medassay.columns import carried_columns
from medassay.human.plan import Unit
from medassay.human.ratings import Ratings, mean

Record = Mapping[str, Any]


def per_text(ratings: Ratings, units: Sequence[Unit]) -> list[Record]:
    """One row a judged text: the case's own columns, then each answer and score averaged over annotators.

    Where the coordinator decided, the decision stands in place of the average and `decided` is true.
    `annotators` says how many people the average is over. The file is itself a case file: `medassay
    score` carries the human columns along. A carried column that has a score's name becomes `file.<name>`.
    """
    columns = ratings.protocol.columns
    given: dict[tuple[str, str], list[Mapping[str, float | None]]] = {}
    for row in ratings.rows:
        given.setdefault(row.key, []).append(row.values)
    records: list[Record] = []
    for unit in units:
        for item in unit.items:
            key = (unit.case_id, item.system)
            if key not in given and key not in ratings.decisions:
                continue
            record: dict[str, Any] = {"id": unit.case_id}
            if item.system:
                record["system"] = item.system
            record |= {"candidate": item.candidate, "reference": unit.reference, "source": unit.source}
            record |= carried_columns(item.extra, {*record, *columns, "annotators", "decided"})
            opinions = given.get(key, [])
            decision = ratings.decisions.get(key, {})
            for column in columns:
                decided = decision.get(column)
                record[column] = decided if decided is not None else mean(o.get(column) for o in opinions)
            record["annotators"] = len(opinions)
            record["decided"] = bool(decision)
            records.append(record)
    return records


def per_annotator(ratings: Ratings) -> list[Record]:
    """One row per text and annotator, decisions as the annotator `adjudicated`; reads back with `read_table`."""
    columns = ratings.protocol.columns
    rows: list[Record] = [
        {
            "id": row.case_id,
            "system": row.system,
            "annotator": row.annotator,
            **{column: row.values.get(column) for column in columns},
            "place": row.slot,
            "seconds": row.seconds,
            "comment": row.comment,
        }
        for row in ratings.rows
    ]
    for (case_id, system), values in ratings.decisions.items():
        own = {column: values.get(column) for column in columns}
        who = {"id": case_id, "system": system, "annotator": "adjudicated"}
        rows.append({**who, **own, "place": None, "seconds": None, "comment": ""})
    return rows
