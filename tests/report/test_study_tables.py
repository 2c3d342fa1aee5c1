"""Tables of studies: in the terminal, on a page, in Markdown and in LaTeX."""

from __future__ import annotations

import io

from medassay.report.study_tables import latex_table, markdown_table, print_study, study_section
from medassay.report.terminal import plain_console
from medassay.study import Estimate, Table

TABLE = Table(
    "rates",
    "Rates",
    [
        {"metric": "a|b", "rate": Estimate(0.5, 0.41, 0.62), "share %": 12.34, "n": 1200},
        {"metric": "<c>", "rate": None, "share %": 0.0},
    ],
    ["Over <all> cases."],
    frozenset({"share %"}),
)


def test_the_terminal_aligns_words_left_and_numbers_right() -> None:
    stream = io.StringIO()
    print_study(plain_console(stream), TABLE)
    lines = stream.getvalue().splitlines()
    assert lines[0].strip() == "Rates" and lines[-1].strip() == "Over <all> cases."
    assert lines[3].split() == ["a|b", "0.500", "[0.410,", "0.620]", "12.3", "1,200"]
    assert lines[4].split() == ["<c>", "–", "0.0", "–"]
    assert lines[3].startswith("a|b") and lines[3].rstrip().endswith("1,200")


def test_a_page_escapes_every_text() -> None:
    section = study_section(TABLE)
    assert (section.name, section.title) == ("rates", "Rates")
    assert "&lt;c&gt;" in section.html and "<c>" not in section.html and "Over &lt;all&gt; cases." in section.html
    assert section.html.count('class="num">') == 3 + 6, "three headings, two rows of three numbers"


def test_markdown_keeps_its_cells_apart() -> None:
    lines = markdown_table(TABLE).splitlines()
    assert lines[2:5] == ["| metric | rate | share % | n |", "|---|---|---|---|", lines[4]]
    assert lines[4] == "| a\\|b | 0.500 [0.410, 0.620] | 12.3 | 1,200 |"
    assert lines[5].startswith("| &lt;c> |")


def test_latex_runs_no_command_of_a_name() -> None:
    text = latex_table(TABLE)
    assert r"\begin{tabular}{lrrr}" in text
    assert r"a|b & 0.500 {[}0.410, 0.620] & 12.3 & 1,200 \\" in text
    assert r"share \%" in text and r"\textless{}c\textgreater{}" in text
