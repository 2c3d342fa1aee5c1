"""`medassay train`: what it needs is said."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import pytest


def test_training_without_torch_says_what_to_install(medassay: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else found(name))
    ran = medassay("train", "ner", "--data", "segments.jsonl", "--base", "bert", "--out", "model")
    assert ran.code == 2
    assert ran.err == "medassay: training needs the extra 'train': pip install 'medassay[train]'\n"


def test_training_names_the_option_that_is_missing(medassay: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    ran = medassay("train", "ner", "--out", "model")
    assert (ran.code, ran.err) == (2, "medassay: train ner: give --data (see medassay train --help)\n")


def test_the_paper_preset_keeps_epochs_and_seed(medassay: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    asked = []
    monkeypatch.setattr("medassay.training.command.train_role", lambda *given: asked.append(given) or {"f1": 1.0})
    given = ("--data", "segments.jsonl", "--base", "bert", "--out", "model", "--preset", "paper")
    assert medassay("train", "ner", *given, "--epochs", 3, "--seed", 7).code == 0
    assert asked[0][4:7] == ("paper", 3, 7)
