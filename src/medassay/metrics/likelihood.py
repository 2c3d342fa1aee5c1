"""BARTScore and MedBARTScore: how likely a text is, given another text.

Yuan et al., "BARTScore: Evaluating Generated Text as Text Generation", NeurIPS 2021, section 3: the log-probability
that a sequence-to-sequence model gives to one text after it has read the other. MedBARTScore weighs medical words
more (Ben Abacha et al., 2023, section 4.3.1). Any model of the role `likelihood` will do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, get_args

import numpy as np

from medassay.cases import Case
from medassay.metrics.base import Floats, Metric
from medassay.metrics.bertscore import inside
from medassay.metrics.settings import Range
from medassay.models.base import TokenLogs
from medassay.scores import Score

Direction = Literal["precision", "recall", "f1", "faithfulness"]
DIRECTIONS: tuple[str, ...] = get_args(Direction)
_SIDES = {"precision": "candidate", "recall": "reference", "faithfulness": "candidate"}
_WEAKEST = 3


class BartScore(Metric):
    """Mean log-probability of a text's tokens given another text: at most 0, higher is better, no lower bound.

    Parts: `precision`, the candidate given the reference; `recall`, the reference given the candidate; `f1`, their
    arithmetic mean (the paper's F); `faithfulness`, the candidate given the source, where the case has one.
    Numbers compare texts under one model; the scale is the model's own.
    models: the likelihood model; embedded: our own small encoder–decoder.
    direction: which part is the value. `faithfulness` needs the source and no reference.
    formula: `normalised` is the mean over tokens, as BARTScore computes it; `printed` the sum that both papers
        print, which punishes long texts.
    lift: take off what the text is worth given nothing, so that common wording earns nothing: above 0 where the
        given text makes it likelier (pointwise mutual information a token); no bound then.
    """

    name = "bartscore"
    summary = "how likely the candidate is given the reference, by a language model"
    defined = "Yuan et al., BARTScore, NeurIPS 2021, section 3.2"
    parts: tuple[str, ...] = DIRECTIONS
    bounds: tuple[float | None, float | None] = (None, 0.0)
    reads: frozenset[str] = frozenset({"source"})

    def __init__(
        self,
        *,
        models: str = "embedded",
        direction: Direction = "precision",
        formula: Literal["normalised", "printed"] = "normalised",
        lift: bool = False,
        references: Literal["best", "mean"] = "best",
    ) -> None:
        super().__init__(references=references)
        from medassay.models import load

        self.model = load("likelihood", models)
        self.roles = (("likelihood", models),)
        self.direction = direction
        self.formula = formula
        self.lift = lift
        if self.lift:
            self.bounds = (None, None)
        if self.direction == "faithfulness":
            self.needs = frozenset({"candidate", "source"})
            self.reads = frozenset()
            self.parts = ("faithfulness",)

    def settings(self) -> Mapping[str, object]:
        return {
            "models": self.model.name,
            "direction": self.direction,
            "formula": self.formula,
            "lift": self.lift,
        }

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        asked = [(i, part, pair) for i, case in enumerate(cases) for part, pair in self._pairs(case)]
        logs = self.model.token_logs([pair for _, _, pair in asked])
        alone = self.model.token_logs([("", text) for _, _, (_, text) in asked]) if self.lift else logs
        found: list[dict[str, tuple[str, TokenLogs]]] = [{} for _ in cases]
        for (i, part, pair), one, other in zip(asked, logs, alone):
            kept = TokenLogs(one.logs - other.logs, one.offsets) if self.lift else one
            found[i][part] = (pair[1], kept)
        return [self._score(one, evidence) for one in found]

    def _pairs(self, case: Case) -> Iterator[tuple[str, tuple[str, str]]]:
        """(part, (given text, foretold text)) of a case."""
        if "precision" in self.parts:
            yield "precision", (case.references[0], case.candidate)
            yield "recall", (case.candidate, case.references[0])
        if case.has("source") and case.source is not None:
            yield "faithfulness", (case.source, case.candidate)

    def _score(self, found: Mapping[str, tuple[str, TokenLogs]], evidence: bool) -> Score:
        values = {}
        for part, (text, logs) in found.items():
            if not len(logs.logs):
                return Score.none(f"the model's tokenizer finds no token in the {_SIDES[part]}")
            weights = self.weights(text, logs)
            total = float(weights @ logs.logs.astype(np.float64))
            values[part] = total / float(weights.sum()) if self.formula == "normalised" else total
        if "precision" in values:
            values["f1"] = (values["precision"] + values["recall"]) / 2
        ordered = {part: values[part] for part in self.parts if part in values}
        return Score(values[self.direction], parts=ordered, evidence=self._evidence(found) if evidence else {})

    def weights(self, text: str, logs: TokenLogs) -> Floats:
        """What each token of a text counts."""
        return np.ones(len(logs.logs))

    def _evidence(self, found: Mapping[str, tuple[str, TokenLogs]]) -> Mapping[str, object]:
        """The sentences that cost the score: of the candidate given the text it is held against, of the reference."""
        first = "faithfulness" if self.direction == "faithfulness" else "precision"
        shown = [part for part in (first, "recall") if part in found]
        return {"sentences": [one for part in shown for one in least_likely(*found[part], _SIDES[part])]}


class MedBartScore(BartScore):
    """BARTScore with weight 1 + α on the tokens of medical words, 1 on others; at most 0, higher is better.

    words: who finds them, as for `medbertscore`. alpha: 1 as published.
    formula: `normalised` divides the weighted sum by the sum of the weights; `printed` is the sum itself.
    """

    name = "medbartscore"
    summary = "BARTScore that counts medical words more"
    defined = "Ben Abacha et al., Evaluation Methods in Automatic Medical Note Generation, 2023, section 4.3.1"

    def __init__(
        self,
        *,
        models: str = "embedded",
        direction: Direction = "precision",
        alpha: Annotated[float, Range(0)] = 1.0,
        words: str = "linker",
        formula: Literal["normalised", "printed"] = "normalised",
        lift: bool = False,
        references: Literal["best", "mean"] = "best",
    ) -> None:
        from medassay.language.finders import finder

        super().__init__(models=models, direction=direction, formula=formula, lift=lift, references=references)
        self.alpha = float(alpha)
        self.words, self.words_name = finder(words)

    def settings(self) -> Mapping[str, object]:
        return {**super().settings(), "alpha": self.alpha, "words": self.words_name}

    def weights(self, text: str, logs: TokenLogs) -> Floats:
        return 1.0 + self.alpha * inside(logs.offsets, self.words(text))


def least_likely(text: str, logs: TokenLogs, side: str) -> list[Mapping[str, object]]:
    """The sentences of lowest mean log-probability, lowest first; the note quotes their least likely words."""
    from medassay.language.sentences import sentences

    starts = np.array([start for start, _ in logs.offsets])
    lengths = np.array([end - start for start, end in logs.offsets])
    rated = []
    for start, end in sentences(text):
        within = np.flatnonzero((starts >= start) & (starts < end) & (lengths > 0))
        if len(within):
            rated.append((float(logs.logs[within].mean(dtype=np.float64)), start, end, within))
    made: list[Mapping[str, object]] = []
    for score, start, end, within in sorted(rated, key=lambda one: one[:3])[:_WEAKEST]:
        worst = within[np.argsort(logs.logs[within], kind="stable")[:_WEAKEST]]
        words = dict.fromkeys(_word(text, *logs.offsets[int(k)]) for k in sorted(worst))
        note = "least likely: " + ", ".join(words)
        made.append({"side": side, "start": start, "end": end, "score": round(score, 4), "note": note})
    return made


def _word(text: str, start: int, end: int) -> str:
    """The word around a token, so that a note shows no pieces of words; at most 30 characters to either side."""
    left, right = max(0, start - 30), min(len(text), end + 30)
    while start > left and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < right and text[end].isalnum() and text[end - 1].isalnum():
        end += 1
    return text[start:end]
