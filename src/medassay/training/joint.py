"""All tasks at once over one trunk, so that the layers they share learn from every one of them.

Freezing a general trunk costs each task a point or two; training the trunk on all tasks together
gives most of it back and still stores the trunk once. Batches of the tasks are shuffled together, one
task a step.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from medassay.models.decoding import bio_labels
from medassay.training import align, expert, ner, relations
from medassay.training.annotation import Segment
from medassay.training.bert import SplitEncoder, Trunk, load_encoder
from medassay.training.loop import Schedule, fit, set_seed

RATES = {"trunk": 2e-4, "ner": 3e-4, "re": 4e-4, "expert": 1.5e-4, "sentence": 2e-4}
"""Learning rates of the trunk and of each task's own layers; heads use the plan's head rate."""


SENTENCES = align.AlignPlan(contrast=0.5, keep=100.0, anchor=1.0)
"""In joint training the sentence task mainly keeps the trunk fit for general similarity."""


class JointModel(nn.Module):
    """Four task models whose encoders hold one and the same trunk."""

    def __init__(self, base: str | Path, shared: int, words: bool = True) -> None:
        super().__init__()

        def part() -> SplitEncoder:
            encoder = load_encoder(base, shared, frozen=False)
            assert isinstance(encoder, SplitEncoder)
            return encoder

        self.ner = ner.EntityModel(part(), len(bio_labels()))
        self.re = relations.RelationModel(part())
        self.expert = expert.ExpertModel(part())
        self.sentence = align.SentenceModel(part())
        for task in (self.re, self.expert, self.sentence):
            task.encoder.trunk = self.trunk
        # The word table is half of all weights; left as domain adaptation made it, steps are much faster.
        self.trunk.embeddings.requires_grad_(words)

    @property
    def trunk(self) -> Trunk:
        """The shared embeddings and layers."""
        return self.ner.encoder.trunk  # type: ignore[no-any-return, union-attr]


@dataclass(frozen=True)
class JointData:
    """What each task learns from; an empty part leaves the task untrained.

    `repeat` says how many epochs each task runs in one of the plan's rounds, `batch` a task's batch size
    where it is not the plan's.
    """

    gold: Sequence[ner.Words] = ()
    taught: Sequence[ner.Words] = ()
    segments: Sequence[Segment] = ()
    segment_words: Sequence[ner.Words] = ()
    pairs: Sequence[expert.PairTokens] = ()
    concepts: Sequence[align.Concept] = ()
    general: Sequence[str] = ()
    texts: align.Texts | None = None
    fixed: align.SentenceModel | None = None
    repeat: dict[str, int] = field(default_factory=dict)
    batch: dict[str, int] = field(default_factory=dict)
    sentence_steps: int = 60


Step = tuple[str, object]


def joint_batches(data: JointData, plan: Schedule, epoch: int, noise: float) -> list[Step]:
    """One round: the batches of every task, shuffled together."""
    steps: list[Step] = []
    seed = plan.seed * 6007 + epoch * 17

    def size(task: str) -> int:
        return data.batch.get(task, plan.batch)

    for again in range(data.repeat.get("ner", 1) if data.gold else 0):
        made_words = ner.entity_batches(data.gold, data.taught, size("ner"), seed + again)
        steps += [("ner", b) for b in made_words]
    for again in range(data.repeat.get("re", 1) if data.segments else 0):
        spoil = noise if (epoch + again) % 2 else 0.0
        made = relations.relation_batches(data.segments, data.segment_words, size("re"), seed + again, spoil)
        steps += [("re", b) for b in made]
    for again in range(data.repeat.get("expert", 1) if data.pairs else 0):
        steps += [("expert", b) for b in expert.pair_batches(data.pairs, size("expert"), seed + again)]
    if data.texts is not None and data.concepts:
        made_terms = align.align_batches(data.concepts, data.general, 128, seed)
        steps += [("sentence", b) for b in made_terms[: data.sentence_steps]]
    random.Random(seed).shuffle(steps)
    return steps


def fit_joint(
    model: JointModel,
    data: JointData,
    plan: Schedule,
    noise: float = 0.2,
    rates: dict[str, float] | None = None,
    weights: align.AlignPlan = SENTENCES,
) -> list[float]:
    """Train all tasks of `model` on `data`; returns the mean loss of each round."""
    set_seed(plan.seed)
    speed = {**RATES, **(rates or {})}
    shuffler = random.Random(plan.seed)

    def rate_of(name: str) -> float:
        if ".encoder.trunk." in name:
            return speed["trunk"]
        return speed[name.split(".")[0]] if ".encoder." in name else plan.head_rate

    def sentence_loss(item: align.AlignBatch) -> Tensor:
        assert data.fixed is not None and data.texts is not None
        return align.align_loss(model.sentence, data.fixed, data.texts, item, weights)

    losses: dict[str, Callable[..., Tensor]] = {
        "ner": lambda b: ner.entity_loss(model.ner, b, 1.0),
        "re": lambda b: relations.relation_loss(model.re, b, shuffler, None),
        "expert": lambda b: expert.expert_loss(model.expert, b, 1.0),
        "sentence": sentence_loss,
    }
    return fit(
        model,
        lambda epoch: joint_batches(data, plan, epoch, noise),
        lambda step: losses[step[0]](step[1]),
        plan,
        rate_of,
    )


def freeze_trunk(model: JointModel) -> None:
    """From here on only the tasks' own layers move."""
    model.trunk.requires_grad_(False)
    for task in (model.ner, model.re, model.expert, model.sentence):
        task.encoder.frozen = True


def load_joint(path: Path, base: str | Path, shared: int) -> JointModel:
    """A joint model from saved weights (safetensors, any precision)."""
    from safetensors.torch import load_file

    model = JointModel(base, shared)
    state = {name: tensor.float() for name, tensor in load_file(path).items()}
    own = model.state_dict()
    for name in own:
        # The trunk is stored once, under the entity model.
        stored = name if name in state else "ner." + name.split(".", 1)[1]
        own[name] = state[stored]
    model.load_state_dict(own)
    return model.eval()


def save_joint(model: JointModel, path: Path) -> None:
    """The joint model's weights in fp16, the trunk once."""
    from safetensors.torch import save_file

    kept = {}
    for name, tensor in model.state_dict().items():
        if ".encoder.trunk." in name and not name.startswith("ner."):
            continue
        kept[name] = tensor.detach().to(torch.float16).cpu().contiguous()
    save_file(kept, path)
