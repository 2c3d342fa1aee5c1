"""Names of a package on first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

from medassay.lazy import lazy_names

ROOMS = ["medassay", *(f"medassay.{room}" for room in ("models", "language", "study", "report", "human", "training"))]


def test_an_unknown_name_is_an_attribute_error() -> None:
    get, _ = lazy_names("medassay", {"scores": "Score"})
    with pytest.raises(AttributeError, match="module 'medassay' has no attribute 'Scores'"):
        get("Scores")


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_lists_its_names_and_loads_nothing_for_them(room: str) -> None:
    code = (
        f"import sys, {room} as room; names = dir(room); "
        "loaded = {'onnxruntime', 'torch', 'scipy', 'starlette', 'rich'} & set(sys.modules); "
        "print(sum(not name.startswith('_') for name in names), sorted(loaded))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    count, loaded = printed.split(" ", 1)
    assert int(count) >= 2
    assert loaded.strip() == "[]"
