"""`medassay models`: the inventory as columns, and its exit codes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from medassay.commands.models import print_items
from medassay.models.inventory import Item


def test_columns_are_aligned_and_control_characters_shown(capsys: pytest.CaptureFixture[str]) -> None:
    print_items(
        [
            Item("ner", "mine\x1b[31m", "model.safetensors", 1_500_000, "MIT", "ok"),
            Item("re", "hub/model", "", None, "", "not fetched", "medassay models fetch hub/model"),
        ]
    )
    head, first, _, remedy = capsys.readouterr().out.splitlines()
    assert head.split() == ["role", "source", "file", "size", "licence", "state"]
    assert "\x1b" not in first and "mine�[31m" in first and "1.5 MB" in first
    assert remedy == "to get it: medassay models fetch hub/model"


def test_a_folder_without_models_is_an_error(tmp_path: Path, medassay: Callable) -> None:
    assert medassay("models", "check", tmp_path / "absent").code == 2
