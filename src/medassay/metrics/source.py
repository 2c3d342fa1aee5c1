"""What did it invent, what did it leave out? Facts checked against the source and the reference.

Human protocol: facts are statements of a subject; hallucinated facts are those that neither the source nor the
reference bears out, omitted facts those of the reference that the candidate does not convey (Ben Abacha et al.
2023, section 3). Here each fact-sized unit (`language/facts.py`) is looked for by its words, concepts and numbers
(`language/support.py`); a logistic regression with a dozen weights, fitted on counted facts, says how likely it is
that a reader would count it. For research and quality assurance, not for clinical decisions.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from medassay.cases import Case
from medassay.language.checks import looks_english
from medassay.language.facts import Fact, facts
from medassay.language.mentions import mentions
from medassay.language.numbers import numbers
from medassay.language.support import Ground, Support, rarity, stems
from medassay.metrics.base import Metric
from medassay.metrics.scoring import over_references
from medassay.scores import Score

if TYPE_CHECKING:
    from medassay.models.base import NliModel

COUNTED = 0.5
"""Risk from which a fact is counted; facts with a concept or number that is found nowhere are quoted below it too."""

DOUBTED = 0.05
"""Risk from which a fact is put to the entailment model, where one is asked."""

CONTRADICTED = 0.8
"""Probability of contradiction from which a quoted fact is called contradicted."""

_NEGATED = re.compile(
    r"\b(?:no|not|denies|denied|deny|without|negative|never|none|non\w*|nothing|unremarkable|normal)\b", re.I
)
_AGE = re.compile(r"\b\d{1,3}[ -]?(?:year|yr|month|week|day)s?[ -]old|\by/?o\b", re.I)


@dataclass(frozen=True, slots=True)
class Weights:
    """A fitted logistic regression over facts, and how the rate of a text is made of their risks.

    features, weights, constant: what it looks at. prior: facts without risk that every text is given beside its
    own, so that one doubtful fact in a text of one is no rate of 1. power: 2 counts doubtful facts less than in
    proportion, so that many small doubts do not add up to one invention.
    """

    features: tuple[str, ...]
    weights: tuple[float, ...]
    constant: float
    prior: float
    power: float

    def rate(self, risks: Sequence[float]) -> float:
        """The rate of a text, 0 to 1, from the risks of its facts."""
        return math.fsum(risk**self.power for risk in risks) / (len(risks) + self.prior)

    def risk(self, row: Mapping[str, float]) -> float:
        """The probability that a reader would count the fact, 0 to 1."""
        z = self.constant + sum(weight * row[name] for name, weight in zip(self.features, self.weights))
        return 1.0 / (1.0 + math.exp(-max(min(z, 60.0), -60.0)))


@lru_cache(maxsize=1)
def _stored() -> dict[str, Any]:
    text = (files("medassay.metrics") / "source_weights.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@lru_cache(maxsize=16)
def weights_of(metric: str, given: str) -> Weights:
    """The fitted weights of a metric for what it is given: `both`, `reference` or `source`."""
    one = _stored()[metric][given]
    numbers_of = (float(one[name]) for name in ("constant", "prior", "power"))
    return Weights(tuple(one["features"]), tuple(one["weights"]), *numbers_of)


@dataclass(frozen=True, slots=True)
class Checked:
    """One fact with what was found about it: `side` is where it stands, `row` what the regression looks at.

    lacking: its concepts and numbers that are found nowhere. stretches: where most of it is found, a text each side.
    """

    side: str
    fact: Fact
    row: Mapping[str, float]
    lacking: tuple[str, ...]
    stretches: tuple[str, ...]


class _Rate(Metric):
    """Shared by both rates: facts checked one by one, their risks averaged.

    entailment: put doubted facts to the `nli` role of `models` too; one that follows from the stretch that has most
        of its words keeps down to half its risk, and one that contradicts it is quoted as contradicted.
    """

    needs = frozenset({"candidate"})
    reads = frozenset({"source", "reference"})
    parts = ("facts", "counted")
    higher_is_better = False
    verdict: ClassVar[str]

    def __init__(
        self, *, entailment: bool = False, models: str = "embedded", references: Literal["best", "mean"] = "best"
    ) -> None:
        super().__init__(references=references)
        self.nli: NliModel | None = None
        if entailment:
            from medassay.language.inference import load_nli

            self.nli = load_nli(models)
            self.roles = (("nli", models),)

    def settings(self) -> Mapping[str, object]:
        return {"weights": _stored()["version"], "entailment": self.nli.name if self.nli else False}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return [self._one(case) for case in cases]

    def check(self, case: Case) -> tuple[str, list[Checked]]:
        """What the facts were checked with (`both`, `reference`, `source`), and each fact."""
        raise NotImplementedError

    def _one(self, case: Case) -> Score:
        if not case.references and not case.has("source"):
            return Score.none("no source and no reference; it needs one of them")
        foreign = _foreign(case)
        if foreign:
            return Score.none(f"{foreign} is not English")
        given, checked = self.check(case)
        if not checked:
            return Score.none(f"no fact found in the {'candidate' if self.name == 'hallucination' else given}")
        weights = weights_of(self.name, given)
        risks = [weights.risk(one.row) for one in checked]
        against = self._ask(checked, risks)
        shown = [
            {
                "side": one.side,
                "start": one.fact.start,
                "end": one.fact.end,
                "score": round(risk, 3),
                "note": f"{verdict}: {', '.join(one.lacking)}" if one.lacking else verdict,
            }
            for risk, verdict, one in zip(risks, against, checked)
            if risk >= COUNTED or one.lacking or verdict != self.verdict
        ]
        parts = {"facts": float(len(risks)), "counted": float(sum(risk >= COUNTED for risk in risks))}
        return Score(weights.rate(risks), parts=parts, evidence={"sentences": shown} if shown else {})

    def _ask(self, checked: Sequence[Checked], risks: list[float]) -> list[str]:
        """Put doubted facts to the entailment model: lowers their risks, and gives a verdict in words for each."""
        verdicts = [self.verdict] * len(checked)
        if self.nli is None:
            return verdicts
        asked = [i for i, one in enumerate(checked) if risks[i] >= DOUBTED or one.lacking]
        pairs = [(stretch, checked[i].fact.text) for i in asked for stretch in self._premises(checked[i])]
        answers = iter(self.nli.probabilities(pairs).tolist())
        for i in asked:
            each = [next(answers) for _ in self._premises(checked[i])]
            entailed = max((one[0] for one in each), default=0.0)
            risks[i] *= 1.0 - entailed / 2
            if max((one[2] for one in each), default=0.0) >= CONTRADICTED:
                verdicts[i] = "contradicted"
        return verdicts

    @staticmethod
    def _premises(one: Checked) -> list[str]:
        return [stretch for stretch in one.stretches if stretch]


def _foreign(case: Case) -> str | None:
    """Which text of a case is in a language that the lexicons do not know."""
    texts = {"candidate": [case.candidate], "reference": case.references, "source": [case.source or ""]}
    return next((side for side, some in texts.items() if not all(map(looks_english, some))), None)


class Hallucination(_Rate):
    """Rate of invented facts: 0 (everything is borne out) to 1; lower is better.

    Each fact of the candidate is looked for in the source and in the references, whichever are given; best with
    both. The evidence quotes the facts that nothing bears out and says which of their words, concepts or numbers
    are found nowhere. Parts: `facts` of the candidate, and how many of them are `counted` as invented.
    """

    name = "hallucination"
    summary = "rate of facts that neither source nor reference bears out, quoted"
    defined = "medassay; the rate is that of Ben Abacha et al. 2023, section 3"
    verdict = "not borne out"

    def check(self, case: Case) -> tuple[str, list[Checked]]:
        grounds = {}
        if case.references:
            grounds["reference"] = Ground(case.references)
        if case.source and case.has("source"):
            grounds["source"] = Ground([case.source])
        given = "both" if len(grounds) == 2 else next(iter(grounds))
        text = case.candidate
        own = facts(text)
        most = grounds["reference"].most_facts() if "reference" in grounds else len(own)
        surplus = max(0, len(own) - most) / max(len(own), 1)
        said: set[str] = set()
        checked = []
        for fact in own:
            row, lacking, stretches = _invention(text[fact.start : fact.end], fact, grounds)
            content = set(stems(text[fact.start : fact.end]))
            row["said before"] = len(content & said) / len(content) if content else 0.0
            row["surplus"] = surplus
            said |= content
            checked.append(Checked("candidate", fact, row, lacking, stretches))
        return given, checked


def _invention(
    said: str, fact: Fact, grounds: Mapping[str, Ground]
) -> tuple[dict[str, float], tuple[str, ...], tuple[str, ...]]:
    """What of a candidate's fact the grounds bear out, what none of them has, and where each has most of it."""
    content = list(dict.fromkeys(stems(said)))
    named = mentions(said)
    values = numbers(said)
    row: dict[str, float] = {}
    stretches = []
    for side, ground in grounds.items():
        found = ground.support(content, named, [number.value for number in values])
        row[f"{side} words"], row[f"{side} together"] = found.words, found.together
        stretches.append(ground.stretch(found.best))
    total = sum(map(rarity, content))
    new = [stem for stem in content if not any(stem in ground.stems for ground in grounds.values())]
    concepts = [one for one in named if not any(ground.names(one) for ground in grounds.values())]
    unknown = [n for n in values if not any(n.value in ground.numbers for ground in grounds.values())]
    row["words"] = 1.0 - sum(map(rarity, new)) / total if total else 1.0
    row["new concepts"] = float(min(len(concepts), 2))
    row["new numbers"] = float(bool(unknown))
    row["negated"] = float(_NEGATED.search(fact.text) is not None)
    row["new age"] = float(bool(unknown) and _AGE.search(fact.text) is not None)
    spans = [(one.start, one.end) for one in concepts] + [(n.start, n.end) for n in unknown]
    return row, tuple(dict.fromkeys(said[a:b] for a, b in sorted(spans))), tuple(stretches)


class Omission(_Rate):
    """Rate of facts that the candidate leaves out: 0 (everything is conveyed) to 1 (nothing is); lower is better.

    With a reference, its facts are looked for in the candidate; without one, the facts of the source that name
    something clinical. Facts that name a concept or a number count more than those that do not. The evidence
    quotes the facts that are missing. Parts: `facts` looked for, and how many of them are `counted` as missing.
    """

    name = "omission"
    summary = "rate of the reference's (or source's) facts that the candidate leaves out, quoted"
    defined = "medassay; the rate is that of Ben Abacha et al. 2023, section 3"
    verdict = "left out"

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        made = []
        for case in cases:
            each = [self._one(replace(case, references=(text,))) for text in case.references] or [self._one(case)]
            made.append(each[0] if len(each) == 1 else over_references(self, each))
        return made

    def check(self, case: Case) -> tuple[str, list[Checked]]:
        side = "reference" if case.references else "source"
        text = case.references[0] if case.references else case.source or ""
        ground = Ground([case.candidate])
        wanted = facts(text)
        if side == "source":
            wanted = [fact for fact in wanted if fact_weight(fact.text) > 0]
        size = len(stems(case.candidate)), len(stems(text))
        shorter = math.log((size[0] + 1) / (size[1] + 1))
        checked = []
        for fact in wanted:
            content = list(dict.fromkeys(stems(fact.text)))
            named = mentions(fact.text)
            values = [number.value for number in numbers(fact.text)]
            found = ground.support(content, named, values)
            lacking = tuple(dict.fromkeys(fact.text[one.start : one.end] for one in named if not ground.names(one)))
            row = _loss(found, named, values, shorter, fact)
            checked.append(Checked(side, fact, row, lacking, (ground.stretch(found.best),)))
        return side, checked


def _loss(
    found: Support, named: Sequence[object], values: Sequence[float], shorter: float, fact: Fact
) -> dict[str, float]:
    return {
        "words": found.words,
        "together": found.together,
        "concepts": found.concepts / len(named) if named else 0.0,
        "numbers": found.numbers / len(values) if values else 0.0,
        "clinical": float(bool(named)),
        "negated": float(_NEGATED.search(fact.text) is not None),
        "shorter": min(shorter, 0.5),
    }


def fact_weight(text: str) -> float:
    """What a fact counts: 1 where it names something clinical, half with a number alone, else 0."""
    if mentions(text):
        return 1.0
    return 0.5 if numbers(text) else 0.0
