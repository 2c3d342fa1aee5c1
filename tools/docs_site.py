"""Hooks of mkdocs (`make docs`): the navigation from docs/index.md, and links that lead out of docs/."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_SHIM = 'src="https://unpkg.com/iframe-worker/shim"'
_LINK = re.compile(r"\]\(([^)\s]{1,300})\)")
_PAGE = re.compile(r"\[([^\]]{1,200})\]\(([^)#\s]{1,200}\.md)\)")


def navigation(index: str) -> list[dict[str, Any]]:
    """The navigation that the index page implies: a section per heading, with the pages that it links to.

    A page belongs to the first section that links to it; links out of docs/ are left out.
    """
    sections: list[dict[str, Any]] = [{"Overview": "index.md"}]
    seen: set[str] = set()
    for part in re.split(r"^## ", index, flags=re.M)[1:]:
        heading, _, body = part.partition("\n")
        pages = []
        for title, page in _PAGE.findall(body):
            if page not in seen and not page.startswith(".."):
                seen.add(page)
                pages.append({title: page})
        if pages:
            sections.append({heading.strip(): pages})
    return sections


def outward(markdown: str, page: str, repository: str) -> str:
    """The text of a page with links that no page answers as addresses in the repository.

    These are links out of docs/ (`../README.md`) and links to folders. Raises ValueError where one leads nowhere.
    """
    folder = posixpath.dirname(f"docs/{page}")

    def rewritten(match: re.Match[str]) -> str:
        target, mark, anchor = match[1].partition("#")
        path = posixpath.normpath(posixpath.join(folder, target))
        if ":" in target or not target or (path.startswith("docs/") and not (ROOT / path).is_dir()):
            return match[0]
        if path.startswith("..") or not (ROOT / path).exists():
            raise ValueError(f"docs/{page} links to {target}, which is not there")
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"]({repository.rstrip('/')}/{kind}/main/{path}{mark}{anchor})"

    return _LINK.sub(rewritten, markdown)


def on_config(config: Any) -> Any:
    """Called by mkdocs once: sets the navigation."""
    config.nav = navigation(Path(config.docs_dir, "index.md").read_text(encoding="utf-8"))
    return config


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Called by mkdocs for each page."""
    return outward(markdown, page.file.src_uri, config.repo_url)


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Called by mkdocs for each page."""
    return with_own_script(output, page.file.dest_uri)


def on_post_template(output: str, *, template_name: str, **_: Any) -> str:
    """Called by mkdocs for each page that is no page of docs/, as 404.html."""
    return with_own_script(output, template_name)


def with_own_script(output: str, page: str) -> str:
    """The page with our own copy of the script that searching from a folder needs."""
    return output.replace(_SHIM, f'src="{"../" * page.count("/")}assets/iframe-worker.js"')
