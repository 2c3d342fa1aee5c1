"""The combination of cross-encoder and rules: by hand, and on the embedded set."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.errors import ModelError
from medassay.language.graph import read_reports
from medassay.language.inference import FEATURES, CombinedNli, combine, features, load_nli
from medassay.language.rules import CONTRADICTS, ENTAILS, Kind, RuleVerdict, compare
from medassay.models import load
from medassay.models.graphs import HOME, ModelSet
from medassay.models.nli import LABELS, EmbeddedNli

embedded = pytest.mark.skipif(not (HOME / "manifest.json").is_file(), reason="no embedded models in this checkout")

WEIGHTS = np.zeros((3, len(FEATURES)))
WEIGHTS[[0, 1, 2], [0, 1, 2]] = 1.0


def test_without_rules_the_cross_encoder_passes_through() -> None:
    chances = np.array([0.2, 0.5, 0.3], np.float32)
    assert combine(chances, [0.0] * 9, WEIGHTS) == pytest.approx((0.2, 0.5, 0.3), abs=1e-6)


def test_a_rule_shifts_its_class() -> None:
    weights = WEIGHTS.copy()
    weights[2, FEATURES.index("contradicts by structure")] = 2.0
    rules = [0.9, *[0.0] * 8]
    # odds of contradiction are multiplied by e^(2 * 0.9)
    odds = 0.3 * np.exp(1.8)
    expected = odds / (0.2 + 0.5 + odds)
    assert combine(np.array([0.2, 0.5, 0.3]), rules, weights)[2] == pytest.approx(expected, abs=1e-6)


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.lists(st.floats(0, 1), min_size=9, max_size=9))
def test_probabilities_always(chances: list[float], rules: list[float]) -> None:
    made = combine(np.array(chances), rules, WEIGHTS)
    assert sum(made) == pytest.approx(1.0)
    assert all(0.0 <= one <= 1.0 for one in made)


def test_features_take_the_greatest_weight_of_each_family() -> None:
    found = [
        RuleVerdict(CONTRADICTS, Kind.MARKER, (0, 1), (0, 1), 0.9),
        RuleVerdict(CONTRADICTS, Kind.NUMBER, (0, 1), (0, 1), 0.6),
        RuleVerdict(ENTAILS, Kind.PROFILE, (0, 1), (0, 1), 0.7),
    ]
    rules = features(("Ki-67 pending", "Ki-67 in another patient"), found)
    assert rules[:6] == [0.9, 0.0, 0.0, 0.0, 0.0, 0.7]
    assert rules[6:8] == [1.0, 1.0]
    assert 0.0 < rules[8] <= 1.0
    assert len(rules) + len(LABELS) + 1 == len(FEATURES)


@embedded
def test_a_rule_that_speaks_moves_the_embedded_answer() -> None:
    pair = ("Ki-67 is 5 %.", "Ki-67 is 90 %.")
    model = load_nli()
    assert isinstance(model, CombinedNli) and model.name == load("nli").name
    verdicts = compare(*read_reports(pair))
    assert CONTRADICTS in [verdict.label for verdict in verdicts]
    expected = combine(load("nli").probabilities([pair])[0], features(pair, verdicts), model.weights)
    np.testing.assert_allclose(model.probabilities([pair, pair]), [expected, expected], atol=1e-6)
    assert model.probabilities([]).shape == (0, 3)


@embedded
def test_it_travels_by_name() -> None:
    copy = pickle.loads(pickle.dumps(load_nli()))
    assert copy.model is load("nli"), "weights are never pickled"


@embedded
def test_weights_for_other_features_are_refused() -> None:
    models = ModelSet(HOME)
    models.manifest["roles"]["nli"] = {**models.manifest["roles"]["nli"], "combination": {"features": ["age"]}}
    with pytest.raises(ModelError, match="other features"):
        CombinedNli(EmbeddedNli(models))
