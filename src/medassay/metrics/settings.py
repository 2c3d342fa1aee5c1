"""The settings of a metric: read and checked by the annotations of the metric's constructor.

`threshold: Annotated[float | None, Range(0, 1)] = 0.7` is all that a metric declares: text from the command
line is read as that type, and a value of another type or beyond the range is an error, however the metric is made
(`Metric.__new__` checks). An annotation that is none of the usual ones leaves the value to the metric.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from medassay.errors import MedassayError, nearest

Normalize = Literal["none", "nfkc"] | None
"""Unicode handling: texts as they are, or in compatibility form (`ﬁ` is `fi`, `²` is `2`)."""

_YES_NO = {"true": True, "yes": True, "false": False, "no": False}
_PLAIN = (str, bool, int, float, NoneType)


@dataclass(frozen=True, slots=True)
class Range:
    """The ends of a number, both included; None where there is no end."""

    least: float | None = None
    most: float | None = None

    def __contains__(self, value: float) -> bool:
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def __str__(self) -> str:
        if self.most is None:
            return "" if self.least is None else f" of at least {self.least:g}"
        return f" of at most {self.most:g}" if self.least is None else f" from {self.least:g} to {self.most:g}"


@cache
def parameters(cls: type) -> dict[str, inspect.Parameter]:
    """The settings of a class by name, with annotations resolved: its constructor's, and those it passes on."""
    settings: dict[str, inspect.Parameter] = {}
    for kind in cls.__mro__:
        init = vars(kind).get("__init__")
        if init is None:
            continue
        init_parameters = list(inspect.signature(init).parameters.values())[1:]
        try:
            hints = get_type_hints(init, include_extras=True)
        except (NameError, TypeError):  # annotations of a third party that mean nothing at run time
            hints = {}
        for parameter in init_parameters:
            if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                settings.setdefault(parameter.name, parameter.replace(annotation=hints.get(parameter.name, Any)))
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in init_parameters):
            break
    return settings


def read_setting(text: str, annotation: Any) -> Any:
    """The text of a setting as a value of its type; the text itself where it is none.

    >>> read_setting("0.5", float | None), read_setting("none", float | None), read_setting("7", str)
    (0.5, None, '7')
    """
    options = _options(annotation)
    words = [word for option in options if get_origin(option) is Literal for word in get_args(option)]
    known = all(option in _PLAIN or get_origin(option) is Literal for option in options)
    if text in words:
        return text
    if text.lower() == "none" and (NoneType in options or not known):
        return None
    if text.lower() in _YES_NO and (bool in options or not known):
        return _YES_NO[text.lower()]
    for kind in (int, float):
        if kind in options or (kind is int and float in options) or not known:
            try:
                return kind(text)
            except ValueError:
                continue
    return text


def check_settings(cls: type, given: Mapping[str, object]) -> None:
    """Raise where a setting is not of its type or beyond its range."""
    known = parameters(cls)
    for name, value in given.items():
        if name in known and not _fits(value, known[name].annotation):
            metric = getattr(cls, "name", cls.__name__)
            annotation = known[name].annotation
            words = [
                str(w) for option in _options(annotation) if get_origin(option) is Literal for w in get_args(option)
            ]
            close = nearest(str(value), words) if words else ""
            raise MedassayError(f"{metric}: {name}: '{value}' is not {describe(annotation)}{close}")


def describe(annotation: Any) -> str:
    """What a setting may be, in words.

    >>> describe(Annotated[float | None, Range(0, 1)]), describe(Literal["a", "b"])
    ('a number from 0 to 1, or none', 'one of a, b')
    """
    limits = "".join(str(note) for note in getattr(annotation, "__metadata__", ()) if isinstance(note, Range))
    shown = {str: "text", bool: "yes or no", int: f"a whole number{limits}", float: f"a number{limits}"}
    options = [option for option in _options(annotation) if option is not NoneType]
    words = [
        f"one of {', '.join(map(str, get_args(option)))}" if get_origin(option) is Literal else shown.get(option, "")
        for option in options
    ]
    return " or ".join(filter(None, words)) + (", or none" if NoneType in _options(annotation) else "")


def _options(annotation: Any) -> tuple[Any, ...]:
    """The types that an annotation allows."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _fits(value: object, annotation: Any) -> bool:
    """Whether a value is of an annotation's type and within its range; True where the annotation is not plain."""
    ranges = [note for note in getattr(annotation, "__metadata__", ()) if isinstance(note, Range)]
    return any(_is_of(value, option, ranges) for option in _options(annotation))


def _is_of(value: object, option: Any, ranges: list[Range]) -> bool:
    if get_origin(option) is Literal:
        return isinstance(value, str) and value in get_args(option)
    if option not in _PLAIN:
        return True
    if option in (int, float):
        number = isinstance(value, Integral if option is int else Real) and not isinstance(value, bool)
        return number and math.isfinite(value) and all(value in span for span in ranges)  # type: ignore[arg-type, operator]
    return isinstance(value, option)


def number(name: str, value: object, least: float, *, whole: bool = False) -> float:
    """Check a setting of something that is not a metric: a number of at least `least`, an integer if `whole`."""
    annotation: Any = Annotated[int, Range(least)] if whole else Annotated[float, Range(least)]
    if not _fits(value, annotation):
        raise MedassayError(f"{name}: '{value}' is not {describe(annotation)}")
    return float(value)  # type: ignore[arg-type]
