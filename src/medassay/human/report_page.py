"""The report page of a study: human scores as a metric's, and agreement as a section of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from medassay.cases import Case
from medassay.human.plan import Unit
from medassay.human.ratings import Key, Ratings, mean
from medassay.human.tables import AgreementRow, Effect, SystemRow, choice_shares, default_columns
from medassay.human.terminal import EFFECT_NOTE, NOTE, alpha_cells, choice_cells, effect_cells, format_f1, format_number
from medassay.metrics.base import Metric
from medassay.result import Result
from medassay.scores import Score


class HumanScore(Metric):
    """What people gave a text on one score: the mean over annotators, or the coordinator's decision.

    Undefined where nobody judged the text, or where there was no fact to divide by.
    """

    summary = "people's judgement, averaged over annotators"
    defined = "docs/human"
    needs = frozenset()

    def __init__(self, protocol: str, column: str, values: Mapping[Key, float | None]) -> None:
        super().__init__()
        self.name = column
        self.protocol = protocol
        self.values = values
        self.higher_is_better = not column.endswith("_rate")
        # Expert scores go to 5, error phrases a word have no upper end in principle.
        open_end = protocol == "key-phrases"
        self.bounds = (0.0, 5.0 if column == "expert_score" else None if open_end else 1.0)

    def settings(self) -> Mapping[str, object]:
        """The protocol; the annotators are named in the page's own section."""
        return {"people": self.protocol}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        """The stored judgement of each text."""
        given = [self.values.get(case.key) for case in cases]
        return [Score.none("not judged, or nothing to divide by") if v is None else Score(v) for v in given]


def human_result(ratings: Ratings, units: Sequence[Unit] = ()) -> Result:
    """People's scores in the form of a finished run; `units` give the texts, where they are at hand."""
    texts = {(unit.case_id, item.system): (unit, item) for unit in units for item in unit.items}
    cases = []
    for key, rows in ratings.by_key.items():
        opinions = [row.values for row in rows]
        unit, item = texts.get(key, (None, None))
        counts = {q.name: mean(o.get(q.name) for o in opinions) for q in ratings.protocol.questions if q.is_count}
        cases.append(
            Case(
                id=key[0],
                candidate=item.candidate if item else "",
                references=(unit.reference,) if unit and unit.reference else (),
                source=unit.source or None if unit else None,
                system=key[1] or None,
                extra={**counts, "annotators": len(opinions)},
            )
        )
    final = {key: ratings.final(key).values for key in ratings.by_key}
    metrics = [
        HumanScore(ratings.protocol.name, column, {key: values.get(column) for key, values in final.items()})
        for column in default_columns(ratings)
    ]
    return Result(cases, metrics, {metric.name: metric.score(cases) for metric in metrics})


def agreement_html(
    ratings: Ratings, rows: Sequence[AgreementRow], systems: Sequence[SystemRow], effects: Sequence[Effect] = ()
) -> str:
    """The tables as HTML; every name in them is escaped."""
    pairs = list(rows[0].pairs) if rows else []
    heads = ["alpha", "95 %", "items", "ICC", *("–".join(pair) for pair in pairs), "κ", "F1 (0 · 1 · 2)", "r"]
    parts = [f"<p>{escape(NOTE)}</p>"]
    for raw, title in ((True, "Raw answers"), (False, "Derived scores")):
        body = []
        for row in rows:
            if row.raw != raw:
                continue
            cells = [*alpha_cells(row.alpha), format_number(row.icc)]
            cells += [format_number(row.pairs[pair]) for pair in pairs]
            cells += [format_number(row.kappa), format_f1(row), format_number(row.pearson)]
            body.append((f"{row.column}, per case" if row.unit == "case" else row.column, cells))
            if row.per_text is not None:
                body.append(("per text", alpha_cells(row.per_text)))
        parts.append(_table(title, ["", *heads], body))
    listed = [
        (row.system or "all texts", [row.column, *map(format_number, (*row.by_annotator.values(), row.average))])
        for row in systems
    ]
    shares = [(row.column, choice_cells(row)) for row in choice_shares(ratings)]
    if shares:
        parts.append(_table("Answers with choices", ["", "answer", "share", "all agree"], shares))
    parts.append(_table("Means by system", ["system", "score", *ratings.annotators, "average"], listed))
    if effects:
        heads = ["", "with", "without", "difference", "95 %", "n"]
        parts.append(_table("Machine's draft", heads, [(row.column, effect_cells(row)) for row in effects]))
        parts.append(f"<p>{escape(EFFECT_NOTE)}</p>")
    return "".join(parts)


def _table(caption: str, heads: Sequence[str], body: Sequence[tuple[str, Sequence[str]]]) -> str:
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'
        for name, cells in body
    )
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>"


def write_page(
    ratings: Ratings,
    rows: Sequence[AgreementRow],
    systems: Sequence[SystemRow],
    path: Path,
    *,
    title: str,
    units: Sequence[Unit] = (),
    effects: Sequence[Effect] = (),
) -> None:
    """A report page of the study: people's scores by system, agreement, and every text with its scores."""
    from medassay.report import PageWriter, Section

    result = human_result(ratings, units)
    section = Section("people", "People", agreement_html(ratings, rows, systems, effects))
    page = PageWriter(result.metrics, title=title, sections=[lambda _run: section])
    for i, case in enumerate(result.cases):
        page.add(case, {metric.name: result.scores[metric.name][i] for metric in result.metrics})
    # Without texts there is no reference to cluster by; each text then stands for itself.
    cluster = "reference" if units else "none"
    aggregates = result.summary("system" if len(ratings.systems) > 1 else None, cluster=cluster)
    page.write(path, aggregates, settings={"annotators": ", ".join(ratings.annotators)})
