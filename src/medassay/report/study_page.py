"""The page of a study: sections without cases, with the style and content security policy of the report page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from medassay import __version__
from medassay.files import write_text
from medassay.report.sections import Section, asset, content_hash, section_html, table
from medassay.study import Estimate

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
{styles}
</head>
<body>
<header class="top"><div><h1>{title}</h1><p class="facts-line">{facts}</p></div></header>
<nav aria-label="Sections">{nav}</nav>
<main>
{sections}</main>
<footer><p>For research and quality assurance, not for clinical decisions.</p></footer>
</body>
</html>
"""


def study_html(title: str, facts: Sequence[str], sections: Sequence[Section]) -> str:
    """The whole page; no script, no network, nothing but the style sheets inside it."""
    styles = [asset("page.css"), *dict.fromkeys(section.style for section in sections if section.style)]
    policy = f"default-src 'none'; style-src {' '.join(map(content_hash, styles))}; base-uri 'none'; form-action 'none'"
    return _PAGE.format(
        policy=policy,
        title=escape(title),
        facts=" · ".join(escape(fact) for fact in [*facts, f"medassay {__version__}"]),
        styles="".join(f"<style>{style}</style>" for style in styles),
        nav="".join(f'<a href="#{section.name}">{escape(section.title)}</a>' for section in sections),
        sections="".join(section_html(section) for section in sections),
    )


def write_study(path: Path, title: str, facts: Sequence[str], sections: Sequence[Section]) -> None:
    """Write the page; it appears under its name only when it is whole."""
    write_text(path, study_html(title, facts, sections), errors="replace")


HEAT = "\n".join(
    f".heat .p{step} {{ background: color-mix(in srgb, var(--c0) {step * 6}%, var(--panel)); }}"
    f".heat .n{step} {{ background: color-mix(in srgb, var(--c1) {step * 6}%, var(--panel)); }}"
    for step in range(11)
) + (
    "\n.heat { width: auto; } .heat th, .heat td { padding: 0.4rem 0.8rem !important; border: 1px solid var(--rule); }"
    "\n.heat td { text-align: right; white-space: nowrap; } .heat thead th { text-align: right; }"
    "\n.heat thead th:first-child { text-align: left; } .heat tbody th { font-weight: 650; }"
    "\n.heat small { display: block; opacity: 0.8; }"
    "\n.heat .best { outline: 2px solid var(--ink); outline-offset: -2px; }"
)
"""The style of a table whose cells are shaded: `p0` … `p10` for good, `n0` … `n10` for bad."""


def shade(value: float) -> str:
    """The class of a value from −1 (bad) to 1 (good)."""
    return f"{'p' if value >= 0 else 'n'}{min(10, round(abs(value) * 10))}"


def minus(text: str) -> str:
    """A number's text with a typographic minus."""
    return text.replace("-", "−")


def shaded_cell(
    estimate: Estimate, good: float, digits: int = 2, ends: int = 2, *, css: str = "", title: str = "", more: str = ""
) -> str:
    """A table cell with an estimate and its interval; a dash where there is no number.

    Args:
        estimate: what is shown.
        good: its shade, from −1 (bad) to 1.
        digits: decimals of the value.
        ends: decimals of the interval.
        css: a further class.
        title: shown on hovering.
        more: markup below the interval.
    """
    if not estimate.known:
        return "<td>–</td>"
    extent = ""
    if estimate.low is not None and estimate.high is not None:
        extent = f"<small>{minus(f'{estimate.low:.{ends}f}')} to {minus(f'{estimate.high:.{ends}f}')}</small>"
    kind = f"{shade(good)} {css}".rstrip()
    hint = f' title="{escape(title)}"' if title else ""
    return f'<td class="{kind}"{hint}>{minus(f"{estimate.value:.{digits}f}")}{extent}{more}</td>'


def provenance_section(notes: Sequence[str], signatures: Mapping[str, str]) -> Section:
    """What a reader must know, and the signatures of the metrics."""
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td><code>{escape(text)}</code></td></tr>'
        for name, text in signatures.items()
    )
    signed = table("plain made", {"Metric": "", "Signature": ""}, f"<tbody>{rows}</tbody>") if rows else ""
    return Section("made", "How it was made", f'<ul class="note notes">{listed}</ul>{signed}')
