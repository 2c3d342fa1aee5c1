"""The pictures of the annotators' pages in docs/human/images, taken anew from invented texts.

    PYTHONPATH=src:. python tools/annotation_screenshots.py

Needs Chromium with its driver and the extras serve, browser and slides (Pillow).
"""

from __future__ import annotations

import csv
import json
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

from PIL import Image
from tests.human.browser import Page, Served, keys, open_task, start_browser

from medassay.human.events import NewEvent
from medassay.human.study import load_study, new_study_text
from medassay.human.web import annotator
from medassay.human.web.app import create_app

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs/human/images"
LAPTOP, TABLET = (1400, 900), (820, 1180)
Row = tuple[str, str, str, str, str]


def consultation() -> list[Row]:
    """One long case of the corpus: a transcript, a note of supported claims, and four notes with errors."""
    folder = ROOT / "corpus/consultations"
    text = json.loads((folder / "a.texts.jsonl").read_text(encoding="utf-8").splitlines()[0])
    lines = (folder / "a.claims.jsonl").read_text(encoding="utf-8").splitlines()
    claims = [claim for claim in map(json.loads, lines) if claim["id"] == text["id"]]
    right = [claim["claim"] for claim in claims if claim["label"] == "supported"]
    wrong = [claim["claim"] for claim in claims if claim["label"] != "supported"]
    reference = " ".join(right)
    notes = [" ".join((right[i::2] + wrong[i::4])[:: 1 if i else -1]) for i in range(4)]
    return [("c1", f"s{i}", note, reference, text["text"]) for i, note in enumerate(notes)]


def tutorial() -> list[Row]:
    """The short notes of the tutorial."""
    with (ROOT / "docs/human/tutorial/notes.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    return [(r["id"], r["system"], r["candidate"], r["reference"], r["source"]) for r in rows]


def serve(rows: list[Row], protocol: str, **settings: Any) -> Served:
    """A running study of these rows."""
    folder = Path(tempfile.mkdtemp())
    with (folder / "cases.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "system", "candidate", "reference", "source"])
        writer.writerows(rows)
    given = {"name": "Spring study", "protocol": protocol, "cases": "cases.csv", "annotators": ["anna"], **settings}
    (folder / "study.yaml").write_text(new_study_text(**given), encoding="utf-8")
    return Served(create_app(load_study(folder / "study.yaml")))


def shoot(page: Page, name: str) -> None:
    """One picture, with a palette of 96 colours to keep it small."""
    page.js("document.activeElement.blur()")
    page.until(lambda: page.js("return document.getAnimations().length") == 0, "nothing moves")
    path = IMAGES / f"{name}.png"
    page.driver.save_screenshot(str(path))
    Image.open(path).convert("RGB").quantize(96).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} KB")


def highlight(page: Page, css: str, words: str, key: str) -> None:
    """Select words in a text and press the key of a kind."""
    start = page.js("return document.querySelector(arguments[0]).textContent.indexOf(arguments[1])", css, words)
    page.select(css, start, start + len(words))
    page.press(key)


def sentences(page: Page, css: str) -> list[str]:
    text: str = page.js("return document.querySelector(arguments[0]).textContent", css)
    return [part.strip() for part in text.replace("\n", ". ").split(". ") if len(part) > 12]


def categories(driver: Any) -> None:
    """Fact categories on a long case: laptop, tablet, dark, search, a sum that cannot be, another tab."""
    served = serve(consultation(), "fact-categories", training=False)
    page = open_task(driver, served, width=LAPTOP[0], height=LAPTOP[1])
    page.press(*"24")
    first = sentences(page, "#candidate-1")
    for words, key in zip(first, "ccwch", strict=False):
        highlight(page, "#candidate-1", words, key)
    highlight(page, "#reference", sentences(page, "#reference")[2], "o")
    page.press("x")
    page.saved()
    page.select("#candidate-1", *span(page, first[5]))
    shoot(page, "fact-categories")
    page.press(keys().ESCAPE)
    page.size(*TABLET)
    shoot(page, "tablet")
    page.press("?")
    shoot(page, "keys")
    page.press(keys().ESCAPE)
    page.size(*LAPTOP)
    page.type("#q-1-omitted", "23")
    page.press("/", *"cough")
    shoot(page, "search")
    page.press(keys().ESCAPE)
    page.type("#q-1-omitted", "1")
    page.saved()
    page.js("document.querySelector('#theme input[value=dark]').click()")
    shoot(page, "dark")
    page.js("document.querySelector('#theme input[value=auto]').click()")
    task = served.context.store.tasks("anna")[0].id
    change = NewEvent("another-tab", "set", {"slot": "case", "question": "R", "value": 22})
    served.context.store.append(task, "anna", change)
    page.type("#q-case-R", "25")
    page.js("document.activeElement.blur()")
    page.until(lambda: page.text("#saved-text").startswith("Changed"), "conflict")
    shoot(page, "another-tab")
    served.stop()


def span(page: Page, words: str) -> tuple[int, int]:
    start = page.js("return document.getElementById('candidate-1').textContent.indexOf(arguments[0])", words)
    return start, start + len(words)


def draft(driver: Any) -> None:
    """The machine's draft, half of it looked at."""
    text = "Sore throat since Sunday with fever and cough. Allergic to penicillin."
    reference = "Sore throat since Monday with fever. No cough. Allergic to penicillin (rash)."
    proposed = [
        ("candidate", "Sore throat since Sunday", "contradicted", "incorrect", text),
        ("candidate", "fever", "supported", "correct", text),
        ("candidate", "cough", "contradicted", "incorrect", text),
        ("candidate", "Allergic to penicillin", "supported", "correct", text),
        ("reference", "rash", "not_stated", "omitted", reference),
    ]
    statements = [
        {"id": f"1-{i}", "slot": "1", "of": of, "start": whole.index(words), "end": whole.index(words) + len(words)}
        | {"text": words, "verdict": verdict, "type": kind, "flags": []}
        for i, (of, words, verdict, kind, whole) in enumerate(proposed)
    ]
    served = serve([("c1", "a", text, reference, "")], "fact-categories", training=False, blinded=False)
    with patch.object(annotator, "draft_of", lambda store, task: statements):
        page = open_task(driver, served, width=LAPTOP[0], height=LAPTOP[1])
        page.press("4", "d", "d")
        page.saved()
        shoot(page, "draft")
    served.stop()


def practice(driver: Any) -> None:
    """The list of tasks, practice with the instructions open, feedback."""
    served = serve(tutorial(), "fact-counting")
    page = Page(driver, served.link("anna"), *LAPTOP)
    shoot(page, "tasks")
    page.click("#go-on")
    page.ready()
    shoot(page, "practice")
    page.close_guide()
    page.press("4", "y", "f")
    page.until(lambda: page.js("return location.pathname.endsWith('/feedback')"), "feedback")
    shoot(page, "feedback")
    page.click("#go-on")
    page.ready()
    page.press("4")
    for words in sentences(page, "#candidate-1")[:2]:
        highlight(page, "#candidate-1", words, "e")
        page.press("b", "c")
    page.saved()
    shoot(page, "fact-counting")
    served.stop()


def others(driver: Any) -> None:
    """Key phrases and the expert scale on short cases."""
    for protocol, key in (("key-phrases", "y"), ("expert-scale", "4")):
        served = serve(tutorial(), protocol, training=False)
        page = open_task(driver, served, width=LAPTOP[0], height=LAPTOP[1])
        if protocol == "key-phrases":
            highlight(page, "#candidate-1", sentences(page, "#candidate-1")[0], "w")
        page.press(key)
        page.saved()
        page.show("1" if protocol == "key-phrases" else "2")
        shoot(page, protocol)
        served.stop()


def main() -> None:
    driver = start_browser(tempfile.mkdtemp())
    for part in (categories, draft, practice, others):
        part(driver)
    driver.quit()


if __name__ == "__main__":
    main()
