"""Embeddings of a knowledge graph's concepts, for MIST: self-adversarial negative sampling (Sun et al. 2019).

Scores of triples: TransE (h + r ≈ t), RotatE (h ∘ r ≈ t, |r| = 1) or ComplEx (Re⟨h, r, t̄⟩). Each true triple
stands against drawn concepts in place of its head and of its tail; the harder a drawn one is, the more it
counts. What MIST uses afterwards is the cosine of two concepts' vectors, so vectors start from the concepts'
names (the embedded encoder's, projected) where `names` is set, and are kept in 8 bits.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from medassay.errors import InputError
from medassay.models.activations import unit_rows
from medassay.models.base import Matrix
from medassay.models.kge import quantise, write_kge
from medassay.training.loop import pick_device, set_seed
from medassay.training.triples import Graph, Triples, obo_graph, terminology_graph
from medassay.training.umls import read_umls

Kind = Literal["transe", "rotate", "complex"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How vectors are made.

    size: numbers per concept. names: start from the concepts' names instead of random numbers. margin (γ) and
    temperature (α) as in Sun et al., equation 5. negatives: drawn concepts per batch, shared by its triples. held:
    share of the `is_a` triples that is kept out and measured.
    """

    kind: Kind = "rotate"
    size: int = 64
    names: bool = True
    epochs: int = 10
    batch: int = 2048
    negatives: int = 128
    margin: float = 6.0
    temperature: float = 1.0
    rate: float = 0.01
    held: float = 0.02
    seed: int = 0


class Embedding(nn.Module):
    """Concept and relation vectors, and the scores of triples: higher is likelier."""

    def __init__(self, concepts: int, relations: int, recipe: Recipe, start: Matrix | None) -> None:
        super().__init__()
        self.kind, self.margin = recipe.kind, recipe.margin
        initial = torch.randn(concepts, recipe.size) if start is None else torch.from_numpy(start.copy())
        # Sparse: a step touches a few thousand concepts of tens of thousands.
        self.concepts = nn.Embedding.from_pretrained(functional.normalize(initial, dim=1), freeze=False, sparse=True)
        if recipe.kind == "rotate":
            self.relations = nn.Parameter((torch.rand(relations, recipe.size // 2) - 0.5) * 0.1)
        elif recipe.kind == "complex":
            identity = torch.cat([torch.ones(relations, recipe.size // 2), torch.zeros(relations, recipe.size // 2)], 1)
            self.relations = nn.Parameter(identity + 0.1 * torch.randn_like(identity))
        else:
            self.relations = nn.Parameter(0.1 * torch.randn(relations, recipe.size))

    def unit_vectors(self, rows: Tensor) -> Tensor:
        """The concepts' vectors at unit length, so that distance and cosine give the same order."""
        return functional.normalize(self.concepts(rows), dim=1)

    def table(self) -> Tensor:
        """The vectors of all concepts, at unit length."""
        return functional.normalize(self.concepts.weight.detach(), dim=1)

    def predict_tails(self, heads: Tensor, relations: Tensor) -> Tensor:
        """The predicted vectors of the tails of (head, relation)."""
        return self._turn(heads, relations, 1.0)

    def predict_heads(self, tails: Tensor, relations: Tensor) -> Tensor:
        """The predicted vectors of the heads of (relation, tail)."""
        return self._turn(tails, relations, -1.0)

    def _turn(self, vectors: Tensor, relations: Tensor, sign: float) -> Tensor:
        r = self.relations[relations]
        if self.kind == "transe":
            return vectors + sign * r
        if self.kind == "rotate":
            real, imaginary = torch.cos(r), torch.sin(r)
        else:
            real, imaginary = r.chunk(2, dim=1)
        a, b = vectors.chunk(2, dim=1)
        return torch.cat([a * real - sign * b * imaginary, sign * a * imaginary + b * real], dim=1)

    def scores(self, where: Tensor, concepts: Tensor) -> Tensor:
        """Scores [predictions, concepts] of predicted vectors `where` with all `concepts`."""
        if self.kind == "complex":
            return self.margin * where @ concepts.T
        squares = where.square().sum(1, keepdim=True) + concepts.square().sum(1) - 2 * where @ concepts.T
        return self.margin * (1.0 - squares.clamp_min(1e-9).sqrt())

    def pair_scores(self, where: Tensor, concepts: Tensor) -> Tensor:
        """Scores [predictions] of each predicted vector with its own concept."""
        if self.kind == "complex":
            return self.margin * (where * concepts).sum(1)
        return self.margin * (1.0 - (where - concepts).square().sum(1).clamp_min(1e-9).sqrt())


def loss_of(model: Embedding, batch: Tensor, drawn: Tensor, temperature: float) -> Tensor:
    """Self-adversarial loss (Sun et al., equation 5) of a batch; drawn concepts stand in for heads and for tails."""
    heads, tails, others = model.unit_vectors(torch.cat([batch[:, 0], batch[:, 2], drawn])).split(
        [len(batch), len(batch), len(drawn)]
    )
    relations = batch[:, 1]
    total = torch.zeros((), device=batch.device)
    for where, true, ids in (
        (model.predict_tails(heads, relations), tails, batch[:, 2]),
        (model.predict_heads(tails, relations), heads, batch[:, 0]),
    ):
        false = model.scores(where, others).masked_fill(drawn[None] == ids[:, None], -1e4)
        weight = (temperature * false).softmax(1).detach()
        total = total - functional.logsigmoid(model.pair_scores(where, true)).mean()
        total = total - (weight * functional.logsigmoid(-false)).sum(1).mean()
    return total / 4


def fit_vectors(model: Embedding, triples: Triples, recipe: Recipe, epochs: int) -> list[float]:
    """Train in place on the triples, the rate falling_curve to 0; the mean loss of each epoch."""
    device = model.relations.device
    data = torch.from_numpy(triples.astype(np.int64)).to(device)
    optimisers = (
        torch.optim.SparseAdam(list(model.concepts.parameters()), lr=recipe.rate),
        torch.optim.Adam([model.relations], lr=recipe.rate),
    )
    concepts = model.concepts.num_embeddings
    total, step, losses = -(-len(data) // recipe.batch) * epochs, 0, []
    for epoch in range(epochs):
        summed = 0.0
        for some in torch.randperm(len(data), device=device).split(recipe.batch):
            for optimiser in optimisers:
                optimiser.param_groups[0]["lr"] = recipe.rate * (1.0 - step / total)
            # A drawn concept may happen to be right; among tens of thousands that is rare enough.
            drawn = torch.randint(concepts, (recipe.negatives,), device=device)
            loss = loss_of(model, data[some], drawn, recipe.temperature)
            loss.backward()
            for optimiser in optimisers:
                optimiser.step()
                optimiser.zero_grad(set_to_none=True)
            step += 1
            summed += float(loss.detach()) * len(some)
        losses.append(summed / max(1, len(data)))
        if sys.stderr.isatty():
            print(f"epoch {epoch + 1}/{epochs}  loss {losses[-1]:.4f}", file=sys.stderr)
    return losses


def link_prediction(model: Embedding, graph: Graph, test: Triples) -> dict[str, float]:
    """MRR (mean reciprocal rank, 0–1) and Hits@10 of held-out triples, heads and tails; higher is better.

    Ranks are among all concepts of the graph, less those that make another known triple and the concept that is
    asked about. Ties count in full against the true concept.
    """
    table = model.table()
    true_ends: dict[tuple[int, int, int], list[int]] = {}
    for h, r, t in graph.triples.tolist():
        true_ends.setdefault((0, h, r), []).append(t)
        true_ends.setdefault((1, t, r), []).append(h)
    ranks = []
    for some in torch.from_numpy(test.astype(np.int64)).to(table.device).split(256):
        h, r, t = some.T
        for side, known_ends, true in ((0, h, t), (1, t, h)):
            with torch.no_grad():
                where = (model.predict_heads if side else model.predict_tails)(table[known_ends], r)
                scores = model.scores(where, table)
            true_scores = scores.gather(1, true[:, None])
            for i, (concept, relation) in enumerate(zip(known_ends.tolist(), r.tolist())):
                scores[i, [concept, *true_ends[(side, concept, relation)]]] = -torch.inf
            ranks.append(1 + (scores >= true_scores).sum(1))
    rank = torch.cat(ranks).double()
    return {"mrr": float((1 / rank).mean()), "hits_at_10": float((rank <= 10).double().mean())}


def nearness(vectors: Matrix, graph: Graph, seed: int = 0, most: int = 20_000) -> dict[str, float]:
    """Mean cosine of parent and child, of siblings, and of concepts drawn at random."""
    rng = np.random.default_rng(seed)
    up = graph.triples[graph.triples[:, 1] == graph.relations.index("is_a")]
    up = up[rng.permutation(len(up))[:most]]
    children: dict[int, list[int]] = {}
    for head, _, tail in up.tolist():
        children.setdefault(tail, []).append(head)
    siblings = np.array([many[:2] for many in children.values() if len(many) > 1] or [[0, 0]])
    drawn = rng.integers(len(graph.ids), size=(most, 2))
    pairs = {"cosine_parent": up[:, [0, 2]], "cosine_sibling": siblings, "cosine_random": drawn}
    return {name: float((vectors[p[:, 0]] * vectors[p[:, 1]]).sum(1).mean()) for name, p in pairs.items()}


def name_vectors(graph: Graph) -> Matrix:
    """Unit vectors of the concepts' labels, by the embedded encoder."""
    from medassay.models import load

    encoder = load("encoder")
    texts = [label.lower() for label in graph.labels]
    parts = [encoder.embed(texts[i : i + 1024]) for i in range(0, len(texts), 1024)]
    return np.concatenate(parts)


def project(vectors: Matrix, size: int) -> Matrix:
    """The `size` directions of largest variance, mean taken out, rows at unit length."""
    centred = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T.astype(np.float64) @ centred)
    projected: Matrix = (centred @ axes[:, ::-1][:, :size]).astype(np.float32)
    unit: Matrix = unit_rows(projected)
    return unit


def make_vectors(graph: Graph, recipe: Recipe, named: Matrix | None = None) -> tuple[Matrix, dict[str, float]]:
    """Unit vectors of all concepts, and their figures.

    Link prediction is measured on triples kept out so far; then a fifth of the epochs more sees all triples.
    named: the concepts' name vectors where they have been made already.
    """
    if named is None and recipe.names:
        named = name_vectors(graph)
    set_seed(recipe.seed)
    start = project(named, recipe.size) if recipe.names and named is not None else None
    model = Embedding(len(graph.ids), len(graph.relations), recipe, start).to(pick_device())
    train, test = graph.split(recipe.held, recipe.seed)
    figures: dict[str, float] = {"concepts": len(graph.ids), "triples": len(graph.triples), "held_out": len(test)}
    fit_vectors(model, train, recipe, recipe.epochs)
    if len(test):
        figures |= link_prediction(model, graph, test)
        fit_vectors(model, graph.triples, replace(recipe, rate=recipe.rate / 4), max(1, recipe.epochs // 5))
    vectors: Matrix = model.table().cpu().numpy()
    return vectors, figures | nearness(vectors, graph)


def train_kge(
    out: Path,
    *,
    umls: Path | None = None,
    ontologies: str = "",
    sources: str = "",
    epochs: int | None = None,
    seed: int = 0,
    recipe: Recipe | None = None,
) -> dict[str, float]:
    """Train on a UMLS release, on OBO files (comma-separated) or on medassay's terminology; write a model folder.

    sources: of UMLS, the vocabularies to keep (MRCONSO's SAB), comma-separated; all where empty.
    """
    if umls is not None and ontologies:
        raise InputError("train kge: give --umls or --ontologies, not both")
    recipe = replace(recipe or Recipe(), seed=seed)
    recipe = recipe if epochs is None else replace(recipe, epochs=epochs)
    if umls is not None:
        graph = read_umls(umls, [entry.strip() for entry in sources.split(",") if entry.strip()])
    elif ontologies:
        graph = obo_graph([Path(entry.strip()) for entry in ontologies.split(",") if entry.strip()])
    else:
        graph = terminology_graph()
    vectors, figures = make_vectors(graph, recipe)
    write_kge(out, graph.ids, quantise(vectors), graph.names, graph.labels, graph.source, figures)
    return figures
