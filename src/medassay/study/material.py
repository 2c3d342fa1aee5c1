"""The texts of a stress test: references, with copies, rewordings, errors and unrelated texts of each.

Three forms of records are understood: cases (their distinct references); rows of `reference, kind, candidate`
(one change per row, where some `kind` names a change); rows of `text` or `reference` with `paraphrase…`, `error`
and `error_type` columns. What the records bring is used as it is; what they do not bring is made by rule
(`changes`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from medassay.cases import Case
from medassay.columns import find_column
from medassay.errors import InputError
from medassay.study.changes import CRITICAL, HARMLESS, NotMade, change, hallucinate, kind_of, kinds, reworded

FORMS = ("copy", "harmless", "rewording", "paraphrase", "slip", "error", "reworded error", "unrelated")
"""copy: the text itself. harmless: one kind of harmless change. rewording: synonyms and abbreviations, by rule.
paraphrase: from the file. slip: spelling. error: the text with one clinical error. reworded error: a
paraphrase (or rewording) with one. unrelated: another text of the file."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A text to be scored against its original. origin: `rule` or `data`."""

    form: str
    kind: str
    text: str
    origin: str = "rule"


@dataclass
class Original:
    """One reference with what the records say of it."""

    id: str
    text: str
    source: str | None = None
    group: str = ""
    variants: list[Variant] = field(default_factory=list)


@dataclass(frozen=True)
class Material:
    """Originals with their variants; what could not be made, by (form, kind), with the reasons counted."""

    originals: tuple[Original, ...]
    not_made: Mapping[tuple[str, str], Counter[str]]
    notes: tuple[str, ...]


Records = Sequence[tuple[int, Mapping[str, Any] | str]]
"""Rows of a file with their numbers, as `read_records` gives them: cells by column, or what is wrong with the row."""


def brings_changes(records: Records) -> bool:
    """Whether some row is a changed text: its `kind` names a change, and not what sort of text the row holds."""
    return any(not isinstance(record, str) and _is_change(_text(record, "kind")) for _, record in records)


def originals_of(
    name: str, records: Records, columns: Mapping[str, str] | None = None, by: str | None = None
) -> tuple[list[Original], list[str]]:
    """The originals of a file's records, with the variants that these bring, and the problems of rows.

    Args:
        name: the file, for messages.
        records: its rows.
        columns: other names of the columns `reference`, `source` and `candidate`.
        by: a column that groups the references; by default `kind`, where that is not the kind of a change.
    """
    header = next((list(record) for _, record in records if not isinstance(record, str)), [])
    wanted = {ours: ours for ours in ("reference", "source", "candidate", "text", "id")} | dict(columns or {})
    named = {ours: find_column(theirs, header) or theirs for ours, theirs in wanted.items()}
    originals: dict[str, Original] = {}
    problems: list[str] = []
    changes = brings_changes(records)
    for number, record in records:
        if isinstance(record, str):
            problems.append(f"row {number}: {record}")
            continue
        text = _text(record, named["reference"]) or _text(record, named["text"])
        if text is None:
            either = f"'{named['reference']}' or 'text'"
            if not {named["reference"], named["text"]} & set(record):
                raise InputError(
                    f"{name}, row {number}: no column {either}; map yours, as reference=COLUMN. "
                    f"Columns found: {', '.join(map(str, list(record)[:12]))}"
                )
            problems.append(f"row {number}: column {either} is empty; nothing to change")
            continue
        original = originals.get(text)
        if original is None:
            original = originals[text] = Original(
                _text(record, named["id"]) or str(number), text, _text(record, named["source"])
            )
            original.group = _text(record, by) or "" if by else ""
        _add_variants(original, record, named["candidate"] if changes else None, grouped=by is not None)
    if not originals:
        raise InputError(f"{name}: no text to change; it needs a column of references with at least one text")
    return list(originals.values()), problems


def _text(record: Mapping[str, Any], column: str) -> str | None:
    value = record.get(column)
    if isinstance(value, list) and value:
        value = value[0]
    return str(value) if value is not None and str(value).strip() else None


def _is_change(kind: str | None) -> bool:
    return kind is not None and (kind.lower().startswith("paraphrase") or kind_of(kind) in kinds())


def _add_variants(original: Original, record: Mapping[str, Any], candidate: str | None, *, grouped: bool) -> None:
    """Add the variants of a row to its original; `candidate` names the changed text where rows are changes."""
    kind, changed = _text(record, "kind"), _text(record, candidate) if candidate else None
    if kind and changed:
        if kind.lower().startswith("paraphrase"):
            original.variants.append(Variant("paraphrase", kind.lower(), changed, "data"))
        elif kind.lower() not in ("copy", "reference", "original", "unrelated"):
            original.variants.append(_variant(kind, changed, "error"))
        return
    if not grouped:
        original.group = original.group or kind or ""
    for column in record:
        text = _text(record, column)
        if column.lower().startswith("paraphrase") and text:
            original.variants.append(Variant("paraphrase", column.lower(), text, "data"))
    # An `error` column alone may hold anything; beside paraphrases or a type it is a text with an error.
    beside = "error_type" in record or any(column.lower().startswith("paraphrase") for column in record)
    error = _text(record, "error") if beside else None
    if error:
        original.variants.append(_variant(_text(record, "error_type") or "error", error, "reworded error"))


def _variant(kind: str, text: str, form: str) -> Variant:
    """A change from the data, by what its kind is: an error unless we know it as harmless or minor."""
    name = kind_of(kind)
    harm = kinds()[name].harm if name in kinds() else CRITICAL
    return Variant({CRITICAL: form, HARMLESS: "harmless"}.get(harm, "slip"), name, text, "data")


def sample(originals: Sequence[Original], limit: int, seed: int) -> list[Original]:
    """At most `limit` originals, drawn by the seed, in their order; all where the limit is 0."""
    if not 0 < limit < len(originals):
        return list(originals)
    chosen = np.random.default_rng(seed).choice(len(originals), size=limit, replace=False)
    return [originals[i] for i in sorted(chosen.tolist())]


def make_material(originals: Sequence[Original], seed: int = 1, *, rules: bool = True) -> Material:
    """Every original with all its variants.

    rules: make by rule what the file does not bring: harmless changes always; errors in the text itself,
        and in a paraphrase, each only where no original of the file has any of that form.
    """
    brought = {v.form for original in originals for v in original.variants}
    not_made: dict[tuple[str, str], Counter[str]] = {}
    finished = []
    for original, other in zip(originals, _unrelated_texts(originals, seed)):
        variants = [Variant("copy", "copy", original.text), *original.variants]
        if rules:
            variants += _by_rule(original, brought, not_made, seed)
        if other is not None:
            variants.append(Variant("unrelated", "unrelated", other))
        finished.append(Original(original.id, original.text, original.source, original.group, variants))
    return Material(tuple(finished), not_made, tuple(_notes(finished, brought, rules)))


def _by_rule(
    original: Original, brought: set[str], not_made: dict[tuple[str, str], Counter[str]], seed: int
) -> list[Variant]:
    variants: list[Variant] = []

    def keep(form: str, kind: str, text: str | NotMade) -> None:
        counts = not_made.setdefault((form, kind), Counter())
        if isinstance(text, NotMade):
            counts[text.reason] += 1
        else:
            variants.append(Variant(form, kind, text))

    rewording = reworded(original.text)
    keep("rewording", "rewording", rewording)
    base = next((v.text for v in original.variants if v.form == "paraphrase"), rewording)
    for kind in kinds().values():
        if kind.harm == HARMLESS:
            keep("harmless", kind.name, change(original.text, kind.name, seed))
        elif kind.harm != CRITICAL:
            keep("slip", kind.name, change(original.text, kind.name, seed))
        else:
            if "error" not in brought:
                keep("error", kind.name, change(original.text, kind.name, seed))
            if "reworded error" not in brought:
                nothing = NotMade("no paraphrase to put the error in")
                keep("reworded error", kind.name, change(base, kind.name, seed) if isinstance(base, str) else nothing)
    return variants


def _unrelated_texts(originals: Sequence[Original], seed: int) -> list[str | None]:
    """For each original another one's text, of the same group where that has several."""
    out: list[str | None] = [None] * len(originals)
    groups: dict[str, list[int]] = {}
    for i, original in enumerate(originals):
        groups.setdefault(original.group, []).append(i)
    singles = [i for members in groups.values() if len(members) < 2 for i in members]
    random = np.random.default_rng(seed)
    for members in groups.values():
        if len(members) > 1:
            order = random.permutation(members)
            # One step around the shuffled group: every original gets another one's text.
            for i, other in zip(order, np.roll(order, 1)):
                out[int(i)] = originals[int(other)].text
    for i in singles:
        others = [j for j in range(len(originals)) if j != i]
        out[i] = originals[int(random.choice(others))].text if others else None
    return out


def _notes(originals: Sequence[Original], brought: set[str], rules: bool) -> list[str]:
    notes = [f"{len(originals):,} references; a reference is what is resampled."]
    by_data = [form for form in FORMS if form in brought]
    if by_data:
        notes.append(f"From the file: {', '.join(by_data)}.")
    if rules:
        by_rule = [f for f in ("harmless", "rewording", "slip", "error", "reworded error") if f not in brought]
        base = "the file's first paraphrase" if "paraphrase" in brought else "the rewording by rule"
        notes.append(f"Made by rule: {', '.join(by_rule)}" + ("." if "reworded error" in brought else f" (in {base})."))
    if "paraphrase" not in brought and rules:
        notes.append("No paraphrases in the file: rewordings by rule stand for them, which are far closer to the text.")
    return notes


CONTROL, VISUAL, LOGIC, PARAPHRASE = "control", "visual hallucination", "logic error", "paraphrase"
"""Kinds of text in the sensitivity study of trust (PathGLS): the report itself, and its variants."""

Varied = Sequence[tuple[str, Case]]
"""A report with its variants, each a case of its own, by kind; the control comes first."""


def vary_cases(cases: Iterable[Case], seed: int) -> tuple[list[Varied], Counter[str]]:
    """Each case as a control with variants made by rule; what could not be made is counted by kind and reason."""
    varied: list[Varied] = []
    not_made = Counter[str]()
    for case in cases:
        control = case if case.references else replace(case, references=(case.candidate,))
        variants = [(CONTROL, control)]
        for kind, text in (
            (VISUAL, hallucinate(case.candidate, seed)),
            (LOGIC, change(case.candidate, "contradiction", seed)),
        ):
            if isinstance(text, NotMade):
                not_made[f"{kind}: {text.reason}"] += 1
            else:
                variants.append((kind, replace(control, id=f"{case.id}#{kind}", candidate=text)))
        varied.append(variants)
    return varied, not_made


def vary_originals(originals: Iterable[Original]) -> list[Varied]:
    """Originals as controls, with the paraphrases and contradictions that their records bring."""
    varied: list[Varied] = []
    for original in originals:
        control = Case(original.id, original.text, (original.text,))
        variants = [(CONTROL, control)]
        for k, variant in enumerate(original.variants):
            kind = PARAPHRASE if variant.form == PARAPHRASE else LOGIC if variant.kind == "contradiction" else None
            if kind is not None:
                variants.append((kind, replace(control, id=f"{original.id}#{k}", candidate=variant.text)))
        if len(variants) > 1:
            varied.append(variants)
    return varied
