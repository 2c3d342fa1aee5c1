"""From a trust score to a route: deploy, review or reject, by a policy that a file can hold.

A policy is a few numbers: the weights of the dimensions, the trust from which a report may be deployed, the
trust below which it is rejected, floors for single dimensions. The default ones are conservative guesses
(`docs/trust.md`); `medassay trust-study calibrate` sets them from labelled data, to a chosen risk, and writes
down on what. Routing is for research and quality assurance: it orders the work of people, it does not release
reports.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from medassay import __version__
from medassay.errors import InputError, MedassayError, nearest

DIMENSIONS = ("grounding", "logic", "stability")
PUBLISHED = {"grounding": 0.4, "logic": 0.3, "stability": 0.3}
"""PathGLS, section 3.1: found by grid search on the authors' held-out data."""
DEPLOY, REJECT, FLOOR = 0.85, 0.40, 0.50
"""Defaults without calibration; docs/trust.md explains them."""

Route = Literal["deploy", "review", "reject"]

_REMEDY = "make one with medassay trust-study calibrate"


@dataclass(frozen=True)
class Policy:
    """How trust is made of its dimensions, and what follows from it.

    weights: of the dimensions, sum 1; a dimension of weight 0 is not part of trust.
    deploy: trust from which a whole score deploys; None: nothing deploys. reject: trust below which a report
    is rejected; None: nothing is. floors: what each dimension must reach before a report deploys.
    contradictions: what happens to a report that would deploy though logic found a contradiction in it, since many
    sound statements can outweigh one in the mean. calibration: data, n, risk and bound where the thresholds were set
    from labels; empty where they are defaults. A report whose trust is partial never deploys.
    """

    name: str = "default-1"
    weights: Mapping[str, float] = field(default_factory=lambda: dict(PUBLISHED))
    deploy: float | None = DEPLOY
    reject: float | None = REJECT
    floors: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(DIMENSIONS, FLOOR))
    contradictions: Literal["review", "deploy"] = "review"
    calibration: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", checked_weights(self.weights))
        for what, value in (("deploy", self.deploy), ("reject", self.reject), *self.floors.items()):
            if value is not None and not (isinstance(value, int | float) and 0 <= value <= 1):
                raise MedassayError(f"policy '{self.name}': {what} is {value}; it must lie between 0 and 1")
        if self.deploy is not None and self.reject is not None and self.reject > self.deploy:
            raise MedassayError(
                f"policy '{self.name}': rejects below {self.reject:g} but deploys from {self.deploy:g}; "
                "the first must not be above the second"
            )
        if self.contradictions not in ("review", "deploy"):
            raise MedassayError(
                f"policy '{self.name}': contradictions is '{self.contradictions}'; use review or deploy"
            )

    @property
    def used(self) -> tuple[str, ...]:
        """The dimensions that trust is made of."""
        return tuple(name for name in DIMENSIONS if self.weights[name] > 0)

    @property
    def digest(self) -> str:
        """A short hash of what decides: two policies that route alike share it."""
        content = json.dumps([dict(self.weights), self.deploy, self.reject, dict(self.floors), self.contradictions])
        return hashlib.sha256(content.encode()).hexdigest()[:8]

    def route(
        self, trust: float | None, dimensions: Mapping[str, float], partial: str, contradictions: int = 0
    ) -> tuple[Route, str]:
        """Where a report goes, and why in a few words.

        trust: None where it is partial. dimensions: those that were assessed in full. partial: what is missing, or "".
        contradictions: how many logic quotes. A report of partial trust is rejected only where it would be even if
        all that is missing were perfect.
        """
        if trust is None:
            return self._route_partial(dimensions, partial, contradictions)
        if self.reject is not None and trust < self.reject:
            return "reject", f"trust {trust:.3f} is below {self.reject:.3g}"
        if self.deploy is None:
            return "review", "the policy deploys nothing"
        if trust < self.deploy:
            return "review", f"trust {trust:.3f} is below {self.deploy:.3g}"
        low = [name for name in self.used if name in dimensions and dimensions[name] < self.floors.get(name, 0.0)]
        if low:
            return "review", f"{low[0]} {dimensions[low[0]]:.3f} is below its floor {self.floors[low[0]]:g}"
        if contradictions and self.contradictions == "review" and "logic" in self.used:
            return "review", f"the report contradicts itself ({contradictions} found)"
        return "deploy", f"trust {trust:.3f} reaches {self.deploy:.3g}"

    def _route_partial(self, dimensions: Mapping[str, float], partial: str, contradictions: int) -> tuple[Route, str]:
        most = 1.0 - math.fsum(self.weights[name] * (1.0 - value) for name, value in dimensions.items())
        if self.reject is not None and most < self.reject:
            return "reject", f"trust is partial and below {self.reject:.3g} whatever is missing ({partial})"
        if contradictions and self.contradictions == "review" and "logic" in self.used:
            return "review", f"the report contradicts itself ({contradictions} found); trust is partial ({partial})"
        return "review", f"trust is partial ({partial})"

    def to_json(self) -> str:
        """The policy file."""
        record = {
            "medassay": __version__,
            "kind": "trust policy",
            "name": self.name,
            "weights": dict(self.weights),
            "deploy": self.deploy,
            "reject": self.reject,
            "floors": dict(self.floors),
            "contradictions": self.contradictions,
            "calibration": dict(self.calibration),
        }
        return json.dumps(record, ensure_ascii=False, indent=1) + "\n"


def checked_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights of all three dimensions, scaled to sum 1.

    >>> checked_weights({"grounding": 2, "logic": 1, "stability": 1})
    {'grounding': 0.5, 'logic': 0.25, 'stability': 0.25}
    """
    for name, value in weights.items():
        if name not in DIMENSIONS:
            raise MedassayError(f"weights: no dimension '{name}'{nearest(name, DIMENSIONS)}; {_WEIGHTS_FORMAT}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise MedassayError(f"weights: {name} is {value}; a weight is a number of at least 0")
    total = math.fsum(weights.values())
    if total <= 0:
        raise MedassayError(f"weights: all are 0; {_WEIGHTS_FORMAT}")
    # Six decimals: 0.4 / 1.0 stays 0.4 whatever the sum was rounded to.
    return {name: round(weights.get(name, 0.0) / total, 6) for name in DIMENSIONS}


_WEIGHTS_FORMAT = "write 0.4,0.3,0.3 (grounding, logic, stability) or grounding=0.4,logic=0.3,stability=0.3"


def parse_weights(text: str) -> dict[str, float]:
    """Weights as typed; commas, colons or spaces between them.

    >>> parse_weights("0.5,0.5,0"), parse_weights("logic=1")
    ({'grounding': 0.5, 'logic': 0.5, 'stability': 0.0}, {'grounding': 0.0, 'logic': 1.0, 'stability': 0.0})
    """
    items = [item for item in re.split(r"[,;:\s]+", text.strip()) if item]
    named = [item.partition("=") for item in items]
    if not all(equals for _, equals, _ in named) and len(items) != len(DIMENSIONS):
        raise MedassayError(f"weights: '{text}' has {len(items)} numbers, not three; {_WEIGHTS_FORMAT}")
    try:
        if all(equals for _, equals, _ in named):
            return checked_weights({name: float(value) for name, _, value in named})
        return checked_weights(dict(zip(DIMENSIONS, map(float, items))))
    except ValueError:
        raise MedassayError(f"weights: '{text}' is not made of numbers; {_WEIGHTS_FORMAT}") from None


def read_policy(path: Path) -> Policy:
    """A policy from its file."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); {_REMEDY}") from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); {_REMEDY}") from error
    if not isinstance(record, dict) or record.get("kind") != "trust policy":
        raise InputError(f"{path}: not a trust policy; {_REMEDY}")
    if record.get("partial", "review") != "review":
        raise InputError(
            f"{path}: partial is '{record['partial']}', but partial trust never deploys; give the dimension that is "
            "missing a weight of 0 and calibrate for that"
        )
    try:
        return Policy(
            name=str(record.get("name") or path.stem),
            weights=dict(record["weights"]),
            deploy=record["deploy"],
            reject=record["reject"],
            floors={name: float(value) for name, value in dict(record.get("floors") or {}).items()},
            contradictions=record.get("contradictions", "review"),
            calibration=dict(record.get("calibration") or {}),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: not a trust policy ({type(error).__name__}: {error}); {_REMEDY}") from error
    except MedassayError as error:
        raise InputError(f"{path}: {error}") from error
