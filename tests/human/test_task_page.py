"""The task page in Chromium at the two sizes it is made for: a laptop's window and a tablet held upright."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium.webdriver", reason="needs the extra browser (selenium)")

from tests.human.browser import CHROMIUM, DRIVER, Page, Served, keys, open_task

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromium-driver"),
]

LAPTOP, TABLET = (1400, 900), (820, 1180)
SENTENCES = ("He takes lisinopril 10 mg daily. ", "Blood pressure is 128 over 76. ", "He denies cough and fever. ")
LONG = "".join(SENTENCES[i % 3] + ("\n\n" if i % 7 == 6 else "") for i in range(200))[:4000]
SHORT = "Sore throat since Monday with fever. No cough."
AXE = Path(__file__).parent / "vendor" / "axe.min.js"


def four_texts(text: str, source: str | None = None) -> list[tuple[str, ...]]:
    return [
        (case, system, text, text, text if source is None else source) for case in ("c1", "c2") for system in "abcd"
    ]


def box(page: Page, css: str) -> dict[str, float]:
    page.one(css)
    found: dict[str, float] = page.js(
        "const b = document.querySelector(arguments[0]).getBoundingClientRect();"
        "return {left: b.left, right: b.right, top: b.top, bottom: b.bottom, height: b.height, width: b.width}",
        css,
    )
    return found


def task_of(served: Served, page: Page) -> Any:
    return served.context.store.task(page.js("return location.pathname.split('/')[2]"))


def is_done(served: Served, page: Page, task: str) -> bool:
    return bool(served.context.store.task(task).state["done"])


@pytest.mark.parametrize("size", [LAPTOP, TABLET], ids=["laptop", "tablet"])
@pytest.mark.parametrize("protocol", ["fact-counting", "fact-categories", "key-phrases", "expert-scale"])
def test_source_reference_text_and_answers_are_visible_together(drivers, serve, protocol, size):
    page = open_task(drivers[0], serve(four_texts(LONG), protocol=protocol), width=size[0], height=size[1])
    for slot in "1234":
        page.show(slot)
        for css in ("#source", "#reference", f"#candidate-{slot}"):
            seen = box(page, css)
            assert seen["height"] > 200 and seen["width"] > 300, css
        for css in (".source", ".reference", ".work", ".answers", ".tabs", "#no-errors", "#finish", "#saved"):
            seen = box(page, css)
            assert seen["left"] >= 0 and seen["top"] >= 0, f"{css} is cut off"
            assert seen["right"] <= size[0] and seen["bottom"] <= size[1], f"{css} is cut off"
    assert page.js("return document.scrollingElement.scrollHeight") <= size[1], "the page itself does not scroll"
    clipped = page.js(
        "return [...document.querySelectorAll('.bar button, .bar a, .actions button, .tabs button, .stepper')]"
        ".filter((e) => e.offsetParent && (e.scrollWidth > e.clientWidth + 1"
        " || e.getBoundingClientRect().right > innerWidth)).map((e) => e.outerHTML.slice(0, 80))"
    )
    assert clipped == []


@pytest.mark.parametrize("size", [LAPTOP, TABLET], ids=["laptop", "tablet"])
def test_no_dead_bands_on_short_cases(drivers, serve, size):
    page = open_task(drivers[0], serve(four_texts(SHORT), protocol="fact-categories"), width=size[0], height=size[1])
    panes = [box(page, css) for css in (".source", ".reference", ".work", ".answers")]
    for above, below in itertools.pairwise(panes):
        assert 0 <= below["top"] - above["bottom"] <= 20, "panes follow each other"
    assert all(pane["height"] < 130 for pane in panes[:3]), "a pane is no taller than its text"
    assert all(pane["right"] - pane["left"] > 0.9 * size[0] for pane in panes)
    assert panes[-1]["bottom"] <= size[1]


def test_scrolling_is_linked_and_can_be_unlinked(drivers, serve):
    page = open_task(drivers[0], serve(four_texts(LONG), protocol="fact-categories"))
    shares = """return ['source', 'reference', 'candidate-1'].map((id) => { const e = document.getElementById(id);
      return e.scrollTop / (e.scrollHeight - e.clientHeight); })"""
    wheel = """const e = document.getElementById('source'); e.dispatchEvent(new WheelEvent('wheel'));
      e.scrollTop = arguments[0] * (e.scrollHeight - e.clientHeight);"""
    page.js(wheel, 0.5)
    page.until(lambda: all(abs(share - 0.5) < 0.02 for share in page.js(shares)), "all are in the middle")
    page.press("l")
    page.js(wheel, 1.0)
    page.until(lambda: page.js(shares)[0] > 0.98, "the source is at its end")
    assert all(abs(share - 0.5) < 0.02 for share in page.js(shares)[1:]), "the others stay"
    page.press("l")


def test_search_looks_through_all_texts(drivers, serve):
    rows = four_texts(LONG + "\nAllergic to penicillin.")
    page = open_task(drivers[0], serve(rows, protocol="fact-categories"))
    page.press("/")
    assert page.js("return document.activeElement.id") == "search-for"
    page.press(*"PENICILLIN")
    page.until(lambda: page.text("#search-hits") == "source 1 · reference 1 · text 1", "hits in every text")
    assert page.js("return CSS.highlights.get('hits').size") == 3
    assert page.js(
        "return ['source', 'reference', 'candidate-1'].every((id) => document.getElementById(id).scrollTop > 300)"
    )
    page.press(keys().ESCAPE)
    assert page.js("return document.getElementById('search').hidden && CSS.highlights.get('hits').size === 0")


def test_four_texts_without_errors_take_at_most_twelve_keys(drivers, serve):
    served = serve(four_texts(SHORT), protocol="fact-categories")
    page = open_task(drivers[0], served)
    task, address = task_of(served, page).id, page.js("return location.pathname")
    pressed = ["1", "2", "y", "y", "y", "y", "f"]
    assert len(pressed) <= 12
    page.press(*pressed)
    page.leaves(address)
    state = served.context.store.task(task).state
    assert state["done"] and state["answers"]["case"] == {"R": 12}
    for slot in "1234":
        assert state["answers"][slot] == {"correct": 12, "incorrect": 0, "hallucinated": 0, "omitted": 0}


NO_ERRORS = {
    "fact-counting": {"G": 7, "RG": 7, "C": 7, "coherence": 1},
    "key-phrases": {"hallucinated": 0, "incorrect": 0, "language": 0, "omitted": 0},
    "expert-scale": {"expert_score": 5},
}


@pytest.mark.parametrize("protocol", NO_ERRORS)
def test_no_errors_is_one_key_in_every_protocol(drivers, serve, protocol):
    served = serve(four_texts(SHORT), protocol=protocol)
    page = open_task(drivers[0], served)
    task, address = task_of(served, page).id, page.js("return location.pathname")
    if protocol == "fact-counting":
        page.press("y")
        assert "First answer “Facts in the reference”" in page.text("#notice")
        page.press("7")
    page.press("y", "y", "y", "y", "f")
    page.leaves(address)
    state = served.context.store.task(task).state
    assert state["done"] and all(state["answers"][slot] == NO_ERRORS[protocol] for slot in "1234")


def test_an_untouched_text_is_not_finished(drivers, serve):
    served = serve(four_texts(SHORT), protocol="key-phrases")
    page = open_task(drivers[0], served)
    states = "return [...document.querySelectorAll('[role=tab]')].map((t) => t.dataset.status)"
    assert page.js(states) == ["untouched"] * 4
    page.press(*"fffffffffffff")
    assert "Text D is not answered yet" in page.text("#notice")
    assert not is_done(served, page, task_of(served, page).id)
    page.press("y")
    assert page.js(states) == ["answered", "untouched", "untouched", "untouched"]
    page.select("#candidate-2", 0, 11)
    page.press("h")
    page.until(lambda: page.js(states)[1] == "open", "an error alone does not say that there is no other")
    page.press("x", "y")
    page.until(lambda: page.js(states)[1] == "answered", "no further errors")
    page.saved()
    stored = task_of(served, page).state
    assert stored["marks"][0]["flags"] == ["critical"]
    assert stored["answers"]["2"] == {"incorrect": 0, "language": 0, "omitted": 0}
    assert page.js("return document.querySelector('[aria-selected=true]').dataset.slot") == "3"


def test_sums_that_cannot_be_are_refused_live_with_the_reason(drivers, serve):
    served = serve(four_texts(SHORT), protocol="fact-categories")
    page = open_task(drivers[0], served)
    page.type("#q-case-R", "2")
    page.type("#q-1-correct", "2")
    page.type("#q-1-omitted", "2")
    assert "together" in page.text("#h-1-omitted") and "Facts in the reference" in page.text("#h-1-omitted")
    assert page.js("return document.getElementById('q-1-omitted').getAttribute('aria-invalid')") == "true"
    page.until(lambda: page.text("#saved-text").startswith("Not saved: see the number in red"), "said plainly")
    assert task_of(served, page).state["answers"]["1"] == {"correct": 2}
    page.press("f")
    assert "together" in page.text("#notice"), "finishing says it, too"
    page.driver.refresh()
    page.ready()
    page.close_guide()
    page.until(lambda: page.value("#q-1-omitted") == "2", "kept over a reload")
    assert "together" in page.text("#h-1-omitted")
    page.type("#q-1-correct", "0")
    page.saved()
    assert task_of(served, page).state["answers"]["1"] == {"correct": 0, "omitted": 2}, "sent once it is possible"


def test_a_quick_reload_loses_nothing(drivers, serve):
    served = serve()
    page = open_task(drivers[0], served)
    page.type("#comment-1", "unclear dose")
    page.type("#q-case-R", "7")
    page.driver.refresh()
    page.ready()
    page.until(lambda: page.value("#comment-1") == "unclear dose" and page.value("#q-case-R") == "7", "still there")
    page.saved()
    stored = task_of(served, page).state
    assert stored["comments"] == {"1": "unclear dose"} and stored["answers"] == {"case": {"R": 7}}
    assert page.stored_locally() == 0


def test_two_tabs_never_overwrite_each_other_silently(drivers, serve):
    from medassay.human.events import NewEvent

    served = serve()
    page = open_task(drivers[0], served)
    task = task_of(served, page).id
    elsewhere = NewEvent("other-tab-1", "set", {"slot": "case", "question": "R", "value": 3})
    served.context.store.append(task, "anna", elsewhere)
    page.type("#q-case-R", "5")
    page.js("document.activeElement.blur()")
    page.until(lambda: page.text("#saved-text").startswith("Changed in another tab"), "said plainly")
    assert page.value("#q-case-R") == "3", "the page shows what is stored"
    assert "there “3”, here “5”" in page.text("#notice")
    assert served.context.store.task(task).state["answers"]["case"]["R"] == 3
    page.click("#notice li button:last-of-type")
    page.saved()
    assert served.context.store.task(task).state["answers"]["case"]["R"] == 5
    assert page.js("return document.getElementById('notice').hidden")
    # Another field changed elsewhere is no conflict: both stand.
    other_field = NewEvent("other-tab-2", "comment", {"slot": "2", "text": "there"})
    served.context.store.append(task, "anna", other_field)
    page.type("#q-1-G", "4")
    page.saved()
    stored = served.context.store.task(task).state
    assert stored["comments"] == {"2": "there"} and stored["answers"]["1"]["G"] == 4


def test_a_second_tab_leaves_the_first_ones_work_to_it(drivers, serve):
    served = serve()
    page = open_task(drivers[0], served)
    first = page.driver.current_window_handle
    page.type("#q-1-RG", "0")
    page.type("#q-1-G", "0")
    page.type("#q-1-RG", "5")  # more than G: held in this tab
    page.driver.switch_to.new_window("tab")
    page.driver.get(served.url + "/tasks")
    assert "not saved yet" in page.text(".tasks"), "the list of tasks says where something is unsent"
    page.click("#go-on")
    page.ready()
    page.until(lambda: page.js("return document.body.dataset.resumed"), "looked for what was left behind")
    assert page.value("#q-1-RG") == "0"
    page.driver.close()
    page.driver.switch_to.window(first)
    assert page.value("#q-1-RG") == "5"
    page.type("#q-1-G", "6")
    page.type("#q-case-R", "6")
    page.saved()
    assert task_of(served, page).state["answers"] == {"case": {"R": 6}, "1": {"G": 6, "RG": 5}}


def test_undo_takes_back_what_a_person_did(drivers, serve):
    served = serve(four_texts(SHORT), protocol="fact-categories")
    page = open_task(drivers[0], served)
    page.press("7")
    page.js("document.activeElement.blur()")
    page.saved()
    page.type("#q-case-R", "12")
    page.press("u")
    page.until(lambda: page.value("#q-case-R") == "7", "12 was one action, not 1 and 12")
    page.saved()
    page.press("y")
    page.saved()
    assert len(task_of(served, page).state["answers"]["1"]) == 4
    page.press("u")
    page.until(lambda: page.value("#q-1-correct") == "", "“no errors” was one action")
    page.saved()
    assert not task_of(served, page).state["answers"].get("1")
    page.press("U")
    page.until(lambda: page.value("#q-1-correct") == "7", "redone")


def put_aside(page: Page, flag: str, reason: str) -> None:
    page.press("k")
    page.click(f"input[name=aside][value={flag}]")
    page.type("#aside-reason", reason)
    page.click("#aside button[value=ok]")


def test_a_text_is_put_aside_with_a_reason(drivers, serve):
    served = serve(four_texts(SHORT), protocol="expert-scale")
    page = open_task(drivers[0], served)
    task = task_of(served, page).id
    page.press("k")
    page.click("#aside button[value=ok]")
    assert page.js("return document.getElementById('aside').open"), "no reason, no flag"
    page.click("#aside button[value=cancel]")
    put_aside(page, "cannot_judge", "in Danish")
    page.until(lambda: page.js("return document.querySelector('[aria-selected=true]').dataset.slot") == "2", "goes on")
    assert "⊘" in page.text("#tab-1")
    put_aside(page, "flag", "two patients mixed")
    page.saved()
    assert served.context.store.task(task).state["flags"] == {
        "1": {"cannot_judge": "in Danish"},
        "2": {"flag": "two patients mixed"},
    }
    assert "Flagged for the coordinator: two patients mixed" in page.text("#aside-2")
    address = page.js("return location.pathname")
    put_aside(page, "skip", "later, with the slides")
    page.leaves(address)
    assert not is_done(served, page, task)
    page.driver.get(served.url + "/tasks")
    assert "put aside" in page.text(".tasks")
    page.driver.get(served.url + address)
    page.ready()
    page.press("5", "4", "3")
    page.until(lambda: page.js("return document.activeElement.id") == "finish", "all are answered")
    page.press("f")
    page.leaves(address)
    assert served.context.store.task(task).state["done"]


def test_instructions_fold_away_after_the_first_task_and_time_left_is_told(drivers, serve):
    served = serve(four_texts(SHORT), protocol="expert-scale")
    page = Page(drivers[0], served.link("anna"), *LAPTOP)
    assert "about" in page.text(".lead") and "min left" in page.text(".lead")
    page.click("#go-on")
    page.ready()
    assert page.js("return !document.getElementById('guide').hidden"), "open in the first task"
    assert "min left" in page.text("#time-left")
    address = page.js("return location.pathname")
    page.press("y", "y", "y", "y", "f")
    page.leaves(address)
    page.ready()
    assert page.js("return document.getElementById('guide').hidden"), "folded away afterwards"
    page.press("i")
    assert page.js("return !document.getElementById('guide').hidden")


def test_text_size_and_colours_are_kept(drivers, serve):
    page = open_task(drivers[0], serve(four_texts(LONG), protocol="fact-categories"))
    size = "return parseFloat(getComputedStyle(document.getElementById('source')).fontSize)"
    usual = page.js(size)
    page.press("+", "+")
    page.click("#menu summary")
    page.click("#theme input[value=dark]")
    page.driver.refresh()
    page.ready()
    assert page.js(size) == pytest.approx(usual * 1.3, rel=0.01)
    assert page.js("return getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 26)"
    page.close_guide()
    page.press("-", "-")
    page.click("#menu summary")
    page.click("#theme input[value=auto]")
    assert page.js(size) == usual


def test_the_machines_draft_is_confirmed_or_corrected(drivers, serve, monkeypatch):
    from medassay.human.web import annotator

    text = "He takes aspirin. He smokes. Fever since Monday."
    proposed = [
        ("candidate", 0, 16, "He takes aspirin", "supported", "correct", []),
        ("candidate", 18, 27, "He smokes", "not_stated", "hallucinated", []),
        ("candidate", 29, 47, "Fever since Monday", "supported", "correct", []),
        ("reference", 0, 8, "No cough", "not_stated", "omitted", ["critical"]),
        ("reference", 10, 26, "He takes aspirin", "supported", None, []),
    ]
    names = ("of", "start", "end", "text", "verdict", "type", "flags")
    statements = [
        {"id": f"1-{number}", "slot": "1", **dict(zip(names, statement, strict=True))}
        for number, statement in enumerate(proposed)
    ]
    monkeypatch.setattr(annotator, "draft_of", lambda store, task: statements)
    served = serve([("c1", "a", text, "No cough. He takes aspirin.", "")], protocol="fact-categories")
    page = open_task(drivers[0], served)
    assert "0 of 4 looked at" in page.text("#draft-1 h3")
    page.press("d")
    page.until(lambda: page.value("#q-1-correct") == "1", "accepted")
    page.click("#draft-1 li:first-child button[aria-label^='Incorrect instead']")
    page.until(lambda: page.value("#q-1-incorrect") == "1", "corrected")
    page.click("#draft-1 li:first-child button[aria-label^='Leave out']")
    page.press("d")
    page.until(lambda: page.value("#q-1-omitted_critical") == "1", "the last one, with its severity")
    assert "4 of 4 looked at" in page.text("#draft-1 h3")
    page.saved()
    stored = task_of(served, page)
    marks = {(m["kind"], m["start"], m["end"], m.get("from_draft")) for m in stored.state["marks"]}
    assert marks == {("correct", 0, 16, True), ("incorrect", 18, 27, True), ("omitted", 0, 8, True)}
    page.select("#candidate-1", 29, 34)
    page.press("c")
    page.saved()
    own = next(m for m in task_of(served, page).state["marks"] if m["start"] == 29)
    assert "from_draft" not in own, "what the annotator adds is the annotator's"
    assert all(e.payload.get("from_draft") for e in served.context.store.events(stored.id)[:3])


def test_a_study_without_draft_shows_none(drivers, serve):
    page = open_task(drivers[0], serve(four_texts(SHORT), protocol="fact-categories"))
    assert page.js("return document.getElementById('draft-1').hidden")
    page.press("d")
    assert "no machine’s draft" in page.text("#notice")


def test_targets_are_large_enough_for_a_finger(drivers, serve):
    driver = drivers[1]
    driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        page = open_task(driver, serve(four_texts(LONG), protocol="fact-categories"), width=820, height=1180)
        assert page.js("return matchMedia('(pointer: coarse)').matches")
        page.select("#candidate-1", 0, 10)
        page.press("w")
        page.saved()
        small = page.js(
            "return [...document.querySelectorAll('button, a.button, summary, .chips label, .choices label')]"
            ".filter((e) => e.offsetParent && !e.matches('.link'))"
            ".map((e) => [e.outerHTML.slice(0, 60), e.getBoundingClientRect()])"
            ".filter(([, b]) => b.height < 44 || b.width < 40).map(([h, b]) => `${h} ${b.width}×${b.height}`)"
        )
        assert small == []
    finally:
        driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def serious(page: Page) -> list[str]:
    """axe-core's findings of impact serious or critical."""
    if not page.js("return Boolean(window.axe)"):
        page.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
    report = page.driver.execute_async_script(
        "const tell = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then((r) => tell(r.violations"
        ".filter((v) => ['serious', 'critical'].includes(v.impact))"
        ".map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`)))"
    )
    return list(report)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("protocol", ["fact-counting", "fact-categories", "key-phrases", "expert-scale"])
def test_axe_finds_nothing_serious(drivers, serve, protocol, scheme):
    served = serve(four_texts(LONG), protocol=protocol, training=True)
    driver = drivers[0]
    emulated = {
        "features": [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
    }
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
    found = {}
    try:
        for size in (LAPTOP, TABLET):
            page = Page(driver, served.link("anna"), *size)
            found[f"tasks {size}"] = serious(page)
            page.click("#go-on")
            page.ready()
            found[f"practice, instructions open {size}"] = serious(page)
            page.close_guide()
            if protocol != "expert-scale":
                page.select("#candidate-1", 0, 12)
                found[f"small menu {size}"] = serious(page)
                page.press(keys().ESCAPE)
            page.press("f")
            page.press("/", *"cough")
            found[f"notice, search {size}"] = serious(page)
            page.press(keys().ESCAPE)
            page.click("#menu summary")
            found[f"settings {size}"] = serious(page)
            page.press(keys().ESCAPE)
            for opener, dialog in (("#help-open", "help"), ("#aside-open", "aside")):
                page.click(opener)
                found[f"{dialog} {size}"] = serious(page)
                page.js(f"document.getElementById('{dialog}').close()")
            page.driver.get(served.url + "/")
            found[f"welcome {size}"] = serious(page)
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert {where: what for where, what in found.items() if what} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_feedback_and_the_coordinators_pages(drivers, serve, scheme):
    served = serve(four_texts(SHORT), protocol="fact-categories", training=True)
    driver = drivers[0]
    emulated = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
    found = {}
    try:
        page = open_task(driver, served)
        address = page.js("return location.pathname")
        page.press("4", "y", "f")
        page.leaves(address)
        for size in (LAPTOP, TABLET):
            page.size(*size)
            found[f"feedback {size}"] = serious(page)
        page.click("#go-on")
        page.ready()
        address = page.js("return location.pathname")
        page.press("4", "y", "y", "y", "y", "f")
        page.leaves(address)
        for size in (LAPTOP, TABLET):
            boss = Page(driver, served.link("coordinator"), *size)
            for path in ("", "/texts", "/tasks", "/comments", "/trail"):
                driver.get(f"{served.url}/coordinator{path}")
                found[f"coordinator{path} {size}"] = serious(boss)
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert {where: what for where, what in found.items() if what} == {}
