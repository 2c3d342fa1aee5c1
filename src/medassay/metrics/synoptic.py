"""synoptic: does a pathology report state what a synoptic protocol asks for, and does what it states agree?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from medassay.cases import Case
from medassay.language.synoptic import Element, SynopticReport, check_report, contradicts
from medassay.metrics.base import Metric
from medassay.scores import Score

Organ = Literal[
    "auto", "breast", "colon", "prostate", "lung", "kidney", "stomach", "skin", "thyroid", "uterus", "pancreas"
]  # fmt: skip

_COUNTED = {"present": 1.0, "absent": 0.0, "contradicted": 0.0, "inconsistent": 0.0}


class Synoptic(Metric):
    """The share of required elements that a report states without conflict; 0 to 1, higher is better.

    Elements: site, procedure, histologic type, grade, size, margins, lymphovascular invasion, nodes, pTNM, biomarkers.
    Which of them are required follows from the organ's protocol, and of a biopsy fewer are asked for. An element is
    *present*, *absent*, *contradicted* (two values that exclude one another) or *inconsistent* (it does not follow
    from another element: pT1 at 31 mm). A report that names none of the ten organs is unscored.

    Args:
        organ: the protocol; `auto` takes the organ that the report (or, with `against=reference`, the reference)
            names most.
        against: `protocol` asks for the elements of the protocol; `reference` for those that the reference states,
            and an element that the candidate states otherwise is contradicted.
        observable_only: ask only for elements that a slide of the tumour can show (site, type, grade, margins,
            lymphovascular invasion).

    >>> text = "Breast, core biopsy: invasive ductal carcinoma, grade 2. ER positive, PR positive, HER2 negative."
    >>> Synoptic().score([Case("1", text)])[0].value
    1.0
    """

    name = "synoptic"
    summary = "share of the elements of a synoptic protocol that the report states without conflict"
    defined = "medassay; elements after public knowledge of synoptic protocols for ten organs"
    needs = frozenset({"candidate"})
    parts = ("required", "present", "absent", "contradicted", "inconsistent")

    def __init__(
        self,
        *,
        organ: Organ = "auto",
        against: Literal["protocol", "reference"] = "protocol",
        observable_only: bool = False,
        references: Literal["best", "mean"] = "best",
    ) -> None:
        super().__init__(references=references)
        self.organ = organ
        self.against = against
        self.observable_only = observable_only
        if against == "reference":
            self.needs = frozenset({"candidate", "reference"})

    def settings(self) -> Mapping[str, object]:
        return {"organ": self.organ, "against": self.against, "observable_only": self.observable_only}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return [self._score(case) for case in cases]

    def _score(self, case: Case) -> Score:
        organ = None if self.organ == "auto" else self.organ
        reference = check_report(case.references[0], organ) if self.against == "reference" else None
        if self.against == "reference" and reference is None:
            return Score.none("the reference names no organ that has a protocol")
        report = check_report(case.candidate, reference.organ if reference else organ)
        if report is None:
            return Score.none("the report names no organ that has a protocol")
        conflicts = contradicts(report, reference) if reference else {}
        elements = [element for element in report.elements if self._is_asked_for(element, reference)]
        if not elements:
            return Score.none("nothing is asked of this report")
        statuses: dict[str, str] = {e.name: "contradicted" if e.name in conflicts else e.status for e in elements}
        parts = {status: float(list(statuses.values()).count(status)) for status in _COUNTED}
        value = parts["present"] / len(elements)
        rows = [_element_record(case, e, statuses[e.name], conflicts) for e in elements]
        evidence = {"organ": report.organ, "biopsy": report.biopsy, "elements": rows, "sentences": _sentences(rows)}
        return Score(value, parts={"required": float(len(elements)), **parts}, evidence=evidence)

    def _is_asked_for(self, element: Element, reference: SynopticReport | None) -> bool:
        """Whether the protocol (or the reference) asks for the element."""
        if self.observable_only and not element.observable:
            return False
        return element.required if reference is None else bool(reference.element(element.name).mentions)


def _element_record(case: Case, element: Element, status: str, conflicts: Mapping[str, Any]) -> dict[str, Any]:
    """An element as evidence: where it is stated, and why it is in conflict."""
    spans = [[mention.start, mention.end] for mention in element.mentions[:1]]
    row: dict[str, Any] = {"element": element.name, "status": status, "at": spans}
    if element.name in conflicts:
        mine, theirs = conflicts[element.name]
        row["at"] = [[mine.start, mine.end]]
        row["reason"] = f"{mine.key} {mine.value}, in the reference {theirs.value}"
        row["reference"] = [theirs.start, theirs.end]
    elif element.conflict is not None:
        row["at"] = [list(element.conflict.first), list(element.conflict.second)]
        row["reason"] = element.conflict.reason
    row["quotes"] = [case.candidate[start:end] for start, end in row["at"]]
    return row


def _sentences(elements: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The quoted spans, for the report page."""
    return [
        {
            "side": "candidate", "start": start, "end": end, "score": _COUNTED[row["status"]],
            "note": f"{row['element']}: {row['status']}" + (f", {row['reason']}" if "reason" in row else ""),
        }
        for row in elements
        for start, end in row["at"]
    ]  # fmt: skip
