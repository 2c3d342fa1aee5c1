"""One key, one meaning: the key tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from medassay.human.protocols import PROTOCOLS, load_protocol
from medassay.human.web.keys import FLAG_KEYS, GENERAL, HIGHLIGHTS, MARK_KEYS, keys_of

STATIC = Path(__file__).parents[3] / "src/medassay/human/web/static"


def test_no_key_stands_twice():
    listed = [key for shown, _ in (*GENERAL, *HIGHLIGHTS) for key in shown.split()]
    assert len(listed) == len(set(listed))
    assert {*MARK_KEYS.values(), *FLAG_KEYS.values()} == {key for key, _ in HIGHLIGHTS}


def test_the_keys_the_page_listens_to_are_the_keys_it_lists():
    block = re.search(r"const keys = \{(.*?)\n\};", (STATIC / "task.js").read_text(encoding="utf-8"), re.S)
    assert block is not None
    wired = set(re.findall(r'^  (?:"(.)"|(\w)):', block[1], re.M))
    listed = {key for shown, _ in GENERAL for key in shown.replace("Shift+u", "U").split()}
    assert {a or b for a, b in wired} == listed - {"←", "→", "Enter", "0", "…", "9", "Esc"}


def test_the_documentation_lists_the_same_keys():
    page = (Path(__file__).parents[3] / "docs/human/annotating.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+?`) \| (.+) \|$", page, re.M)
    written = [(shown.replace("`", ""), text) for shown, text in rows]
    assert written == [*HIGHLIGHTS, *GENERAL]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_highlight_of_a_protocol_has_its_own_key_on_its_side(name):
    marks = load_protocol(name).marks
    for side in ("reference", "candidate"):
        keys = [MARK_KEYS[kind.name] for kind in marks if kind.side == side]
        assert len(keys) == len(set(keys))
    shown = keys_of([kind.name for kind in marks], [flag for kind in marks for flag in kind.flags])
    assert len(shown) >= len(GENERAL)
