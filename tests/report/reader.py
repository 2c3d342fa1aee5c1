"""A report page as a browser reads it, and the page of a result."""

from __future__ import annotations

import base64
import json
import zlib
from html.parser import HTMLParser
from typing import Any

from medassay.report.page import PageWriter
from medassay.result import Result


class PageReader(HTMLParser):
    """What a browser would see: elements with attributes, and the text of scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[tuple[str, dict[str, str | None], str]] = []
        self.shown: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.raw.append((tag, dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem:
            tag, attrs, text = self.raw[-1]
            self.raw[-1] = (tag, attrs, text + data)
        else:
            self.shown.append(data)

    @property
    def data(self) -> dict[str, Any]:
        text = next(text for tag, attrs, text in self.raw if attrs.get("type") == "application/json")
        loaded = json.loads(text)
        if isinstance(loaded, str):
            loaded = json.loads(zlib.decompress(base64.b64decode(loaded)))
        assert isinstance(loaded, dict)
        return loaded

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.shown).split())


def html_of(result: Result, **options: Any) -> str:
    writer = PageWriter(result.metrics, **options)
    for i, case in enumerate(result.cases):
        writer.add(case, {name: scores[i] for name, scores in result.scores.items()})
    return writer.html(result.summary("system", resamples=50))
