"""Pages of many systems, metrics, columns and rows, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium.webdriver", reason="needs the extra browser (selenium)")

from tests.report.sample import Given, run, words_in_common
from tests.report.test_browser import CHROMIUM, CONTRAST, DRIVER, Tab, browser

from medassay.cases import Case
from medassay.report.comparison_files import write_comparison
from medassay.scores import Score
from medassay.study import Comparison, ScoreColumns

__all__ = ["browser"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromium-driver"),
]

ITEMS, METRICS = 12, 14
SIDEWAYS = """return [document.documentElement, ...document.querySelectorAll('body *')]
    .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1)
    .filter((one) => one === document.documentElement || /auto|scroll/.test(getComputedStyle(one).overflowX))
    .map((one) => `${one.tagName}.${one.className}`)"""
"""What can be scrolled sideways: the page, or a box in it."""


def name_of(system: int) -> str:
    return f"{'abcdefghij'[system]}_{'very_long_name_without_a_space_' * 2}{system}"


def cases_of(systems: int) -> list[Case]:
    """Every item from every system, under ids that no two rows share."""
    cases: list[Case] = []
    for item in range(ITEMS):
        for system in range(systems):
            words = [f"w{item}", "tumour", "is", "seen", "in", "the", "left", "breast", "core"]
            extra = {"ward": ["north", "north-east"][item % 2], "human_score": f"{system % 5}", "age": f"{30 + item}"}
            text = " ".join(words[: len(words) - (system + item) % 7])
            row = len(cases) + 2
            cases.append(Case(f"{row}", text, (" ".join(words),), system=name_of(system), extra=extra, row=row))
    return cases


def metric(number: int) -> Given:
    """The even ones have evidence, and the odd ones prefer the systems in the opposite order."""

    def backwards(case: Case) -> Score:
        return Score(1 - (words_in_common(case).value or 0) / 2)

    if number % 2:
        return Given(f"backwards({number=})".replace("'", ""), backwards)
    return Given(f"overlap({number=})", words_in_common, parts=("precision",))


def compared(systems: int) -> Comparison:
    result = run(cases_of(systems), *map(metric, range(METRICS)))
    columns = ScoreColumns(result.metrics)
    for i, case in enumerate(result.cases):
        columns.add(case, {name: scores[i] for name, scores in result.scores.items()})
    comparison = columns.compare()
    assert isinstance(comparison, Comparison)
    return comparison


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    folder = tmp_path_factory.mktemp("many")
    paths = {systems: folder / f"report{systems}.html" for systems in (2, 6, 10)}
    for systems, path in paths.items():
        run(cases_of(systems), *map(metric, range(METRICS))).report(path, resamples=50)
    return paths


class ManyTab(Tab):
    """The open page of many systems."""

    def texts(self, css: str) -> list[str]:
        """Texts read at once: rows of the case list are drawn anew at any time."""
        return list(self.js("return [...document.querySelectorAll(arguments[0])].map((one) => one.innerText)", css))

    def rows(self) -> list[str]:
        return self.texts(".row b")

    @property
    def case(self) -> str:
        return self.texts("#case-title")[0]

    @property
    def selected(self) -> list[str]:
        return self.texts('.row[aria-selected="true"] b')

    @property
    def pressed(self) -> list[str]:
        return [tile.get_attribute("data-metric") for tile in self.all('.tile[aria-pressed="true"]')]


@pytest.fixture
def tab(browser: Any, pages: dict[int, Path]) -> ManyTab:
    return ManyTab(browser, pages[10])


@pytest.mark.parametrize("systems", [2, 6, 10])
@pytest.mark.parametrize("width", [390, 820, 1400])
def test_long_names_stay_short_and_nothing_scrolls_sideways(
    browser: Any, pages: dict[int, Path], systems: int, width: int
) -> None:
    tab = Tab(browser, pages[systems])
    tab.size(width, 844)
    assert tab.js(SIDEWAYS) == []
    assert tab.js("return document.documentElement.scrollHeight") < 20_000
    tallest = "return Math.max(...[...document.querySelectorAll('.system')].map((one) => one.offsetHeight))"
    assert tab.js(tallest) < 6 * 24  # 60 characters take a few lines, not one each


@pytest.mark.parametrize("width", [390, 820, 1400])
def test_the_page_of_a_comparison_scrolls_downwards_only(browser: Any, tmp_path: Path, width: int) -> None:
    write_comparison(tmp_path / "comparison.html", compared(10))

    class Static(Tab):
        ready = ".matrix"

    tab = Static(browser, tmp_path / "comparison.html")
    tab.size(width, 844)
    assert tab.js(SIDEWAYS) == []
    assert tab.js("return document.documentElement.scrollHeight") < 12_000


@pytest.mark.parametrize("width", [390, 1400])
def test_the_texts_stay_in_view_under_fourteen_metrics(tab: ManyTab, width: int) -> None:
    top = "return document.querySelector('.panes').offsetTop - document.getElementById('case').offsetTop"
    tab.size(width, 844)
    assert tab.js(top) < 844 / 2
    tab.js("document.querySelector('.unfold').click()")
    assert tab.js("return document.querySelectorAll('.tile').length") == METRICS + 1
    assert tab.js("return [...document.querySelectorAll('.tile .bar')].every((one) => one.checkVisibility())")
    assert tab.js("return document.activeElement.className") == "unfold"
    tab.js("document.querySelector('.unfold').click()")
    assert tab.js(top) < 844 / 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_folds_chips_and_columns_have_enough_contrast(tab: ManyTab, scheme: str) -> None:
    tab.size(1400, 1000, scheme)
    assert tab.js(CONTRAST) == []


def test_metric_list_reader_and_evidence_are_in_step(tab: ManyTab) -> None:
    assert tab.pressed == ["0"] and tab.all(".text mark")
    tab.choose("metric", "3")
    assert tab.pressed == ["3"] and tab.all(".text mark") == []  # it has no evidence
    assert tab.selected == [tab.case] == tab.rows()[:1]
    before = tab.case
    tab.js("document.querySelector('[data-metric=\"2\"]').click()")
    assert tab.pressed == ["2"] and tab.js("return document.getElementById('metric').value") == "2"
    assert tab.case == before and tab.selected == [before] and tab.all(".text mark")
    value = tab.js("return document.querySelector('.row[aria-selected=true] .value').textContent")
    assert tab.texts('.tile[data-metric="2"] .value') == [value]
    tab.js("document.querySelector('[data-metric=\"2\"]').click()")
    assert tab.pressed == ["2"] and tab.all(".text mark") == []
    tab.keys("e")
    assert tab.pressed == ["4"] and tab.all(".text mark")


def test_order_and_search_take_the_reader_along(tab: ManyTab) -> None:
    tab.choose("order", "best")
    assert tab.selected == [tab.case] == tab.rows()[:1]
    tab.choose("query", "w7 j_very")
    tab.until(lambda: tab.texts("#count") == ["1 of 120 cases"])
    assert tab.rows() == [tab.case] == tab.selected
    found = tab.case
    tab.choose("query", "w7")
    tab.until(lambda: tab.texts("#count") == ["10 of 120 cases"])
    assert tab.case == found  # it is still listed
    tab.choose("query", "no such word")
    tab.until(lambda: tab.texts("#count") == ["0 of 120 cases"])
    assert tab.texts("#case") == ["No case matches the search and the filters."]
    tab.choose("query", "")
    tab.until(lambda: tab.texts("#count") == ["120 of 120 cases"])
    assert tab.selected == [tab.case] == [found]


def test_every_carried_column_orders_and_filters(tab: ManyTab) -> None:
    column = {
        option.get_attribute("textContent"): option.get_attribute("value") for option in tab.all("#column option")
    }
    assert list(column) == ["no column", "ward", "human_score", "age"]

    def kept(name: str, value: str) -> str:
        tab.choose("column", column[name])
        tab.choose("value", value)
        tab.js("document.getElementById('order').dispatchEvent(new Event('change'))")
        return tab.texts("#count")[0]

    assert kept("ward", "north") == "60 of 120 cases"  # one of the values listed: not "north-east"
    assert kept("ward", "north-") == "60 of 120 cases"
    assert kept("ward", "NORTH-E") == "60 of 120 cases"
    assert kept("ward", "= nor") == "0 of 120 cases"
    assert kept("age", ">= 40") == "20 of 120 cases"
    assert kept("age", "<31") == "10 of 120 cases"
    assert kept("age", "") == "120 of 120 cases"
    tab.choose("metric", column["age"])
    tab.choose("order", "best")
    assert tab.texts("#order option")[:2] == ["lowest first", "highest first"]
    assert tab.texts(".row .value")[0] == "41" and tab.pressed == [column["age"]]
    tab.choose("metric", column["ward"])
    assert tab.texts(".row .value")[0] == "north-east"


def test_what_people_said_stands_beside_the_metrics(tab: ManyTab) -> None:
    assert tab.texts(".tile.human .name") == ["human_score"]
    system = tab.js("return document.querySelector('.case-head .chip').title")
    assert tab.texts(".tile.human .value") == [str("abcdefghij".index(system[0]) % 5)]


def test_rows_of_one_reference_are_linked_whatever_their_ids(browser: Any, pages: dict[int, Path]) -> None:
    two = ManyTab(browser, pages[2], "#case=2")
    assert two.texts(".also button") != [] and "same reference" in two.texts(".also")[0]
    two.js("document.querySelector('.also button').click()")
    assert two.case == "3"
    two.keys("s")
    assert two.case == "2"
    ten = ManyTab(browser, pages[10], "#case=5")
    assert "4 of 10 of this reference" in ten.texts(".also")[0]
    ten.choose("others", "9")
    assert ten.case == "11" and ten.selected == ["11"]
    assert "furthest apart" in ten.texts("#order")[0]


def test_rows_that_share_an_id_are_linked_by_it_alone(browser: Any, tmp_path: Path) -> None:
    cases = [Case(f"{i // 2}", "a b", ("the same words",), system="xy"[i % 2]) for i in range(8)]
    run(cases, Given("m", words_in_common)).report(tmp_path / "same.html", resamples=10)
    tab = ManyTab(browser, tmp_path / "same.html", "#case=1")
    assert len(tab.all(".also button")) == 1 and "also from" in tab.texts(".also")[0]


def test_twenty_thousand_rows_are_listed_in_a_small_document(browser: Any, tmp_path: Path) -> None:
    cases = [Case(str(i), f"text {i}", (f"text {i // 2}",), system="ab"[i % 2]) for i in range(20_000)]
    run(cases, Given("m", words_in_common)).report(tmp_path / "large.html", resamples=10)
    tab = ManyTab(browser, tmp_path / "large.html")
    assert tab.texts("#count") == ["20,000 of 20,000 cases"]
    tab.choose("order", "file")
    tab.js("document.getElementById('rows').focus()")
    tab.keys("\ue010")  # End
    assert tab.case == "19999" and "same reference" in tab.texts(".also")[0]
    assert len(tab.all(".row")) < 40 and tab.js("return document.querySelectorAll('*').length") < 600
    tab.choose("query", "text 12341")
    tab.until(lambda: tab.texts("#count") == ["1 of 20,000 cases"])
    assert tab.case == "12341"
    assert "evidence is carried for the first 2,000 cases" in tab.texts("#cases .note")[0]
