"""The report page: one HTML file that explains a run, with no network and no outside file.

Figures are over every case of the run; texts and scores are carried for the first `CASES` cases, evidence for the
first `EXPLAINED`, within `BYTES`. Text from the case file is data only: it sits in an inert block, is drawn
as text, and a content security policy admits nothing but the page's own script and style by hash.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from medassay import __version__
from medassay.cases import Case
from medassay.engine.sinks import Sink
from medassay.files import write_text
from medassay.metrics.base import Metric
from medassay.metrics.trust import Trust
from medassay.report import charts, sections
from medassay.report.comparison_page import system_comparison
from medassay.report.payload import Block, Payload
from medassay.report.sections import Run, Section, SectionMaker, asset, content_hash, section_html
from medassay.report.trust_page import TrustView
from medassay.scores import Score
from medassay.study import ScoreColumns

if TYPE_CHECKING:
    from medassay.study.significance import Comparison
    from medassay.study.summary import Aggregate

CASES = 20_000
EXPLAINED = 2_000
BYTES = 4_600_000
"""What the carried cases may take; with charts and script the page stays under 5 MB."""

HELD_CHARACTERS = 40_000_000
"""Characters of text that are held for the page; more would not fit into it."""

_REASONS = 500
_NAME = re.compile(r"[a-z][a-z0-9-]*")


class RunLog:
    """What a page counts during a run: cases by system, reasons of cases without a number, problems of rows."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.metrics = tuple(metrics)
        self.systems: dict[str, int] = {}
        self.reasons: dict[str, dict[str, int]] = {metric.name: {} for metric in self.metrics}
        self.failures: dict[str, dict[str, int]] = {metric.name: {} for metric in self.metrics}
        self.problems: list[str] = []
        self.problem_count = 0
        self.warnings: list[str] = []

    def count(self, case: Case, scores: Mapping[str, Score]) -> None:
        """Count one case with its score on every metric."""
        self.systems[case.system or ""] = self.systems.get(case.system or "", 0) + 1
        for metric in self.metrics:
            score = scores[metric.name]
            for reason, counts in ((score.unscored, self.reasons), (score.failed, self.failures)):
                if reason is not None:
                    # Reasons can hold row-specific text; beyond some hundreds they are counted together.
                    known = counts[metric.name]
                    short = reason[:200] if reason[:200] in known or len(known) < _REASONS else "other reasons"
                    known[short] = known.get(short, 0) + 1

    def problem(self, text: str) -> None:
        """Record a row that could not be read, or another problem."""
        self.problem_count += 1
        if len(self.problems) < sections.REASONS:
            self.problems.append(text)

    def run(self, title: str, **figures: Any) -> Run:
        """The run as sections draw it; `figures` are the other fields of `Run`."""
        return Run(
            title=title,
            metrics=self.metrics,
            cases_by_system=self.systems,
            reasons=self.reasons,
            failures=self.failures,
            problems=self.problems,
            problem_count=self.problem_count,
            warnings=self.warnings,
            **figures,
        )


class PageWriter(RunLog):
    """Takes in a run case by case, in bounded memory, and writes its page at the end.

    Memory: 8 bytes per case and metric, 24 per case, and the first `limit` cases whole.

    Where trust is among the metrics, the page also shows routes, images and perturbed reports, and trust orders the
    case list.

    Args:
        metrics: The metrics of the run.
        title: The page's title.
        limit: How many cases the page carries.
        sections: Further sections, after the page's own.
    """

    def __init__(
        self,
        metrics: Sequence[Metric],
        *,
        title: str | None = None,
        limit: int = CASES,
        sections: Sequence[SectionMaker] = (),
    ) -> None:
        super().__init__(metrics)
        trust = next((metric for metric in self.metrics if isinstance(metric, Trust)), None)
        self.trust = TrustView(trust) if trust is not None else None
        self.title = title or f"medassay {'trust ' if trust else ''}report"
        self.limit = limit
        self.extra = tuple(sections)
        self.payload = Payload(self.metrics)
        self.columns = ScoreColumns(self.metrics)

    def add(self, case: Case, scores: Mapping[str, Score]) -> None:
        """Take in one case with its score on every metric."""
        self.count(case, scores)
        self.columns.add(case, scores)
        carried = len(self.payload.records) < self.limit and self.payload.size < HELD_CHARACTERS
        explained = carried and len(self.payload.records) < EXPLAINED
        if self.trust is not None:
            case, scores = self.trust.prepare(case, scores, pictures=explained)
        if carried:
            self.payload.add(case, scores, explained=explained)

    def html(
        self,
        aggregates: Sequence[Aggregate],
        comparison: Comparison | str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> str:
        """The whole page.

        Args:
            aggregates: The summary of each metric.
            comparison: Of the systems; computed here where there are several and none is given.
            settings: Seed, resamples, input …, listed in the section on provenance.
        """
        run = self.run(
            self.title,
            aggregates=aggregates,
            comparison=comparison or (self.columns.compare() if len(self.systems) > 1 else None),
            values=self.columns.values(),
            settings=settings or {},
        )
        first = [] if self.trust is None else [self.trust.routes_section]
        before = [
            sections.warnings,
            *first,
            sections.summary,
            sections.distributions,
            system_comparison,
            sections.unscored,
        ]
        drawn = [section for maker in (*before, *self.extra) if (section := maker(run)) is not None]
        block = self.payload.encode(self._head(run, drawn), BYTES)
        metrics = f"{len(run.metrics)} metric{'s' if len(run.metrics) != 1 else ''}"
        return assemble(run, drawn, block, [metrics], _REPORT_LAYOUT)

    def write(
        self,
        path: Path,
        aggregates: Sequence[Aggregate],
        comparison: Comparison | str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the page; it appears under its name only when it is whole."""
        write_text(path, self.html(aggregates, comparison, settings), errors="replace")

    def _head(self, run: Run, drawn: Sequence[Section]) -> dict[str, Any]:
        """What the script needs beside the cases."""
        metrics = []
        for metric in self.metrics:
            seen = [float(x) for system in run.systems for x in sections.edges(run.values[metric.name, system])]
            metrics.append(
                {
                    "name": metric.name,
                    "summary": metric.summary,
                    "higher": metric.higher_is_better,
                    "ends": charts.limits(metric.bounds, seen),
                    "parts": metric.parts,
                }
            )
        data = {section.name: section.data for section in drawn if section.data is not None}
        leading = next((i for i, metric in enumerate(self.metrics) if isinstance(metric, Trust)), None)
        return {"metrics": metrics, "systems": list(self.systems), "sections": data, "leading": leading}


class PageFile(Sink):
    """The page of a run as one of its sinks.

    Args:
        path: The file to write.
        metrics: The metrics of the run.
        aggregates: Returns the summary of the run; called once, after the last case.
        title: The page's title.
        settings: See `PageWriter.html`.
    """

    explained = EXPLAINED

    def __init__(
        self,
        path: Path,
        metrics: Sequence[Metric],
        aggregates: Callable[[], Sequence[Aggregate]],
        *,
        title: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.path, self.aggregates, self.settings = path, aggregates, settings
        self.writer = PageWriter(metrics, title=title)

    def add(self, case: Case, scores: Mapping[str, Score]) -> None:
        """Take in one case."""
        self.writer.add(case, scores)

    def problem(self, text: str) -> None:
        """Record a problem."""
        self.writer.problem(text)

    def remark(self, text: str) -> None:
        """Record a remark, for the top of the page."""
        self.writer.warnings.append(text)

    def finish(self) -> None:
        """Write the page."""
        self.writer.write(self.path, self.aggregates(), settings=self.settings)


def page_settings(metrics: Sequence[Metric], *, resamples: int, cluster: str, seed: int) -> dict[str, object]:
    """What the page lists beside the signatures; no path, so that the same cases give the same bytes."""
    settings: dict[str, object] = {
        "intervals": f"{resamples:,} bootstrap resamples, clustered by {cluster}",
        "seed": seed,
    }
    with_reference = [metric for metric in metrics if "reference" in metric.needs]
    return settings | ({"several references": with_reference[0].references} if with_reference else {})


def summary_html(aggregates: Sequence[Aggregate]) -> str:
    """The summary as an HTML table for a notebook: no style sheet, no script."""
    several = len({row.group for row in aggregates}) > 1
    failed = any(row.failed for row in aggregates)
    heads = ["metric", *(["group"] if several else []), "value", "95 % interval", "median", "sd", "n", "unscored"]
    heads += ["failed"] * failed
    rows = []
    for row in aggregates:
        span = 100.0 if abs(row.value) > 10 else 1.0
        low, high, *rest = (charts.number(x, span) for x in (row.low, row.high, row.median, row.sd))
        cells = [f"{row.metric} {'↑' if row.higher_is_better else '↓'}", *([row.group or "–"] if several else [])]
        cells += [charts.number(row.value, span), "–" if row.low is None else f"{low} to {high}", *rest]
        cells += [f"{row.n:,}", f"{row.unscored:,}", *([f"{row.failed:,}"] if failed else [])]
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


@dataclass(frozen=True)
class PageLayout:
    """What differs between kinds of pages.

    scripts, styles: its assets, in order. measure: what the case list calls the numbers it is ordered by.
    keys: the keyboard shortcuts and what they do.
    """

    scripts: Sequence[str]
    styles: Sequence[str]
    measure: str
    keys: Mapping[str, str]


_REPORT_LAYOUT = PageLayout(
    ("text.js", "evidence.js", "view.js", "list.js", "page.js"),
    ("page.css", "cases.css"),
    "Metric",
    {
        "j k": "next and previous case (also ↓ ↑ in the list)",
        "s": "the next case of the same item, from another system",
        "e": "the next metric with evidence",
        "← →": "from mark to mark inside a text",
        "/": "search",
        "?": "this list",
    },
)


def assemble(run: Run, drawn: Sequence[Section], block: Block, facts: Sequence[str], layout: PageLayout) -> str:
    """The whole page: its sections, the case list and view, and the data and scripts that draw them.

    Args:
        run: The figures, for the title, the case count and the section on provenance.
        drawn: The sections before the cases.
        block: The cases as data.
        facts: Shown below the title, after the number of cases and systems.
        layout: The kind of page.
    """
    last, carried = sections.provenance(run), _carried_note(run.cases, block)
    for section in drawn:
        own = section.script.lower() + section.style.lower()
        if not _NAME.fullmatch(section.name) or "</script" in own or "</style" in own:
            raise ValueError(f"section '{section.name}': bad name, or a script or style that ends its own element")
    # Sections' scripts come first: they only listen, and the page's own script then calls them.
    scripts = [section.script for section in drawn if section.script] + ["".join(map(asset, layout.scripts))]
    styles = ["".join(map(asset, layout.styles))] + [section.style for section in drawn if section.style]
    script_hashes, style_hashes = (" ".join(map(content_hash, texts)) for texts in (scripts, styles))
    policy = (
        f"default-src 'none'; script-src {script_hashes}; style-src {style_hashes}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    systems = [name for name in run.systems if name]
    shown = [f"{run.cases:,} case{'s' if run.cases != 1 else ''}"]
    shown += [f"{len(systems):,} systems"] if len(systems) > 1 else [f"system {name}" for name in systems]
    shown += [*facts, f"medassay {__version__}"]
    links = [(section.name, section.title) for section in drawn] + [("cases", "Cases"), (last.name, last.title)]
    return Template(asset("page.html")).substitute(
        policy=escape(policy, quote=True).replace("&#x27;", "'"),
        title=escape(run.title),
        facts=" · ".join(escape(fact) for fact in shown),
        styles="".join(f"<style>{style}</style>" for style in styles),
        nav="".join(f'<a href="#{name}">{escape(title)}</a>' for name, title in links),
        sections="".join(section_html(section) for section in drawn),
        last=section_html(last),
        carried=f'<p class="note">{escape(carried)}</p>' if carried else "",
        measure=layout.measure,
        keys="".join(_key_row(keys, action) for keys, action in layout.keys.items()),
        data=block.text,
        scripts="".join(f'<script type="module">{script}</script>' for script in scripts),
    )


def _key_row(keys: str, action: str) -> str:
    shown = " ".join(f"<kbd>{escape(key)}</kbd>" for key in keys.split())
    return f"<div><dt>{shown}</dt><dd>{escape(action)}</dd></div>\n"


def _carried_note(cases: int, block: Block) -> str:
    """What a page says where it does not carry every case of a run, or not with its evidence."""
    notes = []
    if block.cases < cases:
        notes.append(
            f"The figures above are over all {cases:,} cases; this page carries the first {block.cases:,} for reading."
        )
    if block.explained < block.cases:
        notes.append(f"To keep the file small, evidence is carried for the first {block.explained:,} cases.")
    return " ".join(notes)
