"""The benchmark of the GPU path, on the CPU with a tiny model: its steps, never its figures."""

from __future__ import annotations

import pytest

from benchmarks import hare_gpu
from medassay.cases import Case
from medassay.spans import Span

TINY = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
REFERENCE, CANDIDATE = "CD20 is positive. Invasive carcinoma.", "CD20 is negative. Invasive ductal carcinoma."
GIVEN = {
    REFERENCE: [Span(0, 4, "marker", 0.9), Span(8, 16, "modifier", 0.9), Span(18, 36, "diagnosis", 0.9)],
    CANDIDATE: [Span(0, 4, "marker", 0.9), Span(8, 16, "modifier", 0.9), Span(18, 43, "diagnosis", 0.9)],
}


def test_without_a_gpu_no_figure_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hare_gpu, "_cuda", lambda: False)
    (figure,) = hare_gpu.run()
    assert figure.measured.startswith("not measured") and figure.reached is None


@pytest.mark.hf
def test_every_step_runs_on_a_tiny_model() -> None:
    cases = [Case(str(i), CANDIDATE, (REFERENCE,)) for i in range(3)]
    whole, share, published = hare_gpu.measure(cases, GIVEN, TINY)
    assert "3 pairs" in whole.what and "3 scored" in whole.measured
    assert share.reached is published.reached is whole.reached is None  # the goals are set for the large model
    assert "36 of their 36" in published.measured  # three pairs, two reports, 3 × 2 ordered pairs of entities


@pytest.mark.hf
def test_decisions_are_replaced_and_work_is_counted() -> None:
    models = hare_gpu.make_models(TINY, GIVEN)
    work = hare_gpu.Work()
    network = models["ner"].network
    work.watch(network)
    assert models["ner"].spans([REFERENCE]) == [GIVEN[REFERENCE]]
    tokens = len(network.read([REFERENCE])[0].tokens) + 2
    assert work.tokens == tokens
    # Two layers of 4 × 32 × 32 and 2 × 32 × 64 weights, two operations each a token; and attention.
    weights = 2 * (4 * 32 * 32 + 2 * 32 * 64)
    assert network.multiplied == weights
    assert work.operations == 2 * weights * tokens + 4 * 32 * 2 * tokens**2


@pytest.mark.hf
def test_half_precision_is_close() -> None:
    figure = hare_gpu.precision(TINY, [REFERENCE, CANDIDATE])
    assert figure.reached
    assert "2 texts" in figure.what and "bfloat16 0.0" in figure.measured
