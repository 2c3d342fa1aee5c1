"""Changes as the page sends them."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "nonsense"},
        {"kind": "set", "slot": "0", "question": "R", "value": 1},
        {"kind": "set", "slot": "case", "question": "R", "value": "many"},
        {"kind": "set", "slot": "case", "question": "R", "value": 1, "more": 1},
        {"kind": "comment", "slot": "1", "text": "x" * 5000},
        {"kind": "mark", "mark": "mark-0001", "slot": "1", "type": "fact", "start": -1, "end": 4},
    ],
)
def test_malformed_changes_are_refused_without_echo(anna, change):
    reply = anna.save(anna.tasks[0], change)
    assert reply.status_code == 422
    assert "xxxx" not in reply.text and "many" not in reply.text
