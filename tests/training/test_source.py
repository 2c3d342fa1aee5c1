"""The recipe of the two rates: what is fitted comes back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from medassay.metrics.source import Weights
from medassay.training.quality import FactPair
from medassay.training.source import FactTable, Plan, fit_rate, out_of_fold, rates_of, write_weights


def made(seed: int = 0, texts: int = 400) -> tuple[FactTable, np.ndarray]:
    rng = np.random.default_rng(seed)
    text = np.repeat(np.arange(texts), 4)
    table = FactTable(("a", "b"), rng.normal(size=(len(text), 2)), text)
    return table, rates_of(table, Weights(("a", "b"), (1.5, -1.0), -1.0, 0.0, 1.0), texts)


def test_known_weights_are_found_again() -> None:
    table, rates = made()
    found = fit_rate(table, rates, np.ones(len(rates)), Plan(0.0, 1.0, 0.0))
    assert np.allclose([*found.weights, found.constant], [1.5, -1.0, -1.0], atol=1e-4)


def test_a_penalty_shrinks_and_left_out_texts_do_not_count() -> None:
    table, rates = made()
    half = np.arange(len(rates)) < 200
    spoiled = np.where(half, rates, 1.0)
    found = fit_rate(table, spoiled, half.astype(float), Plan(0.0, 1.0, 0.0))
    shrunk = fit_rate(table, rates, np.ones(len(rates)), Plan(0.0, 1.0, 50.0))
    assert np.allclose(found.weights, [1.5, -1.0], atol=1e-3)
    assert abs(shrunk.weights[0]) < 1.4


def pairs() -> list[FactPair]:
    drugs = ("lisinopril", "aspirin", "metformin", "insulin", "warfarin", "ibuprofen", "codeine", "morphine")
    out = []
    for i, drug in enumerate(drugs):
        reference = f"The patient takes {drug}. Denies fever."
        source = f"Doctor: What do you take? Patient: {drug.title()}. Doctor: Fever? Patient: No."
        out.append(FactPair(str(i), reference, reference, source, (1.0, 1.0, 0.0, 0.0)))
        wrong = f"The patient has melanoma and diabetes. {'Denies fever.' if i % 2 else ''}"
        out.append(FactPair(str(i), reference, wrong, source, (0.3, 0.3, 0.6, 0.7)))
    return out


def test_held_out_rates_tell_the_two_kinds_apart() -> None:
    for metric in ("hallucination", "omission"):
        rates = out_of_fold(pairs(), metric, "reference")
        assert rates[1::2].min() > rates[::2].max()


def test_written_as_the_metrics_read_it(tmp_path: Path) -> None:
    write_weights(pairs(), tmp_path / "weights.json", "trial")
    stored = json.loads((tmp_path / "weights.json").read_text())
    assert stored["version"] == "trial"
    assert set(stored["hallucination"]) == {"both", "reference", "source"}
    one = stored["omission"]["reference"]
    assert len(one["features"]) == len(one["weights"]) and one["power"] == 1.0
