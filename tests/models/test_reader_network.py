"""The reader's network against the library's MPNet on the same weights."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.hf
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from medassay.models.reader_network import from_mpnet  # noqa: E402


def test_the_encoder_computes_what_the_library_computes() -> None:
    torch.manual_seed(2)
    config = transformers.MPNetConfig(
        vocab_size=60, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=40, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    library = transformers.MPNetModel(config).eval()
    network = from_mpnet(library.state_dict(), dropout=0.0).eval()
    ids = torch.tensor([[0, 7, 8, 9, 2, 2, 12, 2], [0, 7, 2, 2, 5, 2, 1, 1]])
    mask = (ids != 1).long()
    with torch.no_grad():
        expected = library(input_ids=ids, attention_mask=mask).last_hidden_state
        _, states = network.encoder(ids, mask)
    assert torch.allclose(states[mask.bool()], expected[mask.bool()], atol=1e-4)


def test_heads_answer_for_the_pair_and_for_each_token() -> None:
    torch.manual_seed(2)
    config = transformers.MPNetConfig(
        vocab_size=60, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=40,
    )  # fmt: skip
    network = from_mpnet(transformers.MPNetModel(config).state_dict(), dropout=0.0).eval()
    ids = torch.tensor([[0, 7, 8, 9, 2, 2, 12, 2]])
    statement = torch.tensor([[0, 0, 0, 0, 0, 0, 1, 0]])
    with torch.no_grad():
        answers = network(ids, torch.ones_like(ids), statement)
    for heads in answers:
        assert heads["verdict"].shape == (1, 3) and heads["place"].shape == (1, 8)
    assert not torch.equal(answers[0]["verdict"], answers[1]["verdict"]), "the early heads are heads of their own"
