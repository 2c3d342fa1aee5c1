"""The page of `medassay check` in a real browser: keys, clicks, filters, many cases, narrow screens."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium.webdriver", reason="needs the extra browser (selenium)")

from tests.language.checker_double import OverlapChecker, installed
from tests.report.sample import HOSTILE
from tests.report.test_browser import CHROMIUM, DRIVER, Tab, browser

from medassay.cases import Case
from medassay.examples import load
from medassay.metrics.statement_check import StatementCheck
from medassay.report.check_page import CheckPage
from medassay.report.check_summary import CheckSummary

__all__ = ["browser"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromium-driver"),
]

CLIPPED = """return [...document.querySelectorAll(arguments[0])]
    .filter((one) => one[`scroll${arguments[1]}`] > one[`client${arguments[1]}`] + 1).length"""
"""How many of some elements hold more than they show."""

FEVER = Case(
    "fever",
    "She has fever of 39 degrees. She takes ibuprofen daily. She denies cough.",
    ("She has fever of 38 degrees. She denies cough. She has severe nausea.",),
    source="Doctor: Do you take ibuprofen daily? Patient: Yes.",
    system="alder",
    row=2,
)
PLAIN = "She came in because of pain that had begun at home on the evening before and would not go away by itself."
BAD = Case("bad", f"She has fever. {PLAIN} {HOSTILE}", (f"She has nausea. {PLAIN} {HOSTILE}",), system="alder", row=3)
EMPTY = Case("empty", "She has fever.", system="birch", row=4)


def write(path: Path, cases: list[Case]) -> Path:
    with installed(OverlapChecker()):
        metric = StatementCheck()
        scores = metric.score(cases)
    summary = CheckSummary()
    page = CheckPage(path, metric, summary)
    for case, score in zip(cases, scores):
        summary.add(case, {"check": score})
        page.add(case, {"check": score})
    page.finish()
    return path


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("check") / "page.html", [FEVER, BAD, EMPTY, *load("notes.csv")])


class CheckTab(Tab):
    """The open page of a ledger."""

    ready = ".pane"

    def now(self, css: str) -> list[str]:
        """Texts read at once: rows of the case list are drawn anew at any time."""
        return list(self.js("return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)", css))

    def lit(self) -> list[str]:
        return [self._text(mark) for mark in self.all("mark.lit")]

    def decisive(self) -> str:
        return "".join(self._text(mark) for mark in self.all("mark.decides"))

    def _text(self, mark: Any) -> str:
        return str(self.js("return arguments[0].firstChild.data", mark))


@pytest.fixture
def tab(browser: Any, page: Path) -> Iterator[CheckTab]:
    yield CheckTab(browser, page, "#case=fever&system=alder")
    assert browser.get_log("browser") == []


def test_the_worst_statement_is_chosen_with_the_words_that_decide_it(tab: CheckTab) -> None:
    assert tab.lit() == ["She has fever of 39 degrees"]
    assert tab.decisive() == "She has fever of 38 degrees."
    assert "wrong · value · critical · p 0.90" in tab.texts(".info")[0]
    assert len(tab.all(".pane")) == 3


def test_keys_walk_through_statements_and_cases(tab: CheckTab) -> None:
    tab.keys("j")
    assert tab.lit() == ["She takes ibuprofen daily"]
    assert tab.decisive() == "Doctor: Do you take ibuprofen daily?"
    assert "reference: unsupported (0.80)" in tab.texts(".info")[0]
    tab.keys("kk")
    assert tab.lit() == ["She has fever of 39 degrees"]
    tab.js("document.querySelector('.statements').focus()")
    tab.keys("\ue010")  # End
    assert tab.lit() == ["She has severe nausea"]
    assert "the candidate does not state it" in tab.texts(".info")[0]
    before = tab.texts("#case-title")
    tab.keys("n")
    assert tab.texts("#case-title") != before
    tab.keys("p")
    assert tab.texts("#case-title") == before


def test_enter_brings_the_deciding_words_into_view(tab: CheckTab) -> None:
    tab.size(390, 844)
    tab.keys("\ue007")
    tab.until(lambda: 0 < tab.js("return document.querySelector('mark.decides').getBoundingClientRect().top") < 844)


def test_a_click_on_text_flag_or_row_chooses_the_statement(tab: CheckTab) -> None:
    for css, index in (('mark[data-keys~="s2"]', 0), (".flag", 2), (".statement", 2)):
        tab.keys("k")
        tab.js("arguments[0].click()", tab.all(css)[index])
        assert tab.lit()[0] == "She denies cough"


def test_filters_show_what_is_asked_for_and_stay(tab: CheckTab) -> None:
    assert [text.split() for text in tab.texts(".filter")] == [
        ["all", "6"], ["wrong", "2"], ["unsupported", "0"], ["missing", "1"], ["!", "critical", "1"],
    ]  # fmt: skip
    tab.keys("ff")
    tab.js("document.querySelector('[data-filter=missing]').click()")
    assert [text.splitlines()[0] for text in tab.texts(".statement") if text] == ["She has severe nausea"]
    assert len([mark for mark in tab.all("mark.said") if "off" not in mark.get_attribute("class")]) == 1
    tab.keys("n")
    assert tab.all('.filter[aria-pressed="true"]')[0].get_attribute("data-filter") == "missing"


def test_the_list_is_ordered_searched_and_filtered_by_counts(tab: CheckTab) -> None:
    assert tab.texts("#count") == ["75 of 75 cases"]
    values = [int(text) for text in tab.now(".row .value") if text != "unscored"]
    assert values == sorted(values, reverse=True)
    tab.choose("only", "1")
    assert tab.texts("#count") != ["75 of 75 cases"]
    tab.choose("only", "unscored")
    assert tab.now(".row b") == ["empty"]
    tab.choose("only", "")
    tab.choose("query", "cigarettes")
    tab.until(lambda: tab.texts("#count") == ["1 of 75 cases"])


def test_a_case_that_was_not_judged_says_why(browser: Any, page: Path) -> None:
    tab = CheckTab(browser, page, "#case=empty&system=birch")
    assert "Not judged: no reference and no source" in tab.texts("#case .note")[0]


def test_hostile_text_is_shown_and_never_runs(browser: Any, page: Path) -> None:
    tab = CheckTab(browser, page, "#case=bad&system=alder")
    assert "</script><script>window.pwned=1</script>" in tab.texts('.text[data-side="candidate"]')[0]
    assert tab.js("return [window.pwned ?? null, document.querySelectorAll('img').length]") == [None, 0]
    assert tab.js("return performance.getEntriesByType('resource').length") == 0
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [1400, 820, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_sideways_scrolling(tab: CheckTab, width: int, scheme: str) -> None:
    tab.size(width, 844, scheme)
    assert tab.js("return document.documentElement.scrollWidth <= innerWidth")
    assert tab.js(CLIPPED, ".pane, .info, .statement", "Width") == 0


def test_flags_stand_beside_their_statements(tab: CheckTab) -> None:
    script = """return [...document.querySelectorAll('.text[data-side="reference"] .flag')].map((flag) => {
      const mark = document.querySelector(`mark[data-keys~="${flag.dataset.key}"]`);
      return Math.abs(flag.offsetTop - mark.offsetTop); })"""
    assert max(tab.js(script)) < 30


def test_print_shows_all_texts_and_statements(tab: CheckTab) -> None:
    tab.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not tab.all(".filters")[0].is_displayed()
    assert tab.js(CLIPPED, ".pane-body, .statements", "Height") == 0
    tab.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_thousand_cases_and_a_long_text_stay_usable(browser: Any, tmp_path: Path) -> None:
    long = " ".join(f"On day {i} she has fever{i} and pain{i}." for i in range(300))
    notes = load("notes.csv")
    cases = [Case("long", long, (long,), row=0)]
    cases += [
        Case(f"n{i}", case.candidate, case.references, case.source, system=case.system, row=i)
        for i in range(1, 1000)
        for case in [notes[i % len(notes)]]
    ]
    path = write(tmp_path / "many.html", cases)
    assert path.stat().st_size < 5_000_000
    start = time.monotonic()
    tab = CheckTab(browser, path, "#case=long")
    assert len(tab.all(".statement")) >= 1200
    tab.keys("jjj")
    tab.keys("n")
    assert time.monotonic() - start < 20
    assert len(tab.all(".row")) < 60
