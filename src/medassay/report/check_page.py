"""The page of `medassay check`: texts side by side, each statement with its verdict and the words that decide it.

One HTML file that needs no network, assembled like the report page (`report/page.py`) and with the same case list.
A statement's verdict is shown by colour, by shape and in words. Text from the case file is data only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from medassay.cases import Case
from medassay.engine.sinks import Sink
from medassay.files import write_text
from medassay.language.ledger import CANDIDATE, REFERENCE, SOURCE, Ledger, Verdict
from medassay.metrics.statement_check import StatementCheck
from medassay.report import sections
from medassay.report.charts import limits
from medassay.report.check_summary import CheckSummary, GroupCounts, ledger_of
from medassay.report.page import BYTES, EXPLAINED, PageLayout, RunLog, assemble
from medassay.report.payload import Payload, case_record, clean
from medassay.report.sections import Section, system_name, table
from medassay.scores import Score
from medassay.spans import VERDICTS

SIDES = (CANDIDATE, REFERENCE, SOURCE)
KINDS = 12
"""Kinds of problems that the summary lists."""

_ORDERED_BY = {
    "problems": "statements that are wrong, unsupported or missing",
    "wrong": "statements that reference or source contradict",
    "unsupported": "statements of which neither says anything",
    "missing": "expected statements that the candidate does not make",
    "critical": "problems that are clinically critical",
}
"""The counts that the case list can be ordered by."""

_LAYOUT = PageLayout(
    ("text.js", "ledger.js", "list.js", "page.js"),
    ("page.css", "cases.css", "ledger.css"),
    "Count",
    {
        "j k": "next and previous statement (also ↓ ↑ in the list of statements)",
        "Enter": "to the words that decide it",
        "n p": "next and previous case (also ↓ ↑ in the case list)",
        "s": "the same case from the next system",
        "f": "the next filter: wrong, unsupported, missing, critical, all",
        "/": "search",
        "?": "this list",
    },
)
_BARS = (
    ("Statements of the candidate", "statements", ("supported", "not_stated", "contradicted")),
    ("Expected statements", "expected", ("stated", "missed", "misstated")),
)
_PATTERNS = (
    '<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>'
    '<pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6"/>'
    '<path d="M-1 7 7 -1M-1 1 1 -1M5 7 7 5"/></pattern>'
    '<pattern id="dotted" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6"/>'
    '<circle cx="3" cy="3" r="1.6"/></pattern></defs></svg>'
)
"""Fills that tell the bars apart without colour."""
_WORDS = {
    "supported": "supported",
    "not_stated": "unsupported",
    "contradicted": "wrong",
    "stated": "stated",
    "missed": "missing",
    "misstated": "misstated",
}


class CheckPage(Sink):
    """The page as one of the sinks of a run.

    Args:
        path: The file to write.
        metric: The metric that checks the statements.
        summary: The counts of the same run, a sink that comes before this one.
    """

    explained = EXPLAINED

    def __init__(self, path: Path, metric: StatementCheck, summary: CheckSummary) -> None:
        self.path, self.metric, self.summary = path, metric, summary
        self.payload = Payload(())
        self.log = RunLog((metric,))
        self.most = [0] * len(_ORDERED_BY)

    def add(self, case: Case, scores: Mapping[str, Score]) -> None:
        """Take in one case; the first `EXPLAINED` are carried."""
        self.log.count(case, scores)
        score = scores[self.metric.name]
        if len(self.payload.records) >= EXPLAINED:
            return
        record = case_record(case)
        ledger = ledger_of(case, score)
        if ledger is None:
            record |= {"v": [None] * len(_ORDERED_BY), "u": {0: clean(score.unscored or score.failed or "")[:500]}}
        else:
            counts = ledger.counts
            record["v"] = [
                int(score.value or 0),
                *map(counts.get, ("contradicted", "not_stated", "missed", "critical")),
            ]
            self.most = [max(pair) for pair in zip(self.most, record["v"])]
            record["e"] = {0: packed(ledger, int(score.evidence.get("reference", 0)))}
        self.payload.records.append(record)

    def problem(self, text: str) -> None:
        """Record a row that could not be read, or another problem."""
        self.log.problem(text)

    def finish(self) -> None:
        """Write the page."""
        write_text(self.path, self.html(), errors="replace")

    def html(self) -> str:
        """The whole page."""
        settings = {"checker": self.metric.model_name}
        run = self.log.run("medassay check", aggregates=(), comparison=None, values={}, settings=settings)
        drawn = [_summary(self.summary), *filter(None, [_kinds(self.summary), sections.unscored(run)])]
        counts = [
            {"name": name, "summary": about, "higher": False, "ends": limits((0.0, None), [most]), "parts": []}
            | {"whole": True}
            for (name, about), most in zip(_ORDERED_BY.items(), self.most)
        ]
        head = {"metrics": counts, "systems": list(self.log.systems), "sections": {}, "leading": 0}
        block = self.payload.encode(head, BYTES)
        statements = sum(group.counts["statements"] for group in self.summary.groups.values())
        facts = [f"{statements:,} statements"]
        return assemble(run, drawn, block, facts, _LAYOUT)


def packed(ledger: Ledger, reference: int) -> dict[str, Any]:
    """A ledger as the page's script reads it: the verdict that counts of each statement, as a short list.

    Each is [of, start, end, text, against, verdict, probabilities, start, end of the deciding words, kind, critical],
    then the candidate's verdict against the other text where there are two.
    """
    rows = []
    for verdict, group in zip(ledger.decisive(), ledger.candidate()):
        others = [other for other in group if other.against != verdict.against]
        rows.append(_row(verdict) + [_row(other)[4:] for other in others])
    rows += map(_row, ledger.expected())
    return {"s": rows, "reference": reference, **({"cut": list(ledger.cut)} if ledger.cut else {})}


def _row(verdict: Verdict) -> list[Any]:
    statement, by = verdict.statement, verdict.by or (0, 0)
    return [
        SIDES.index(verdict.of),
        statement.start,
        statement.end,
        clean(statement.text),
        SIDES.index(verdict.against),
        VERDICTS.index(verdict.verdict),
        [round(chance, 2) for chance in verdict.check.probabilities],
        *by,
        "" if verdict.severity is None else verdict.check.kind,
        int(verdict.severity == "critical"),
    ]


def _summary(summary: CheckSummary) -> Section:
    """Counts of every group, drawn as bars."""
    bodies = []
    for i, (name, group) in enumerate(summary.groups.items()):
        stated = group.counts["expected"] - group.counts["missed"] - group.counts["misstated"]
        counts = {**group.counts, "stated": stated}
        several = len(summary.groups) > 1
        shown = system_name(name or "none", {}, i + 1) if several else escape(name or "all cases")
        cells = [f'<th scope="row">{shown}</th><td class="num">{group.cases:,}</td>']
        cells += [_bar_cell(counts, whole, parts, title) for title, whole, parts in _BARS]
        cells.append(f'<td class="num value">{group.counts["critical"]:,}</td>')
        bodies.append(f"<tr>{''.join(cells)}</tr>")
    columns = {escape(summary.by.capitalize()): "", "Cases": "num", **{title: "bars" for title, _, _ in _BARS}}
    columns["Critical"] = "num"
    note = (
        '<p class="note">A statement of the candidate is supported, wrong (contradicted) or unsupported (nothing is '
        "said of it) by reference and source together. Expected are the statements of the reference or, without one, "
        "of the source; missing are those that the candidate does not state. Verdicts are a model’s.</p>"
    )
    drawn = table("ledger", columns, f"<tbody>{''.join(bodies)}</tbody>")
    return Section("summary", "Summary", _PATTERNS + drawn + note)


def _bar_cell(counts: Mapping[str, int], whole: str, parts: Sequence[str], title: str) -> str:
    """A bar of shares, with the same numbers in words below it."""
    total = counts.get(whole, 0)
    if not total:
        return f'<td class="bars" data-title="{title}">none</td>'
    pieces, at = [], 0.0
    for part in parts:
        width = 100 * counts.get(part, 0) / total
        pieces.append(f'<rect class="v-{part}" x="{at:.2f}%" width="{width:.2f}%" height="100%"/>')
        at += width
    words = [
        f'<span><i class="sign v-{part}"></i>{_WORDS[part]} {counts.get(part, 0):,} '
        f"({100 * counts.get(part, 0) / total:.0f} %)</span>"
        for part in parts
    ]
    picture = f'<svg class="shares" role="img" aria-label="{title}: {total:,}">{"".join(pieces)}</svg>'
    return f'<td class="bars" data-title="{title}">{picture}<span class="shares-words">{"".join(words)}</span></td>'


def _kinds(summary: CheckSummary) -> Section | None:
    """What the problems are about, by group."""
    total = sum((group.kinds for group in summary.groups.values()), start=GroupCounts().kinds)
    if not total:
        return None
    several = len(summary.groups) > 1
    listed = sorted(total, key=lambda pair: (-total[pair], pair))[:KINDS]
    rows = []
    for label, kind in listed:
        cells = [f'<th scope="row">{escape(label)}: {escape(kind)}</th>']
        if several:
            cells += [f'<td class="num">{group.kinds[label, kind]:,}</td>' for group in summary.groups.values()]
        rows.append(f'<tr>{"".join(cells)}<td class="num">{total[label, kind]:,}</td></tr>')
    # Names of any length would not fit: the numbers are those of the summary.
    names = [f'<span class="unseen">{escape(name or "none")}</span>{i}' for i, name in enumerate(summary.groups, 1)]
    columns = {"Problem": "", **(dict.fromkeys(names, "num") if several else {}), "All": "num"}
    more = len(total) - len(listed)
    note = f'<p class="note">The {KINDS} most frequent; {more} more kinds are in the cases.</p>' if more > 0 else ""
    return Section("kinds", "Kinds", table("plain snug", columns, f"<tbody>{''.join(rows)}</tbody>") + note)
