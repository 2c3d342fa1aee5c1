"""Any Python callable as a metric: `--metrics py:package.module:function`.

The function is either per case, with parameters named after case fields
(`def overlap(candidate, reference): …` returning a number), or takes all cases at once
(`def overlap(cases): …` returning one number or `Score` a case). A `Metric` subclass works too.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from medassay.cases import Case
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.scores import Score


class CallableMetric(Metric):
    """A user's function. The file it stands in is hashed into the signature, so edits never reuse old results."""

    summary = "a Python function of yours"
    defined = "your code"
    bounds = (None, None)
    keep_every = 64

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__()
        self.name = name
        self.function = function
        parameters = list(inspect.signature(function).parameters)
        self.batch = parameters[:1] == ["cases"]
        required = [
            p.name for p in inspect.signature(function).parameters.values() if p.default is inspect.Parameter.empty
        ]
        self.needs = frozenset({"candidate", "reference"} if self.batch else required)
        self.source = _source_hash(name, function)

    def settings(self) -> Mapping[str, object]:
        return {"source": self.source}

    def measure(self, cases: Sequence[Case]) -> list[Score]:
        if self.batch:
            return [_as_score(value) for value in self.function(cases)]
        return [_as_score(self.function(**{n: self._field(case, n) for n in self.needs})) for case in cases]

    @staticmethod
    def _field(case: Case, name: str) -> Any:
        return getattr(case, name) if hasattr(case, name) else case.extra[name]


def from_callable(request: str) -> Metric:
    """The metric behind `py:package.module:function` (the current folder is importable)."""
    module, _, attribute = request.removeprefix("py:").partition(":")
    if not module or not attribute:
        raise MedassayError(f"'{request}': write py:package.module:function")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise MedassayError(f"'{request}' cannot be imported: {error}") from error
    if isinstance(found, type) and issubclass(found, Metric):
        return found()
    if isinstance(found, Metric):
        return found
    if not callable(found):
        raise MedassayError(f"'{request}' is a {type(found).__name__}, not a function")
    return CallableMetric(request, found)


def _source_hash(name: str, function: Callable[..., Any]) -> str:
    """A hash of the whole file the function stands in, so that what it calls there counts too."""
    try:
        file = inspect.getsourcefile(inspect.unwrap(function))
        source = Path(file or "").read_bytes()
    except (OSError, TypeError) as error:
        raise MedassayError(
            f"'{name}': its source cannot be read, so its results could not be told apart; "
            "wrap it in a function in a .py file"
        ) from error
    return hashlib.sha256(source).hexdigest()[:12]


def _as_score(value: Any) -> Score:
    return value if isinstance(value, Score) else Score(float(value))
