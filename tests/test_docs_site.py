"""The documentation site: navigation from the index page, links that lead out of docs/."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
_SPEC = importlib.util.spec_from_file_location("docs_site", ROOT / "tools" / "docs_site.py")
assert _SPEC is not None
assert _SPEC.loader is not None
docs_site = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(docs_site)

REPOSITORY = "https://example.org/project"


def test_sections_and_pages_in_the_order_of_the_index() -> None:
    index = "# All\n[x](x.md)\n## One\n| [A](a.md) | [R](../README.md) |\n"
    index += "## Two\n[B](s/b.md#top) [A](a.md)\n[C](c.md)\n"
    assert docs_site.navigation(index) == [{"Overview": "index.md"}, {"One": [{"A": "a.md"}]}, {"Two": [{"C": "c.md"}]}]


def test_every_page_is_in_the_navigation() -> None:
    navigation = docs_site.navigation((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    listed = {
        page for section in navigation[1:] for pages in section.values() for link in pages for page in link.values()
    }
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").glob("**/*.md")}
    assert pages == listed | {"index.md"}


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("index.md", "cases.md", "cases.md"),
        ("metrics/hare.md", "../cases.md#columns", "../cases.md#columns"),
        ("index.md", "https://example.org/a", "https://example.org/a"),
        ("index.md", "#here", "#here"),
        ("index.md", "../README.md#install", f"{REPOSITORY}/blob/main/README.md#install"),
        ("metrics/hare.md", "../../tests", f"{REPOSITORY}/tree/main/tests"),
        ("index.md", "metrics/", f"{REPOSITORY}/tree/main/docs/metrics"),
    ],
)
def test_links(page: str, link: str, expected: str) -> None:
    assert docs_site.outward(f"see [it]({link}).", page, REPOSITORY) == f"see [it]({expected})."


@pytest.mark.parametrize("link", ["../absent.md", "../../outside.md"])
def test_a_link_that_leads_nowhere_is_an_error(link: str) -> None:
    with pytest.raises(ValueError, match=r"docs/index\.md links to"):
        docs_site.outward(f"[it]({link})", "index.md", REPOSITORY)


def test_the_site_loads_nothing_from_elsewhere() -> None:
    page = '<script src="https://unpkg.com/iframe-worker/shim"></script>'
    assert docs_site.with_own_script(page, "metrics/hare.html") == '<script src="../assets/iframe-worker.js"></script>'
    assert (ROOT / "docs" / "assets" / "iframe-worker.js").is_file()
