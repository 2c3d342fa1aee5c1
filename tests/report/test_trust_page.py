"""The trust page: pictures, routes, curve; hostile text stays text; in a real browser where there is one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

Image = pytest.importorskip("PIL.Image", reason="needs the extra slides")
pytest.importorskip("openslide", reason="needs the extra slides")

from tests.metrics.dimensions import three  # noqa: E402

from medassay.cases import Case  # noqa: E402
from medassay.examples.tissue import draw_tissue  # noqa: E402
from medassay.metrics.policy import Policy  # noqa: E402
from medassay.metrics.trust import Trust  # noqa: E402
from medassay.report import trust_page  # noqa: E402
from medassay.report.charts import risk_coverage  # noqa: E402
from medassay.report.page import PageWriter  # noqa: E402
from medassay.scores import Score  # noqa: E402

REPORT = "Adenocarcinoma with glands. <img src=x onerror=alert(1)> No necrosis. There is necrosis."
CURVE = [[0.5, 0.0, 0.0, 0.02], [1.0, 0.1, 0.05, 0.15]]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "tile.png"
    Image.fromarray(draw_tissue("glands", 256)).save(path)
    return path


def scores(metric: Trust, case: Case) -> dict[str, Score]:
    box = {"x": 0, "y": 0, "width": 128, "height": 128, "similarity": 0.4}
    seen = {"start": 0, "end": 14, "text": "Adenocarcinoma", "assertion": "present", "similarity": 0.4}
    unseen = {"start": 20, "end": 26, "text": "<b>glands</b>", "assertion": "present", "why": "not in the vocabulary"}
    grounding = Score(
        0.8,
        evidence={
            "width": 256,
            "height": 256,
            "impression": {"organ": {"stated": ["colon"], "likeliest": "<i>lung</i>", "relative": 0.42}},
            "groundings": [
                {**seen, "calibrated": 0.8, "assessable": True, "patches": [box, {**box, "x": 128, "similarity": 0.3}]},
                {**unseen, "calibrated": None, "assessable": False, "patches": []},
            ],
        },
    )
    at = REPORT.index("No necrosis")
    against = {"premise": [at, at + 12], "hypothesis": [at + 13, len(REPORT)], "kind": "negation", "probability": 0.97}
    logic = Score(0.2, evidence={"contradictions": [against]})
    stability = Score(0.7, evidence={"stability": {"stain": 0.9, "attack": 0.5}})
    made = {"grounding": grounding, "logic": logic, "stability": stability}
    return made | {"trust": metric.compose_case(list(made.values()))}


def written(path: Path, image: Path, policy: Policy | None = None) -> str:
    metric = Trust(three(), policy=policy or Policy())
    page = PageWriter([*metric.members, metric])
    extra = {"candidate_stain": REPORT, "candidate_attack": "Lymphoma.", "attack_history": "colon-1", "note": "<i>"}
    case = Case("one", REPORT, image=str(image), extra=extra, row=2)
    page.add(case, scores(metric, case))
    bare = Case("two", "A report.", extra={"l": 0.975}, row=3)
    page.add(bare, {m.name: m.score([bare])[0] for m in (*metric.members, metric)})
    page.write(path, [])
    return path.read_text()


def test_what_the_page_carries(tmp_path: Path, image: Path) -> None:
    text = written(tmp_path / "r.html", image, Policy(calibration={"curve": CURVE, "risk": 0.05, "data": "d", "n": 9}))
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    one, two = data["cases"]
    assert one["e"]["0"]["picture"]["data"].startswith("data:image/jpeg;base64,")
    assert one["e"]["0"]["picture"]["width"] == 256
    assert one["e"]["2"]["reports"]["attack"] == "Lymphoma."
    assert "smoking" not in one["e"]["2"]["reports"]["history"]
    assert one["x"] == {"route": "review", "note": "<i>"} and one["m"] == "tile.png"
    assert two["e"]["3"]["trust"]["route"] == "review"
    assert '<svg class="curve"' in text and "<img src=x" not in text and "<b>glands" not in text
    assert str(tmp_path) not in text


def test_partial_trust_is_no_number_on_the_page(tmp_path: Path) -> None:
    metric = Trust(three())
    page = PageWriter([*metric.members, metric])
    case = Case("text only", "A report.", extra={"l": 0.975})
    page.add(case, {m.name: m.score([case])[0] for m in (*metric.members, metric)})
    page.write(tmp_path / "r.html", [])
    text = (tmp_path / "r.html").read_text()
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    [one] = data["cases"]
    assert one["v"] == [None, 0.975, None, None] and one["u"]["3"].startswith("partial: grounding")
    assert one["e"]["3"]["trust"]["dimensions"] == {"logic": 0.975}
    assert "Partial: 1 of 1 reports" in text


def test_pictures_stay_within_their_budget(tmp_path: Path, image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust_page, "PICTURES", 1)
    page = PageWriter([*(metric := Trust(three())).members, metric])
    for k in range(2):
        case = Case(str(k), REPORT, image=str(image))
        page.add(case, scores(metric, case))
    first, second = page.payload.records
    assert "picture" in first["e"][0] and "left out" in second["e"][0]["pictureNote"]


def test_a_broken_image_is_said(tmp_path: Path) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG")
    page = PageWriter([*(metric := Trust(three())).members, metric])
    case = Case("1", REPORT, image=str(broken))
    page.add(case, scores(metric, case))
    assert page.payload.records[0]["e"][0]["pictureNote"].startswith("No picture: ")


def test_the_curve_needs_no_interval_and_no_choice() -> None:
    drawn = risk_coverage({"curve": [[0.2, 0.0, None, None], [1.0, 0.3, None, None]]})
    assert "polygon" not in drawn and "circle" not in drawn and "polyline" in drawn
    assert "circle" in risk_coverage({"curve": CURVE, "risk": 0.05, "coverage": 0.5, "observed": 0.0})


@pytest.mark.browser
@pytest.mark.skipif(not (shutil.which("chromium") and shutil.which("chromedriver")), reason="needs chromium")
def test_the_page_in_a_browser(tmp_path: Path, image: Path) -> None:
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs the extra browser")
    written(tmp_path / "r.html", image)
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        driver.get((tmp_path / "r.html").as_uri() + "#case=one")

        def js(script: str) -> Any:
            return driver.execute_script(script)

        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(driver, 20, 0.05).until(lambda _: js("return document.querySelector('.route') !== null"))
        assert "Review" in js("return document.querySelector('.route .badge').textContent")
        assert js("return document.querySelector('.stage img').naturalWidth") == 256
        assert js("return document.querySelectorAll('.stage .box').length") == 1
        assert js("return document.querySelectorAll('.stage .heat').length") == 2
        assert "not in the vocabulary" in js("return document.querySelector('.found').textContent")
        assert "states colon; the image looks most like <i>lung</i>" in js("return document.body.textContent")
        js("document.querySelector('.found button').click()")
        assert js("return document.querySelector('.found button').getAttribute('aria-pressed')") == "true"
        quotes = js("return [...document.querySelectorAll('.against q')].map((q) => q.textContent)")
        assert quotes == ["No necrosis.", "There is necrosis."]
        assert "Word for word the same." in js("return document.querySelector('.diffs').textContent")
        assert js("return document.querySelector('.diffs ins').textContent.trim()") == "Lymphoma."
        assert js("return document.querySelector('#case img[src=\"x\"]')") is None
        js("document.querySelector('[data-metric=\"1\"]').click()")
        assert js("return document.querySelectorAll('.text mark.sentence').length") == 2
        js("location.hash = 'case=two'")
        text = "return document.querySelector('.dial .big').textContent"
        WebDriverWait(driver, 20, 0.05).until(lambda _: js(text) == "partial")
        assert "Partial, so there is no trust value" in js("return document.querySelector('.route').textContent")
        errors = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
        assert errors == []
    finally:
        driver.quit()
