"""Each recipe end to end on a tiny random BERT: it learns, and what it writes can be run."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from medassay.errors import InputError, ModelError, UnknownName
from medassay.training.annotation import Segment

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytestmark = pytest.mark.hf

from medassay.training import align, expert, ner, relations  # noqa: E402
from medassay.training.bert import load_encoder  # noqa: E402
from medassay.training.loop import Schedule, buckets  # noqa: E402

QUICK = Schedule(epochs=12, rate=3e-3, head_rate=1e-2, batch=8)


def test_the_split_encoder_computes_what_the_library_computes(tiny_base: Path) -> None:
    transformers = pytest.importorskip("transformers")
    theirs = transformers.BertModel.from_pretrained(tiny_base, add_pooling_layer=False).eval()
    ids = torch.tensor([[2, 5, 7, 9, 3], [2, 6, 3, 0, 0]])
    mask, sides = (ids != 0).long(), torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]])
    with torch.no_grad():
        expected = theirs(input_ids=ids, attention_mask=mask, token_type_ids=sides).last_hidden_state
        for shared in (-1, 0, 2, 4):
            ours = load_encoder(tiny_base, shared).eval()(ids, mask, sides)
            assert torch.allclose(ours[mask == 1], expected[mask == 1], atol=1e-5)


def test_a_shared_trunk_does_not_move(tiny_base: Path, segments: list[Segment]) -> None:
    before = load_encoder(tiny_base, 3).trunk.state_dict()
    model, _ = ner.train_ner(segments, tiny_base, Schedule(epochs=1, batch=8), shared=3)
    after = model.encoder.trunk.state_dict()
    assert all(torch.equal(before[name], after[name].cpu()) for name in before)


def test_ner_learns_its_training_segments(tiny_base: Path, segments: list[Segment]) -> None:
    model, tokenizer = ner.train_ner(segments, tiny_base, QUICK, shared=-1)
    found = [
        ner.char_spans(ner.words_of(tokenizer, s.text), spans)
        for s, spans in zip(segments, ner.evaluate_ner(model, tokenizer, segments))
    ]
    assert ner.span_f1([ner.gold_spans(s) for s in segments], found)["f1"] > 0.95


def test_relations_and_assertions_learn(tiny_base: Path, segments: list[Segment]) -> None:
    model, tokenizer = relations.train_re(segments, tiny_base, QUICK, shared=3, noise=0.0)
    item = relations.mark(ner.words_of(tokenizer, segments[0].text), segments[0].entities, segments[0].relations)
    assert item is not None
    ((linked, stances),) = relations.predict_relations(model, [item])
    said = {pair: bool(chance > 0.5) for pair, chance in zip(item.pairs, linked)}
    # of diagnosis-grade and finding-grade only the first is annotated
    assert said == {(2, 3): True, (0, 3): False}
    assert stances.argmax(1).tolist() == item.assertions


def test_jitter_keeps_relations_of_what_is_left(tiny_base: Path, segments: list[Segment]) -> None:
    import random

    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tiny_base / "tokenizer.json"))
    words = ner.words_of(tokenizer, segments[0].text)
    for seed in range(30):
        spoilt = relations.jitter(segments[0], words, random.Random(seed), 0.9)
        kinds = [(spoilt.entities[h].type, spoilt.entities[t].type) for h, t in spoilt.relations]
        assert kinds in ([], [("diagnosis", "grade")])
        assert all(a.end <= b.start for a, b in zip(spoilt.entities, spoilt.entities[1:]))


def test_expert_orders_pairs(tiny_base: Path) -> None:
    pairs = [expert.ScoredPair("breast carcinoma", "breast carcinoma", 5.0, "exact")] * 20
    pairs += [expert.ScoredPair("breast carcinoma", "no necrosis", 0.0, "wrong")] * 20
    model, texts = expert.train_expert(pairs, tiny_base, QUICK, limit=64)
    items = [expert.scored_item(pair, texts) for pair in (pairs[0], pairs[-1])]
    said = expert.predict_expert(model, items) @ expert.BINS
    assert said[0] > 3.5 > 1.5 > said[1]


def test_alignment_brings_synonyms_together(tiny_base: Path) -> None:
    concepts = [align.Concept("1", ("renal", "kidney")), align.Concept("2", ("ductal", "breast"))]
    concepts += [align.Concept(f"x{i}", (a, b)) for i, (a, b) in enumerate([("cd30", "ki67"), ("is", "was")])]
    plan = Schedule(epochs=40, rate=2e-3, batch=8)
    weights = align.AlignPlan(keep=0.1)
    model, texts = align.train_align(concepts, ["no necrosis", "grade 2"], tiny_base, plan, 2, weights=weights)
    vectors = align.embed(model, texts, ["renal", "kidney", "breast"])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


def test_train_command_writes_a_set_that_the_runtime_reads(
    tiny_base: Path, segments: list[Segment], tmp_path: Path
) -> None:
    pytest.importorskip("onnx")
    from medassay.models.loading import load
    from medassay.training.command import train_role

    data = tmp_path / "data.jsonl"
    with data.open("w", encoding="utf-8") as out:
        for s in segments:
            entities = [{"start": e.start, "end": e.end, "type": e.type, "assertion": e.assertion} for e in s.entities]
            row = {"id": s.id, "doc": s.doc, "text": s.text, "entities": entities, "relations": sorted(s.relations)}
            out.write(json.dumps(row) + "\n")
    figures = train_role("ner", data, str(tiny_base), tmp_path / "ner", epochs=2)
    assert 0 <= figures["f1"] <= 1
    load("ner", str(tmp_path / "ner"))
    figures = train_role("re", data, str(tiny_base), tmp_path / "re", epochs=2)
    assert 0 <= figures["assertion_accuracy"] <= 1
    load("re", str(tmp_path / "re"))
    with pytest.raises(UnknownName, match="no recipe"):
        train_role("nre", data, str(tiny_base), tmp_path / "x")
    with pytest.raises(ModelError, match=r"config\.json is missing"):
        train_role("ner", data, str(tmp_path / "absent"), tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_expert_csv_errors_name_row_and_column(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([["reference", "candidate", "score"], ["a", "b", "7"]])
    with pytest.raises(InputError, match=r"row 2: score 7\.0 lies outside"):
        expert.read_pairs(path)
    path.write_text("reference,candidate\na,b\n", encoding="utf-8")
    with pytest.raises(InputError, match="no column 'score'"):
        expert.read_pairs(path)


def test_a_base_with_a_file_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"config\.json is missing"):
        load_encoder(tmp_path)


def test_buckets_hold_every_item_once() -> None:
    groups = buckets([5, 1, 9, 3, 7, 2, 8], 3, seed=1)
    assert sorted(i for g in groups for i in g) == list(range(7))
    assert max(map(len, groups)) <= 3
