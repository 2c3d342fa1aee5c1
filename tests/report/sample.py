"""A small run with every kind of evidence and with hostile text, shared by the tests of the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from medassay.cases import Case
from medassay.metrics.base import Metric
from medassay.result import Result
from medassay.scores import Score

HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=2> \u2028 & <!-- '\"`"


class Given(Metric):
    """A metric that returns what a test says."""

    summary = "a number given by the test"
    defined = "in the test"

    def __init__(
        self,
        name: str,
        rule: Callable[[Case], Score],
        *,
        bounds: tuple[float | None, float | None] = (0.0, 1.0),
        parts: tuple[str, ...] = (),
        higher_is_better: bool = True,
    ) -> None:
        super().__init__()
        self.name = name
        self.rule = rule
        self.bounds = bounds
        self.parts = parts
        self.higher_is_better = higher_is_better

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return [self.rule(case) for case in cases]


def run(cases: Sequence[Case], *metrics: Metric) -> Result:
    """The cases through the metrics."""
    return Result(tuple(cases), tuple(metrics), {metric.name: metric.score(cases) for metric in metrics})


def words_in_common(case: Case) -> Score:
    """Words found in both texts, each linked to the first place it has in the reference."""
    reference = case.reference or ""
    matches = []
    at = 0
    for word in case.candidate.split(" "):
        found = reference.find(word)
        if word and found >= 0:
            matches.append({"candidate": [at, at + len(word)], "reference": [found, found + len(word)]})
        at += len(word) + 1
    share = len(matches) / len(case.candidate.split(" "))
    return Score(share, parts={"precision": share}, evidence={"matches": matches})


def entities(case: Case) -> Score:
    """Two entities a side where the texts are long enough: one pair linked, one missed, one invented."""
    if case.reference == "short":
        return Score.none("no entity in the reference")
    evidence = {
        "entities": {
            "candidate": [
                {"start": 0, "end": 6, "type": "Site", "assertion": "present", "status": "matched"},
                {"start": 7, "end": 12, "type": "Finding", "assertion": "absent", "status": "invented"},
            ],
            "reference": [
                {"start": 0, "end": 6, "type": "Site", "assertion": "present", "status": "matched"},
                {"start": 7, "end": 12, "type": "Finding", "assertion": "present", "status": "missed"},
            ],
        },
        "links": [{"candidate": 0, "reference": 0, "similarity": 0.93, "note": "same words"}],
    }
    return Score(0.5, parts={"share": 0.5, "missed": 3.0}, evidence=evidence)


def sentences(case: Case) -> Score:
    """The first five characters cost the score; so do five of the source where there is one."""
    items = [{"side": "candidate", "start": 0, "end": 5, "score": 0.125, "note": "not supported"}]
    if case.source:
        items.append({"side": "source", "start": 0, "end": 5, "score": 0.25, "note": "left out"})
    return Score(0.3, evidence={"sentences": items, "remark": {"why": "<b>kept as data</b>"}})


def sample() -> Result:
    """Two systems on eight items: emoji, hostile text, an empty candidate, several references."""
    cases = []
    for system in ("alpha", "beta"):
        for i in range(8):
            tail = "clear margins seen" if (i + (system == "beta")) % 2 else "tumor present at ink"
            references: tuple[str, ...] = (f"Breast tumor core {i} with clear margins seen",)
            if i == 1:
                references = ("short",)
            if i == 2:
                references = ("Breast nothing alike", f"Breast tumor core {i} with clear margins seen")
            candidate = f"Breast tumor core {i} with {tail}"
            if i == 3:
                candidate = "😀 Breast tumor"
            if i == 4:
                candidate = f"Breast {HOSTILE}"
            if i == 5 and system == "beta":
                candidate = " "
            extra = {"reader": f"R{i} {HOSTILE}"} if i == 4 else {"reader": i}
            source = f"Given material {i}" if i % 2 == 0 else None
            cases.append(
                Case(f"case {i}", candidate, references, source=source, system=system, extra=extra, row=len(cases) + 2)
            )
    return run(
        cases,
        Given("overlap", words_in_common, parts=("precision",)),
        Given("entity", entities, parts=("share", "missed")),
        Given("support", sentences),
        Given("cost", lambda case: Score(float(len(case.candidate))), bounds=(0.0, None), higher_is_better=False),
    )


FEVER = Case(
    "a",
    "She has fever of 39 degrees. She takes ibuprofen daily. She denies cough.",
    ("She has fever of 38 degrees. She denies cough. She has severe nausea.",),
    source="Doctor: Do you take ibuprofen daily? Patient: Yes.",
    system="alder",
    row=2,
)
