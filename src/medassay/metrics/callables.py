"""A user's own code as a metric: `--metrics py:package.module:name`.

The name is that of a function, or of a `Metric` subclass or object. A function is either per case, with parameters
named after case fields (`def overlap(candidate, reference, source=None): …` returning a number; a parameter with a
default is passed where the case has the field), or takes all cases at once (`def overlap(cases): …` returning one
number or `Score` per case).
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from medassay.cases import ANY_FIELD, Case
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.metrics.registry import reserved
from medassay.scores import Score, described

_NOT_USER_CODE = frozenset({"medassay", *sys.stdlib_module_names})
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class CallableMetric(Metric):
    """A user's function.

    needs: the parameters without a default; reads: those with one. A function of all cases may read any field,
    unless it says which in attributes of its own (`overlap.needs = {"candidate"}`, `overlap.reads`).
    """

    summary = "a Python function of yours"
    defined = "your code"
    bounds = (None, None)

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__()
        self.name = name
        self.function = function
        parameters = inspect.signature(function).parameters
        self.batch = next(iter(parameters), None) == "cases"
        if self.batch:
            declared = [frozenset(getattr(function, kind, ())) for kind in ("needs", "reads")]
            self.needs = declared[0] or Metric.needs
            self.reads = declared[1] if any(declared) else frozenset({ANY_FIELD})
            return
        named = [p for p in parameters.values() if p.kind in _NAMED]
        self.needs = frozenset(p.name for p in named if p.default is p.empty)
        self.reads = frozenset(p.name for p in named) - self.needs

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        if self.batch:
            return [_as_score(value) for value in self.function(cases)]
        return [_as_score(self.function(**self._arguments(case))) for case in cases]

    def _arguments(self, case: Case) -> dict[str, Any]:
        names = {name for name in self.reads if case.has(name)} | self.needs
        return {name: case.value(name) for name in names}


def from_callable(request: str) -> Metric:
    """The metric behind `py:package.module:name` (the current folder is importable).

    The files of its code are hashed into the signature, so that an edited metric never reuses old results.
    """
    path, _, attribute = request.removeprefix("py:").partition(":")
    if not path or not attribute:
        raise MedassayError(f"'{request}': write py:package.module:function")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = import_module(path)
        target = getattr(module, attribute)
        metric = _metric(request, target)
    except (KeyboardInterrupt, MedassayError):
        raise
    except BaseException as error:  # whatever the code of others does when it is read, sys.exit included
        message = str(error) if isinstance(error, ImportError | AttributeError) else described(error)
        raise MedassayError(f"'{request}' cannot be imported: {message}") from error
    metric.origin = {"source": _source_hash(request, module, target)}
    if reserved(metric.name):  # a registered metric keeps its name, and its column, to itself
        metric.name = request
    return metric


def _metric(request: str, target: Any) -> Metric:
    """The metric that an attribute of a module is, or that is made of it."""
    if isinstance(target, type) and issubclass(target, Metric):
        return target()
    if isinstance(target, Metric):
        return target
    if callable(target):
        return CallableMetric(request, target)
    raise MedassayError(f"'{request}' is a {type(target).__name__}, not a function")


def _source_hash(request: str, module: ModuleType, target: Any) -> str:
    """A hash of whole files, so that what the code calls there counts too.

    Hashed are the files of the module named, of the function, and of a metric's classes, unless they are part of
    medassay or of the standard library.
    """
    if inspect.isroutine(target):
        code: tuple[Any, ...] = (inspect.unwrap(target),)
    else:
        code = (target if isinstance(target, type) else type(target)).__mro__
    user_code = [item for item in code if item.__module__.partition(".")[0] not in _NOT_USER_CODE]
    hasher = hashlib.sha256()
    try:
        for file in sorted({inspect.getsourcefile(item) or "" for item in (module, *user_code)}):
            hasher.update(Path(file).read_bytes())
    except (OSError, TypeError) as error:
        raise MedassayError(
            f"'{request}': its source cannot be read, so its results could not be told apart; "
            "wrap it in a function in a .py file"
        ) from error
    return hasher.hexdigest()[:12]


def _as_score(value: Any) -> Score:
    return value if isinstance(value, Score) else Score(float(value))
