"""The page in a real browser: Debian's Chromium, headless, with every outside request refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.report.sample import Given, run, sample, words_in_common

from medassay.cases import Case
from medassay.scores import Score

webdriver = pytest.importorskip("selenium.webdriver", reason="needs the extra browser (selenium)")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromium-driver"),
]

OPTIONS = (
    "--headless=new --no-sandbox --disable-gpu --disable-background-networking "
    "--disable-component-update --disable-sync --no-first-run --window-size=1400,1000"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in [*OPTIONS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    sample().report(path, title="Two systems")
    return path


class Tab:
    """The open page, in the words of the tests. ready: what is there once a case is drawn."""

    ready = ".tile"

    def __init__(self, driver: Any, path: Path, hash: str = "") -> None:
        self.driver = driver
        self.size(1400, 1000)
        # A headless window has no focus of its own; without this, focus events never come.
        driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
        driver.get("about:blank")
        driver.get(path.as_uri() + hash)
        self.until(lambda: self.js("return document.querySelector(arguments[0]) !== null", self.ready))
        self.js("document.documentElement.style.scrollBehavior = 'auto'")

    def js(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def until(self, true: Callable[[], bool]) -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, 20, 0.05).until(lambda _: true())

    def all(self, css: str) -> list[Any]:
        return list(self.driver.find_elements("css selector", css))

    def texts(self, css: str) -> list[str]:
        return [element.text for element in self.all(css)]

    def keys(self, keys: str) -> None:
        self.driver.switch_to.active_element.send_keys(keys)

    def choose(self, control: str, value: str) -> None:
        self.js(
            "const c = document.getElementById(arguments[0]); c.value = arguments[1];"
            "c.dispatchEvent(new Event('change')); c.dispatchEvent(new Event('input'))",
            control,
            value,
        )

    def show_evidence(self, metric: int) -> None:
        button = self.all(f'[data-metric="{metric}"]')[0]
        if button.get_attribute("aria-pressed") != "true":
            self.js("arguments[0].click()", button)

    def size(self, width: int, height: int, scheme: str = "light") -> None:
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)

    @property
    def title(self) -> str:
        return " / ".join([self.texts("#case-title")[0], self.texts(".case-head .chip")[0]])


@pytest.fixture
def tab(browser: Any, page: Path) -> Tab:
    return Tab(browser, page)


def marked(tab: Tab, side: str) -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map((m) => m.firstChild.data)"
    found = tab.js(script, f'.text[data-side="{side}"] mark')
    assert isinstance(found, list)
    return found


def test_hostile_text_is_shown_and_never_runs(browser: Any, page: Path) -> None:
    tab = Tab(browser, page, "#case=case%204&system=beta")
    assert "</script><script>window.pwned=1</script>" in tab.texts('.text[data-side="candidate"]')[0]
    for metric in range(3):
        tab.show_evidence(metric)
    assert tab.js("return [window.pwned ?? null, document.querySelectorAll('img').length]") == [None, 0]
    assert tab.js("return performance.getEntriesByType('resource').length") == 0
    assert browser.get_log("browser") == []


def test_an_injected_script_is_refused_by_the_policy(tab: Tab) -> None:
    tab.js("const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)")
    assert tab.js("return window.ran ?? null") is None
    tab.driver.get_log("browser")


def test_list_filters_searches_and_sorts(tab: Tab) -> None:
    assert tab.texts("#count") == ["16 of 16 cases"]
    values = [text for text in tab.texts(".row .value") if text != "unscored"]
    assert values == sorted(values) and tab.texts(".row .value")[-1] == "unscored"
    tab.choose("order", "best")
    assert tab.texts(".row .value")[0] == max(values)
    tab.choose("metric", "3")  # of "cost" less is better: best first begins with the least
    costs = [float(text) for text in tab.texts(".row .value") if text != "unscored"]
    assert costs == sorted(costs)
    tab.choose("system", "1")
    assert tab.texts("#count") == ["8 of 16 cases"]
    tab.choose("only", "unscored")
    assert tab.texts(".row b") == ["case 5"]
    tab.choose("only", "")
    tab.choose("query", "core 7")
    tab.until(lambda: tab.texts("#count") == ["1 of 16 cases"])
    assert tab.texts(".row b") == ["case 7"]


def test_keys_walk_through_cases_systems_and_evidence(tab: Tab) -> None:
    tab.choose("order", "file")
    tab.keys("j")
    first = tab.title
    tab.keys("j")
    second = tab.title
    assert first != second and "#case=" in tab.driver.current_url
    tab.keys("k")
    assert tab.title == first
    tab.keys("s")
    assert tab.title.split(" / ")[0] == first.split(" / ")[0] and tab.title != first
    before = tab.js("return document.querySelector('[aria-pressed=true]').dataset.metric")
    tab.keys("e")
    assert tab.js("return document.querySelector('[aria-pressed=true]').dataset.metric") != before
    tab.keys("/")
    assert tab.js("return document.activeElement.id") == "query"
    tab.keys("j")
    assert tab.js("return document.getElementById('query').value") == "j"
    tab.keys("\ue00c")
    assert tab.js("return document.activeElement.id") == "rows"
    tab.keys("?")
    assert tab.js("return document.getElementById('help').open") is True


def test_a_link_opens_its_case(browser: Any, page: Path) -> None:
    assert Tab(browser, page, "#case=case%206&system=beta").title == "case 6 / beta"
    assert Tab(browser, page, "#case=case%206&system=alpha").title == "case 6 / alpha"


def test_matches_are_joined_into_phrases_and_light_their_partner(browser: Any, page: Path) -> None:
    tab = Tab(browser, page, "#case=case%207&system=alpha")
    assert marked(tab, "candidate") == ["Breast tumor core 7 with clear margins seen"]
    tab.js("document.querySelector('.text[data-side=reference] mark').focus()")
    assert tab.js("return document.querySelectorAll('.text[data-side=candidate] mark.lit').length") == 1
    assert "in the candidate" in tab.texts(".info")[0]


def test_offsets_count_characters_even_after_an_emoji(browser: Any, page: Path) -> None:
    tab = Tab(browser, page, "#case=case%203&system=alpha")
    assert marked(tab, "candidate") == ["Breast tumor"]


def test_entities_show_type_status_assertion_and_partner(browser: Any, page: Path) -> None:
    tab = Tab(browser, page, "#case=case%200&system=alpha")
    tab.show_evidence(1)
    assert marked(tab, "candidate") == ["Breast", "tumor"] and marked(tab, "reference") == ["Breast", "tumor"]
    assert tab.texts(".text mark .cue") == ["missed", "absent, invented"]
    tab.js("document.querySelector('.text[data-side=candidate] mark').focus()")
    assert tab.texts(".info") == ["“Breast” · Site · present · matched · with “Breast” (similarity 0.93) · same words"]
    tab.keys("\ue014")  # right arrow: the next mark of the same text
    assert "invented" in tab.texts(".info")[0]


def test_sentences_are_numbered_listed_and_open_the_source(browser: Any, page: Path) -> None:
    tab = Tab(browser, page, "#case=case%200&system=alpha")
    tab.show_evidence(2)
    assert marked(tab, "candidate") == ["Breas"] and marked(tab, "source") == ["Given"]
    assert tab.texts(".sentences li") == [
        "candidate “Breas”\n0.125 · not supported",
        "source “Given”\n0.250 · left out",
    ]
    assert "<b>kept as data</b>" in tab.js("return document.querySelector('.evidence pre').textContent")


def test_the_reference_that_counted_is_shown_first(browser: Any, page: Path) -> None:
    tab = Tab(browser, page, "#case=case%202&system=alpha")
    assert tab.texts('.text[data-side="reference"]')[0].startswith("Breast tumor core 2")
    assert len(marked(tab, "reference")) > 0
    tab.js("const s = document.querySelector('.pane select'); s.value = '0'; s.dispatchEvent(new Event('change'))")
    assert tab.texts('.text[data-side="reference"]') == ["Breast nothing alike"] and marked(tab, "reference") == []


def test_parts_that_count_are_shown_as_counts(browser: Any, page: Path) -> None:
    tab = Tab(browser, page, "#case=case%200&system=alpha")
    assert tab.texts('[data-metric="1"] .parts span') == ["share 0.500", "missed 3"]


def test_unscored_cases_say_why(browser: Any, page: Path) -> None:
    tab = Tab(browser, page, "#case=case%201&system=alpha")
    assert "unscored: no entity in the reference" in tab.texts(".tile .why")


def test_a_metric_of_many_parts_keeps_its_tile_small(browser: Any, tmp_path: Path) -> None:
    names = ("precision", "recall", "site_recall", "grade_recall", "missed")

    def many(case: Case) -> Score:
        return Score(0.5, parts={"precision": 0.5, "recall": 0.25, "site_recall": 0.125, "missed": 3.0})

    run([Case("1", "a b", ("a c",))], Given("m", many, parts=names)).report(tmp_path / "many.html", resamples=10)
    tab = Tab(browser, tmp_path / "many.html", "#case=1")
    assert tab.texts(".tile .parts span") == ["precision 0.500", "recall 0.250", "site recall 0.125"]
    tab.js("document.querySelector('.all-parts').open = true")
    assert tab.texts(".all-parts dt") == ["precision", "recall", "site recall", "missed"]
    assert tab.texts(".all-parts dd") == ["0.500", "0.250", "0.125", "3"]


def test_a_compressed_page_opens_and_lists_only_what_is_on_view(browser: Any, tmp_path: Path) -> None:
    text = " ".join(f"w{i}" for i in range(300))
    cases = [Case(str(i), f"{i} {text}", (f"{text} {i}",)) for i in range(700)]
    run(cases, Given("m", words_in_common)).report(tmp_path / "big.html", resamples=10)
    assert '<script type="application/json" id="data">"' in (tmp_path / "big.html").read_text(encoding="utf-8")
    tab = Tab(browser, tmp_path / "big.html")
    assert tab.texts("#count") == ["700 of 700 cases"] and len(tab.all(".row")) < 40
    tab.js("document.getElementById('rows').focus()")
    tab.keys("\ue010")  # End
    assert tab.texts('.row[aria-selected="true"]') != []


# Every visible element with text of its own, against the first opaque ground behind it (WCAG 2, 1.4.3).
CONTRAST = """
const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
const rgba = (colour) => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const ground = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const colour = rgba(getComputedStyle(e).backgroundColor);
    if (colour[3] === 255) return colour;
  }
  return [255, 255, 255];
};
const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const luminance = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
const hasText = (e) => [...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
return [...document.querySelectorAll('body *')]
  .filter((e) => e.checkVisibility() && hasText(e) && !e.closest('svg'))
  .map((e) => {
    const pair = [luminance(rgba(getComputedStyle(e).color)), luminance(ground(e))].sort((x, y) => y - x);
    return [`${e.tagName}.${e.className}`, (pair[0] + 0.05) / (pair[1] + 0.05)];
  })
  .filter(([, ratio]) => ratio < 4.5);
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_enough_contrast(browser: Any, page: Path, scheme: str) -> None:
    tab = Tab(browser, page, "#case=case%200&system=alpha")
    tab.size(1400, 1000, scheme)
    for metric in range(3):
        tab.show_evidence(metric)
        assert tab.js(CONTRAST) == []


def test_the_colour_button_turns_light_to_dark_and_back(tab: Tab) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    before = tab.js(ground)
    tab.js("document.getElementById('theme').click()")
    assert tab.js(ground) != before
    tab.js("document.getElementById('theme').click()")
    assert tab.js(ground) == before


@pytest.mark.parametrize("width", [320, 390, 768, 1400])
def test_nothing_sticks_out_at_any_width(browser: Any, page: Path, width: int) -> None:
    tab = Tab(browser, page)
    tab.size(width, 844)
    assert tab.js("return document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_controls_have_names_and_focus_is_visible(tab: Tab) -> None:
    unnamed = tab.js(
        "return [...document.querySelectorAll('button, input, select, [role=listbox]')]"
        ".filter((e) => e.checkVisibility())"
        ".filter((e) => !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).length"
    )
    assert unnamed == 0
    tab.keys("\ue004")  # Tab
    assert tab.js("return document.activeElement.className") == "skip"
    assert tab.js("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
