"""A ledger as a person reads it in Python: a few lines of text, and a table for a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from medassay.language.ledger import Ledger, Verdict

_LISTED = 8
"""Problems that the text lists; the rest is counted."""

_LONGEST = 160
"""Characters of a quotation."""


def label(verdict: Verdict) -> str:
    """A verdict in a word as pages and tables name it: supported, wrong, unsupported, stated, missing or misstated."""
    own = verdict.of == "candidate"
    names = {
        "supported": "supported" if own else "stated",
        "contradicted": "wrong" if own else "misstated",
        "not_stated": "unsupported" if own else "missing",
    }
    return names[verdict.verdict]


def counts_text(counts: dict[str, int]) -> str:
    """The counts of a ledger in a line."""
    plural = "s" if counts["statements"] != 1 else ""
    own = f"{counts['statements']} statement{plural}: {counts['supported']} supported, "
    own += f"{counts['contradicted']} wrong, {counts['not_stated']} unsupported"
    return f"{own}; {counts['expected']} expected: {counts['missed']} missing; {counts['critical']} critical"


def ledger_text(ledger: Ledger) -> str:
    """The counts and the worst problems, each with the words that decide."""
    problems = ledger.problems()
    lines = [f"<Ledger: {counts_text(ledger.counts)}>"]
    for verdict in problems[:_LISTED]:
        lines.append(f"  {describe(verdict)}: {_short(verdict.statement.text)}")
        if quote := ledger.quote(verdict):
            lines.append(f"      {verdict.against}: “{_short(quote)}”")
    if len(problems) > _LISTED:
        lines.append(f"  and {len(problems) - _LISTED} more")
    return "\n".join(lines)


def describe(verdict: Verdict) -> str:
    """Label, kind and severity: `wrong (drug, critical)`."""
    if verdict.severity is None:
        return label(verdict)
    return f"{label(verdict)} ({verdict.check.kind}, {verdict.severity})"


def ledger_html(ledger: Ledger) -> str:
    """A table of every statement: no style sheet, no script, all text escaped."""
    rows = []
    for verdict in [*ledger.decisive(), *ledger.expected()]:
        chance = max(verdict.check.probabilities)
        cells = [verdict.of, verdict.statement.text, describe(verdict), f"{chance:.2f}", ledger.quote(verdict)]
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{name}</th>" for name in ("text", "statement", "verdict", "p", "decided by"))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f"<p>{escape(counts_text(ledger.counts))}</p>{table}"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
