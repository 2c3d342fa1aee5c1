"""Results as rows of a file: one per text (ready for `medassay score` and `validate`), or per text and annotator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medassay.columns import carried_columns
from medassay.human.plan import Unit
from medassay.human.ratings import Ratings, with_derived
from medassay.human.state import CANNOT_JUDGE

Record = Mapping[str, Any]


def per_text(ratings: Ratings, units: Sequence[Unit]) -> list[Record]:
    """One row per judged text: the case's own columns, then each answer and score averaged over annotators.

    Where a coordinator decided, the decision stands in place of the average and `decided` is true; scores
    follow from what stands, and `decision_problem` says where that is contradictory.
    `annotators` says how many people the average is over. The file is itself a case file: `medassay
    score` carries the human columns along. A carried column that has a score's name becomes `file.<name>`.
    """
    columns = ratings.protocol.columns
    own = {*columns, "annotators", "decided", "decision_problem"}
    records: list[Record] = []
    for unit in units:
        for item in unit.items:
            key = (unit.case_id, item.system)
            if key not in ratings.by_key and key not in ratings.decisions:
                continue
            record: dict[str, Any] = {"id": unit.case_id}
            if item.system:
                record["system"] = item.system
            record |= {"candidate": item.candidate, "reference": unit.reference, "source": unit.source}
            record |= carried_columns(item.extra, {*record, *own})
            final = ratings.final(key)
            record |= {column: final.values.get(column) for column in columns}
            judged = [row for row in ratings.by_key.get(key, []) if CANNOT_JUDGE not in row.flags]
            record |= {"annotators": len(judged), "decided": final.decided, "decision_problem": final.problem}
            records.append(record)
    return records


def per_annotator(ratings: Ratings) -> list[Record]:
    """One row per text and annotator, decisions as the annotator `adjudicated`; reads back with `read_table`.

    `flag` and `cannot_judge` hold the reasons that were given. `draft` says whether the machine's draft was
    shown (empty: the task took no part in the draw), `from_draft` how many answers were taken from it.
    """
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
            "flag": row.flags.get("flag", ""),
            "cannot_judge": row.flags.get(CANNOT_JUDGE, ""),
            "draft": row.draft,
            "from_draft": row.from_draft,
        }
        for row in ratings.rows
    ]
    for key, decided in ratings.decisions.items():
        values = with_derived(ratings.protocol, decided, ratings.length(key))
        who = {"id": key[0], "system": key[1], "annotator": "adjudicated"}
        rows.append({**who, **{column: values.get(column) for column in columns}, "comment": ""})
    return rows
