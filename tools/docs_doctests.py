"""Extension of griffe (`make docs`): doctests in docstrings are shown as Python sessions, not as quoted text."""

from __future__ import annotations

import re
from typing import Any

import griffe

_SESSION = re.compile(r"^>>> .*(?:\n(?!\n).+)*", re.M)


def fenced(docstring: str) -> str:
    """The docstring with every paragraph that begins with `>>>` between fences."""
    return _SESSION.sub(lambda session: f"```pycon\n{session[0]}\n```", docstring)


class Doctests(griffe.Extension):  # type: ignore[misc]
    """Fences the doctests of everything that is documented."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Called by griffe for each module, class, function and attribute."""
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)
