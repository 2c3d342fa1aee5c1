"""Tables of raw counts from elsewhere (a paper's supplement, a spreadsheet): one row per text and annotator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medassay.errors import InputError, nearest
from medassay.human.protocols.base import Protocol, Question, WordCounts
from medassay.human.ratings import Rating, Ratings, with_derived
from medassay.records import read_records

# How published tables call what is counted here; compared without case, spaces, dashes and underscores.
ALIASES = {
    "id": ("id", "case", "caseid", "task", "taskid", "item", "doc", "document", "report"),
    "system": ("system", "model", "systemname", "modelname"),
    "annotator": ("annotator", "evaluator", "rater", "annotatorid", "evaluatorid", "eval", "expert"),
    "R": ("r", "rfacts", "factsinr", "referencefacts", "facts in reference"),
    "G": ("g", "gfacts", "factsing", "generatedfacts"),
    "RG": ("r&g", "rg", "g&r", "g&rfacts", "r&gfacts", "randg", "common", "factsinboth"),
    "C": ("c", "gaccfacts", "correctfacts", "accuratefacts", "factscorrect"),
    "omitted_critical": ("omittedcritical", "critomissions", "critommissions", "criticalomissions"),
    "hallucinated": ("hallucinated", "hallucinations", "hallucinatedfacts"),
    "correct": ("correct", "correctfacts"),
    "incorrect": ("incorrect", "incorrectfacts"),
    "omitted": ("omitted", "omissions", "omittedfacts"),
    "expert_score": ("expertscore", "score"),
}
WORDS = {
    "coherence": {"coherent": 1.0, "minorerrors": 0.5, "minor errors": 0.5, "majorerrors": 0.0, "major errors": 0.0}
}


_BESIDE = (
    "comment", "seconds", "place", "decided", "words_candidate", "words_reference", "flag", "cannot_judge", "draft",
    "from_draft",
)  # fmt: skip
"""Columns that a table of ratings may have beside keys, answers and derived scores."""


def _plain(name: str) -> str:
    return name.lower().replace(" ", "").replace("_", "").replace("-", "")


def _columns(header: list[str], protocol: Protocol, where: str) -> dict[str, str]:
    """Our name → the table's; all three keys and at least one question must be there."""
    by_plain = {_plain(name): name for name in header}
    wanted = ["id", "system", "annotator", *(q.name for q in protocol.questions)]
    present = {}
    for ours in wanted:
        names = dict.fromkeys([_plain(ours), *(_plain(alias) for alias in ALIASES.get(ours, ()))])
        matches = [by_plain[name] for name in names if name in by_plain]
        if len(matches) > 1:
            raise InputError(f"{where}: columns '{matches[0]}' and '{matches[1]}' both mean {ours}; leave one out")
        if matches:
            present[ours] = matches[0]
    missing = [name for name in ("id", "annotator") if name not in present]
    if missing or not any(q.name in present for q in protocol.questions):
        asked = ", ".join(q.name for q in protocol.questions)
        raise InputError(
            f"{where}: no column '{missing[0] if missing else protocol.questions[0].name}'; a table of raw counts "
            f"needs id, annotator, usually system, and of {protocol.name}: {asked}. Found: {', '.join(header)}"
        )
    _refuse_unknown(header, present, protocol, where)
    return present


def _refuse_unknown(header: list[str], present: Mapping[str, str], protocol: Protocol, where: str) -> None:
    """A column that nobody reads would vanish from every figure: name it."""
    known = {*map(_plain, protocol.derived), *map(_plain, _BESIDE)}
    unknown = [name for name in header if name not in present.values() and _plain(name) not in known]
    if unknown:
        asked = [q.name for q in protocol.questions]
        raise InputError(
            f"{where}: column '{unknown[0]}' is none of {protocol.name}{nearest(unknown[0], asked)}; rename it to "
            f"one of {', '.join(asked)}, or leave it out of the table"
        )


def read_table(path: str | Path, protocol: Protocol) -> Ratings:
    """Ratings from a CSV or TSV of raw counts; derived scores are computed here, not read.

    Columns go by our names or the usual ones of papers (`Evaluator`, `Model`, `R&G` …); an empty cell is
    a missing rating; coherence may be a word. `words_candidate` and `words_reference`, where there, are
    what key-phrase counts are divided by. A column that is none of these is refused by name, and so are counts of the
    reference that differ between the rows of one case and annotator. Rows of the annotator `adjudicated` are decisions.
    """
    columns: dict[str, str] = {}
    ratings, decisions = [], {}
    lengths: dict[tuple[str, str], WordCounts] = {}
    seen: dict[tuple[str, str, str], int] = {}
    once = _PerCase(protocol)
    for number, record in read_records(path, format="tsv" if Path(path).suffix.lower() in (".tsv", ".tab") else "csv"):
        if isinstance(record, str):
            raise InputError(f"{path}, row {number}: {record}")
        columns = columns or _columns(list(record), protocol, str(path))
        row = {column: str(cell) for column, cell in record.items()}
        rating = _rating(row, columns, protocol, f"{path}, row {number}")
        key = (rating.case_id, rating.system, rating.annotator)
        if key in seen:
            raise InputError(f"{path}, row {number}: the same text and annotator stand in row {seen[key]} already")
        seen[key] = number
        once.check(rating, number, str(path))
        lengths[rating.key] = WordCounts(_length(row, "words_candidate"), _length(row, "words_reference"))
        if rating.annotator == "adjudicated":
            asked = {question.name for question in protocol.questions}
            decisions[rating.key] = {n: v for n, v in rating.values.items() if n in asked and v is not None}
        else:
            ratings.append(rating)
    if not columns:
        raise InputError(f"{path}: no rows; a table of raw counts needs a header and a row per text and annotator")
    return Ratings(protocol, ratings, decisions, lengths)


class _PerCase:
    """What is counted once per case (facts of the reference) and must be the same in all rows of an annotator."""

    def __init__(self, protocol: Protocol) -> None:
        self.columns = [question.name for question in protocol.questions if question.per == "case"]
        self.first: dict[tuple[str, str, str], tuple[float, int]] = {}

    def check(self, rating: Rating, number: int, where: str) -> None:
        """Raise where a row disagrees with an earlier one of the same case and annotator."""
        for column in self.columns:
            value = rating.values.get(column)
            if value is None:
                continue
            before, row = self.first.setdefault((rating.case_id, rating.annotator, column), (value, number))
            if before != value:
                raise InputError(
                    f"{where}, row {number}, column '{column}': {value:g}, but {before:g} in row {row} for the same "
                    f"case '{rating.case_id}' and annotator '{rating.annotator}'; it is counted once per case"
                )


def _rating(row: Mapping[str, str], columns: Mapping[str, str], protocol: Protocol, where: str) -> Rating:
    raw = {q.name: _number(row[columns[q.name]], q, where) for q in protocol.questions if q.name in columns}
    words = WordCounts(_length(row, "words_candidate"), _length(row, "words_reference"))
    return Rating(
        (row[columns["id"]] or "").strip(),
        (row.get(columns.get("system", ""), "") or "").strip(),
        (row[columns["annotator"]] or "").strip(),
        with_derived(protocol, raw, words),
        row.get("comment") or "",
    )


def _length(row: Mapping[str, str], column: str) -> int:
    text = (row.get(column) or "").strip()
    return int(text) if text.isdigit() else 0


def _number(text: str | None, question: Question, where: str) -> float | None:
    text = (text or "").strip()
    if not text or text.lower() in ("na", "nan", "none", "-", "–"):
        return None
    known = WORDS.get(question.name, {})
    if text.lower() in known:
        return known[text.lower()]
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{where}, column '{question.name}': '{text[:30]}' is not a number") from None
    if value != value or value < 0:
        raise InputError(f"{where}, column '{question.name}': {text} is not a count of 0 or more")
    return value
