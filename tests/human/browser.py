"""A running server and a browser window, in the words of the tests."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
HOSTILE = '<script>window.hacked=1</script><img src=x onerror="window.hacked=1"><svg onload="window.hacked=1">'
ROWS = [
    (
        "c1",
        "alpha",
        "A 61-year-old man 😀 on lisinopril for blood pressure.",
        "Man, 61, lisinopril.",
        "He is 61. " * 60,
    ),
    ("c1", "beta", f"A woman {HOSTILE} with asthma.", "Man, 61, lisinopril.", "He is 61. " * 60),
    ("c2", "alpha", "Appendix removed today.", f"Appendicectomy. {HOSTILE}", f"Op note. {HOSTILE}"),
    ("c2", "beta", "Gallbladder removed.", f"Appendicectomy. {HOSTILE}", f"Op note. {HOSTILE}"),
]
OPTIONS = (
    "--headless=new --no-sandbox --disable-gpu --disable-background-networking "
    "--disable-component-update --disable-sync --no-first-run"
)


def start_browser(profile: str) -> Any:
    """Debian's Chromium, headless, with a profile of its own."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in [*OPTIONS.split(), f"--user-data-dir={profile}"]:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))


class Served:
    """A running server, in a thread of this process."""

    def __init__(self, app: Any) -> None:
        import uvicorn

        self.app, self.context = app, app.state.context
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", access_log=False))
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.02)

    def link(self, name: str) -> str:
        access = self.context.access
        return f"{self.url}/enter/{access.coordinator_link() if name == 'coordinator' else access.link(name, 0)}"

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(10)
        self.context.store.close()


class Page:
    """A browser window, in the words of the tests."""

    def __init__(self, driver: Any, url: str, width: int = 1366, height: int = 900) -> None:
        self.driver = driver
        driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.size(width, height)
        driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
        driver.get(url)

    def size(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def js(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def one(self, css: str) -> Any:
        self.until(lambda: self.driver.find_elements("css selector", css), css)
        return self.driver.find_element("css selector", css)

    def text(self, css: str) -> str:
        return str(self.one(css).get_property("innerText"))

    def value(self, css: str) -> str:
        return str(self.one(css).get_property("value"))

    def until(self, true: Callable[[], Any], what: str = "") -> None:
        for _ in range(400):
            if true():
                return
            time.sleep(0.03)
        raise AssertionError(f"did not come true: {what}")

    def ready(self) -> None:
        self.until(lambda: self.js("return document.body.dataset.ready === 'yes'"), "page ready")

    def saved(self) -> None:
        self.until(lambda: self.text("#saved-text") == "Saved", "saved")

    def show(self, slot: str) -> None:
        self.js(f"document.getElementById('tab-{slot}').click()")

    def close_guide(self) -> None:
        self.js("document.getElementById('guide').hidden || document.getElementById('guide-close').click()")
        self.js("document.activeElement.blur()")

    def stored_locally(self) -> int:
        """How many tasks' worth of unsent changes this browser holds."""
        return int(self.js("return Object.keys(localStorage).filter(k => /^medassay:[0-9a-f]+:/.test(k)).length"))

    def network(self, *, online: bool) -> None:
        conditions = {"offline": not online, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)
        if online:
            self.js("window.dispatchEvent(new Event('online'))")

    def leaves(self, address: str) -> None:
        self.until(lambda: self.js("return location.pathname") != address, "next page")

    def click(self, css: str) -> None:
        element = self.one(css)
        self.js("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def press(self, *keys: str) -> None:
        for key in keys:
            # A dialog that has just closed may hold the focus for one more frame.
            self.until(
                lambda: self.js("return document.activeElement.checkVisibility()"), "something visible has focus"
            )
            self.driver.switch_to.active_element.send_keys(key)

    def type(self, css: str, text: str) -> None:
        element = self.one(css)
        self.js("arguments[0].scrollIntoView({block: 'center'}); arguments[0].focus(); arguments[0].select()", element)
        element.send_keys(text)

    def select(self, css: str, start: int, end: int) -> None:
        """Select characters (UTF-16) of a text as a mouse would, and wait for the small menu."""
        self.js(
            """const node = arguments[0]; const walk = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
            const range = document.createRange(); let at = 0, set = false;
            for (let t = walk.nextNode(); t; t = walk.nextNode()) {
              if (!set && arguments[1] < at + t.length) { range.setStart(t, arguments[1] - at); set = true; }
              if (arguments[2] <= at + t.length) { range.setEnd(t, arguments[2] - at); break; }
              at += t.length; }
            node.scrollIntoView({block: 'center'});
            getSelection().removeAllRanges(); getSelection().addRange(range);""",
            self.one(css), start, end,
        )  # fmt: skip
        self.until(lambda: self.js("return !document.getElementById('palette').hidden"), "palette")

    def answer(self, slot: str, r: int, g: int, rg: int, c: int) -> None:
        self.type("#q-case-R", str(r))
        for name, value in (("G", g), ("RG", rg), ("C", c)):
            self.type(f"#q-{slot}-{name}", str(value))
        self.click(f"#answers-{slot} .choice-field label")


def keys() -> Any:
    from selenium.webdriver.common.keys import Keys

    return Keys


def open_task(driver: Any, served: Served, name: str = "anna", width: int = 1400, height: int = 900) -> Page:
    page = Page(driver, served.link(name), width, height)
    page.click("#go-on")
    page.ready()
    page.close_guide()
    return page
