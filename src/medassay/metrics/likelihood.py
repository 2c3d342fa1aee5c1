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
    lift: subtract the log-probability of the text given nothing, so that common wording earns nothing: above 0 where
        the given text makes it likelier (pointwise mutual information per token); no bound then.
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
        requests = [(i, part, pair) for i, case in enumerate(cases) for part, pair in self._pairs(case)]
        logs = self.model.token_logs([pair for _, _, pair in requests])
        without_context = self.model.token_logs([("", text) for _, _, (_, text) in requests]) if self.lift else logs
        logs_by_case: list[dict[str, tuple[str, TokenLogs]]] = [{} for _ in cases]
        for (i, part, pair), given, unconditional in zip(requests, logs, without_context):
            counted = TokenLogs(given.logs - unconditional.logs, given.offsets) if self.lift else given
            logs_by_case[i][part] = (pair[1], counted)
        return [self._score(logs_by_part, evidence) for logs_by_part in logs_by_case]

    def _pairs(self, case: Case) -> Iterator[tuple[str, tuple[str, str]]]:
        """(part, (given text, scored text)) of a case."""
        if "precision" in self.parts:
            yield "precision", (case.references[0], case.candidate)
            yield "recall", (case.candidate, case.references[0])
        if case.has("source") and case.source is not None:
            yield "faithfulness", (case.source, case.candidate)

    def _score(self, logs_by_part: Mapping[str, tuple[str, TokenLogs]], evidence: bool) -> Score:
        values = {}
        for part, (text, logs) in logs_by_part.items():
            if not len(logs.logs):
                return Score.none(f"the model's tokenizer finds no token in the {_SIDES[part]}")
            weights = self.weights(text, logs)
            total = float(weights @ logs.logs.astype(np.float64))
            values[part] = total / float(weights.sum()) if self.formula == "normalised" else total
        if "precision" in values:
            values["f1"] = (values["precision"] + values["recall"]) / 2
        ordered = {part: values[part] for part in self.parts if part in values}
        return Score(values[self.direction], parts=ordered, evidence=self._evidence(logs_by_part) if evidence else {})

    def weights(self, text: str, logs: TokenLogs) -> Floats:
        """The weight of each token of a text."""
        return np.ones(len(logs.logs))

    def _evidence(self, logs_by_part: Mapping[str, tuple[str, TokenLogs]]) -> Mapping[str, object]:
        """The sentences that cost the score: of the candidate given the text it is held against, of the reference."""
        first = "faithfulness" if self.direction == "faithfulness" else "precision"
        shown = [part for part in (first, "recall") if part in logs_by_part]
        return {
            "sentences": [sentence for part in shown for sentence in least_likely(*logs_by_part[part], _SIDES[part])]
        }


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
    listed: list[Mapping[str, object]] = []
    for score, start, end, within in sorted(rated, key=lambda row: row[:3])[:_WEAKEST]:
        worst = within[np.argsort(logs.logs[within], kind="stable")[:_WEAKEST]]
        words = dict.fromkeys(_word(text, *logs.offsets[int(k)]) for k in sorted(worst))
        note = "least likely: " + ", ".join(words)
        listed.append({"side": side, "start": start, "end": end, "score": round(score, 4), "note": note})
    return listed


def _word(text: str, start: int, end: int) -> str:
    """The word around a token, so that a note shows no pieces of words; at most 30 characters to either side."""
    left, right = max(0, start - 30), min(len(text), end + 30)
    while start > left and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < right and text[end].isalnum() and text[end - 1].isalnum():
        end += 1
    return text[start:end]
