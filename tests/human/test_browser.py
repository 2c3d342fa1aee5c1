"""The annotation pages in a real browser: Debian's Chromium, headless, from the link to the export."""

from __future__ import annotations

import pytest

pytest.importorskip("selenium.webdriver", reason="needs the extra browser (selenium)")

from tests.human.browser import CHROMIUM, DRIVER, HOSTILE, ROWS, Page, keys, open_task

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromium-driver"),
]


def test_the_whole_flow_from_link_to_export(drivers, serve):
    served = serve()
    first, second = drivers
    for name, factor in (("anna", 1), ("ben", 2), ("chi", 1)):
        page = Page(first, served.link(name))
        page.click("#go-on")
        for _ in range(2):
            page.ready()
            for slot in "12":
                page.show(slot)
                # Texts come in another order for everybody; the verdict goes by the text.
                base = 3 + [row[2] for row in ROWS].index(page.text(f"#candidate-{slot}"))
                page.answer(slot, 6 * factor, base * factor, (base - 2) * factor, base * factor)
            page.saved()
            address = page.js("return location.pathname")
            page.click("#finish")
            page.leaves(address)
        assert "All 2 tasks are finished" in page.text(".lead")
    boss = Page(second, served.link("coordinator"))
    assert boss.text("table").count("2 of 2") == 3
    row = "return [...document.querySelectorAll('#agreement tr')].find(r => r.innerText.startsWith(arguments[0]))"
    alpha = f"{row}.querySelector('.main').innerText"
    assert float(boss.js(alpha, "precision")) == 1.0
    assert float(boss.js(alpha, "Facts in this text")) < 0.6
    exported = boss.js("return fetch('/coordinator/export?what=texts').then(r => r.text())")
    assert exported.splitlines()[0].startswith("id,system,candidate,reference,source,R,G,RG,C,coherence,precision")
    assert "c1,alpha" in exported and exported.count("\nc") == 4


def test_highlighting_counts_live_ticks_undo_and_resume_on_another_device(drivers, serve):
    served = serve([ROWS[0]])
    page = open_task(drivers[0], served)
    raw = page.js("return document.getElementById('candidate-1').textContent")
    start = raw.index("lisinopril") + 1  # Python counts 😀 as one, the browser as two
    page.select("#candidate-1", start + 2, start + 5)
    page.click("#palette button")
    page.until(lambda: page.value("#q-1-G") == "1", "the count follows the highlight")
    assert page.text("#chips-1 .said") == "lisinopril", "whole words are taken"
    page.click("#chips-1 input[type=checkbox]")
    page.until(lambda: page.value("#q-1-RG") == "1" and page.value("#q-1-C") == "0", "the tick counts")
    page.select("#reference", 0, 8)
    page.press(keys().ENTER)
    page.until(lambda: page.value("#q-case-R") == "1", "reference fact")
    page.type("#comment-1", "as I see it")
    page.js("document.activeElement.blur()")
    page.saved()
    stored = next(t for t in served.context.store.tasks("anna") if not t.training)
    mark = next(m for m in stored.state["marks"] if m["kind"] == "fact")
    assert ROWS[0][2][mark["start"] : mark["end"]] == "lisinopril", "offsets are characters on the server"

    other = open_task(drivers[1], served)
    assert other.value("#q-1-G") == "1" and other.value("#comment-1") == "as I see it"
    other.js("document.activeElement.blur()")
    other.type("#q-1-G", "5")
    other.saved()
    page.js("window.dispatchEvent(new Event('focus'))")
    page.until(lambda: page.value("#q-1-G") == "5", "the first device catches up")
    page.click("#undo")
    page.until(lambda: page.value("#q-1-G") == "1", "undone")
    page.click("#redo")
    page.until(lambda: page.value("#q-1-G") == "5", "redone")


def test_a_selection_survives_what_comes_in_meanwhile(drivers, serve):
    from medassay.human.events import NewEvent

    served = serve([ROWS[0]])
    page = open_task(drivers[0], served)
    page.select("#candidate-1", 0, 12)
    task = served.context.store.tasks("anna")[0].id
    change = NewEvent("from-elsewhere", "set", {"slot": "case", "question": "R", "value": 3})
    served.context.store.append(task, "anna", change)
    page.js("window.dispatchEvent(new Event('focus'))")
    page.until(lambda: page.value("#q-case-R") == "3", "the other window's change")
    assert page.js("return getSelection().toString()") == ROWS[0][2][:12]
    page.press(keys().ENTER)
    page.until(lambda: page.value("#q-1-G") == "1", "highlighted")


def test_a_task_by_keyboard_alone(drivers, serve):
    served = serve([("c1", "a", "Man on lisinopril.", "A man takes lisinopril.", "He takes lisinopril.")])
    page = open_task(drivers[0], served)
    k = keys()
    page.press("r", k.ARROW_RIGHT, k.SHIFT + k.ARROW_RIGHT + k.NULL, k.ENTER)
    page.until(lambda: page.value("#q-case-R") == "1", "first fact")
    assert page.text("#chips-case .said") == "A man"
    page.press(k.END, k.SHIFT + k.ARROW_LEFT + k.NULL, k.ENTER)
    page.until(lambda: page.value("#q-case-R") == "2", "second fact")
    page.press("t", k.ARROW_RIGHT, k.ENTER)
    page.until(lambda: page.value("#q-1-G") == "1", "fact of the text")
    page.press("b")
    page.until(lambda: page.value("#q-1-RG") == "1", "ticked: in both")
    page.press("c")
    page.until(lambda: page.value("#q-1-C") == "1", "ticked: correct")
    page.type("#q-1-G", "")
    page.press(k.ARROW_UP)
    page.until(lambda: page.value("#q-1-G") == "2", "one more")
    page.press("a")
    assert page.js("return document.activeElement.type") == "radio", "the first question without an answer"
    page.press(k.SPACE)
    page.saved()
    page.press(k.ESCAPE, "f")
    page.until(lambda: "/tasks/" not in page.js("return location.pathname"), "finished")
    page.press("?")


def test_what_is_missing_is_shown_and_reachable(drivers, serve):
    page = open_task(drivers[0], serve())
    page.type("#q-1-C", "0")
    page.click("#finish")
    page.until(lambda: "Before this task can be finished" in page.text("#notice"), "notice")
    assert "Text B is not answered yet" in page.text("#notice")
    page.click("#notice li:nth-child(2) button")
    assert page.js("return document.activeElement.id") == "q-1-G"


def test_no_connection_means_not_saved_and_nothing_lost(drivers, serve):
    served = serve()
    page = open_task(drivers[0], served)
    page.network(online=False)
    try:
        page.type("#q-case-R", "7")
        assert page.text("#saved-text") == "Saving…", "nothing is called saved before it is"
        page.until(lambda: page.text("#saved-text").startswith("Not saved, retrying (1 waiting)"), "visibly not saved")
        assert page.stored_locally() == 1
    finally:
        page.network(online=True)
    page.saved()
    states = [task.state["answers"] for task in served.context.store.tasks("anna")]
    assert {"case": {"R": 7}} in states
    assert page.stored_locally() == 0


def test_changes_left_in_the_browser_are_sent_at_the_next_visit(drivers, serve):
    served = serve()
    page = open_task(drivers[0], served)
    task = page.js("return JSON.parse(document.getElementById('data').textContent).task")
    event = '[{"id":"left-over-1","active_ms":5,"change":{"kind":"set","slot":"case","question":"R","value":9}}]'
    page.js("localStorage.setItem(`medassay:${arguments[0]}:old`, arguments[1])", task, event)
    page.driver.refresh()
    page.ready()
    page.until(lambda: page.value("#q-case-R") == "9", "taken up again")
    page.saved()
    assert [e.id for e in served.context.store.events(task)] == ["left-over-1"]


def test_hostile_texts_never_run(drivers, serve):
    from medassay.human.decisions import text_key

    served = serve()
    page = open_task(drivers[0], served)
    for number in range(2):
        if number:
            page.driver.get(served.url + page.js("return document.querySelector('#task-before, #task-after').pathname"))
            page.ready()
        for slot in "12":
            page.show(slot)
            page.select(f"#candidate-{slot}", 0, 12)
            page.click("#palette button")
        page.type("#comment-2", HOSTILE)
        page.js("document.activeElement.blur()")
        page.saved()
        assert page.js("return window.hacked") is None
        assert page.js("return document.querySelectorAll('.text script, .text img, .text svg').length") == 0
    assert HOSTILE in page.js("return document.body.textContent")
    boss = Page(drivers[1], served.link("coordinator"))
    for unit in served.context.store.units():
        for item in unit.items:
            boss.driver.get(f"{served.url}/coordinator/texts/{text_key(unit.case_id, item.system)}")
            assert boss.js("return window.hacked") is None
            assert boss.js("return document.querySelectorAll('main script, main img, main svg').length") == 0


CONTRAST = """
const parse = (c) => { const m = c.match(/[\\d.]+/g).map(Number); return [m[0], m[1], m[2], m[3] ?? 1]; };
const over = (f, b) => [0, 1, 2].map((i) => f[i] * f[3] + b[i] * (1 - f[3]));
const linear = (v) => (v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
const light = (c) => { const [r, g, b] = c.map((v) => linear(v / 255));
  return .2126 * r + .7152 * g + .0722 * b; };
const page = matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
const back = (e) => { const chain = [];
  for (let n = e; n; n = n.parentElement) chain.unshift(parse(getComputedStyle(n).backgroundColor));
  return chain.reduce((b, c) => over(c, b), page); };
const poor = [];
for (const e of document.querySelectorAll('body *')) {
  if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.getClientRects().length) continue;
  if (e.closest('[hidden], .hidden, script, noscript, :disabled, .skip')) continue;
  let opacity = 1; for (let n = e; n; n = n.parentElement) opacity *= Number(getComputedStyle(n).opacity);
  const b = back(e), f = parse(getComputedStyle(e).color); f[3] *= opacity;
  const [x, y] = [light(over(f, b)), light(b)].sort((p, q) => q - p);
  const ratio = (x + .05) / (y + .05);
  if (ratio < 4.5) poor.push(`${e.tagName}.${e.className} “${e.textContent.trim().slice(0, 30)}” ${ratio.toFixed(2)}`);
}
return poor;
"""
NAMES = """
return [...document.querySelectorAll('input:not([type=hidden]), textarea, select, button, a')]
  .filter((e) => e.getClientRects().length)
  .filter((e) => !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim()))
  .map((e) => e.outerHTML.slice(0, 120));
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_labels_and_widths(drivers, serve, scheme):
    served = serve(training=True)
    driver = drivers[0]
    emulated = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
    page = Page(driver, served.link("anna"))
    task = page.one("#go-on").get_property("pathname")
    boss = served.link("coordinator")
    for address in ("/tasks", task, "/", boss.removeprefix(served.url), "/coordinator", "/coordinator/texts"):
        driver.get(served.url + address)
        if address == task:
            page.ready()
            page.close_guide()
            page.select("#candidate-1", 0, 12)
            page.press(keys().ENTER)
            page.saved()
            page.click("#finish")
            page.until(lambda: not page.js("return document.getElementById('notice').hidden"), "notice")
        assert page.js(CONTRAST) == [], f"{address} in {scheme}: contrast below 4.5"
        assert page.js(NAMES) == [], f"{address}: controls without a name"
        for width in (1366, 1024, 820, 768, 390):
            page.size(width, 900)
            wide = page.js("return document.documentElement.scrollWidth")
            assert wide <= width, f"{address} at {width} px is {wide} px wide"
        page.size(1366, 900)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_fact_can_be_typed_in_place_of_being_highlighted(serve, drivers):
    served = serve(protocol="fact-categories")
    page = Page(drivers[0], served.link("anna"))
    page.driver.get(f"{served.url}/tasks/{served.context.store.tasks('anna')[0].id}")
    page.ready()
    for fact in ("man – is – 61", "man – takes – lisinopril"):
        page.type("#chips-case + .typed-fact input", fact)
        page.click("#chips-case + .typed-fact button")
    page.saved()
    assert page.value("#q-case-R") == "2"
    form = "#chips-1 + .typed-fact"
    for fact in ("patient – takes – lisinopril", HOSTILE[:60]):
        page.type(f"{form} input", fact)
        page.click(f"{form} button")
    page.saved()
    assert page.value("#q-1-correct") == "2"
    assert "patient – takes – lisinopril" in page.text("#chips-1")
    assert page.value(f"{form} input") == "" and not page.js("return window.hacked")
    page.driver.refresh()
    page.ready()
    assert page.value("#q-1-correct") == "2" and "man – is – 61" in page.text("#chips-case")
    page.click("#chips-1 li button")
    page.saved()
    assert page.value("#q-1-correct") == "1"
