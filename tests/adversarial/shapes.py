"""Texts of hostile shape, the readers of free text, and a process that is killed when a reader takes too long.

The readers are taken from the packages themselves: every public function of `medassay.language` that can be called
with a text alone, those that read a `Report` or two of them, and every registered metric that needs no image and no
endpoint. A reader that is added is therefore tried without being named here.
"""

from __future__ import annotations

import inspect
import multiprocessing
import pkgutil
import re
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import medassay.language
from medassay.cases import make_cases
from medassay.errors import MissingExtra, ModelError
from medassay.language.graph import Entity, Report
from medassay.metrics.base import Metric, members_of
from medassay.metrics.registry import BUILT_IN, load_metric
from medassay.spans import ENTITY_TYPES, Reading, Span

SHAPES: dict[str, str] = {
    "spaces": " ",
    "digits": "1",
    "digits and spaces": "1 ",
    "decimals": "1.5",
    "newlines": "\n",
    "carriage returns": "\r\n",
    "mixed line endings": "a\r\nb\rc\nd\u2028e\u2029",
    "tabs": "\t",
    "space before newline": " \n",
    "fractions": "1/1/",
    "percentages": "5% 5%",
    "dimensions": "2.3 x ",
    "dimensions without spaces": "2x3x",
    "ranges": "1-2-",
    "capitals": "A",
    "capital words": "CD20 HER2 ",
    "lower case": "a",
    "words": "tumour in the colon ",
    "long words": "adenocarcinomatosis" * 20 + " ",
    "brackets": "[",
    "nested parentheses": "(((a)",
    "open parentheses": "(",
    "quotes": '"',
    "apostrophes": "'s ",
    "commas": ",",
    "list": "fever, cough and pain, ",
    "semicolons": "pT2; ",
    "colons": "A: ",
    "headings": "DIAGNOSIS:\n",
    "dashes": "-",
    "dots": ".",
    "abbreviations": "e.g. Dr. ",
    "and and": "and and ",
    "repeated negations": "no not without ",
    "combining marks": "a\u0301\u0327\u0323",
    "surrogates": "\ud800",
    "zero width": "\u200b\u200d",
    "right to left": "\u202eא\u202c ",
    "HTML": "<b><p class='a'>&nbsp;",
    "JSON": '{"a": [1, ',
    "stains": "ER 90% positive, PR negative, ",
    "grades": "Gleason 3 + 4 = 7 ",
    "stages": "pT2 N0 Mx ",
    "speakers": "Doctor: Any pain? Patient: No. ",
    "equals": "= == ",
    "underscores": "_*_",
}
"""What is repeated until the text is long enough."""

SIZES = (1_000, 10_000, 100_000)
"""Characters of a text."""

Reader = Callable[[str], object]


def text_of(shape: str, size: int) -> str:
    """The text of a shape."""
    unit = SHAPES[shape]
    return (unit * (size // len(unit) + 1))[:size]


def functions() -> dict[str, Reader]:
    """Every public function of `medassay.language` that reads a text or a report, by `module.function`."""
    readers: dict[str, Reader] = {}
    prefix = f"{medassay.language.__name__}."
    for info in pkgutil.walk_packages(medassay.language.__path__, prefix):
        module = import_module(info.name)
        for name, function in sorted(vars(module).items()):
            if not name.startswith("_") and getattr(function, "__module__", None) == module.__name__:
                reader = _reader(function)
                if reader is not None:
                    readers[f"{info.name.removeprefix(prefix)}.{name}"] = reader
    return readers


def _reader(function: Any) -> Reader | None:
    """The function as a reader of one text; None where it reads something else."""
    wanted = _wanted(function)
    by_kinds: dict[tuple[tuple[str, str], ...], Reader] = {
        (("text", "str"),): function,
        (("name", "str"), ("letter", "str")): lambda text: function(text, "D"),
        (("text", "str"), ("type", "str")): lambda text: [function(text, kind) for kind in ENTITY_TYPES],
        (("text", "str"), ("start", "int"), ("end", "int")): lambda text: function(text, 0, len(text)),
        (("text", "str"), ("spans", "Sequence[Span]")): lambda text: function(text, _spans(text)),
        (("text", "str"), ("spans", "Sequence[Span]"), ("reading", "Reading")): lambda text: function(
            text, _spans(text), Reading((), ())
        ),
        (("premise", "str"), ("hypothesis", "str")): lambda text: function(text, text),
        (("report", "Report"),): lambda text: _used(function(_report(text))),
        (("report", "Report"), ("entities", "Sequence[Entity]")): lambda text: function(
            _report(text), _report(text).entities
        ),
        (("premise", "Report"), ("hypothesis", "Report")): lambda text: _used(function(_report(text), _report(text))),
    }
    return by_kinds.get(wanted)


def _wanted(function: Any) -> tuple[tuple[str, str], ...]:
    """The parameters that a call must give, with their annotations; none where it is no function."""
    if not callable(function) or inspect.isclass(function):
        return ()
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple((p.name, str(p.annotation)) for p in parameters if p.default is p.empty)


def _used(result: object) -> object:
    """What a generator yields."""
    return list(result) if inspect.isgenerator(result) else result


_MOST_ENTITIES = 2_000
"""Entities of a report made here: as dense as a real one's in 10,000 characters."""


def _spans(text: str) -> list[Span]:
    """Every word as an entity, the types in turn: the densest report that a reader can be given."""
    words = [match.span() for match in re.finditer(r"\S{1,40}", text)][:_MOST_ENTITIES]
    return [Span(start, end, ENTITY_TYPES[k % len(ENTITY_TYPES)], 1.0) for k, (start, end) in enumerate(words)]


def _report(text: str) -> Report:
    entities = (Entity(s.start, s.end, text[s.start : s.end], s.type, "present", 1.0, None) for s in _spans(text))
    return Report(text, tuple(entities), ())


def metrics(*, with_models: bool) -> dict[str, Reader]:
    """The registered metrics of texts: those that hold no model, or those that do."""
    readers: dict[str, Reader] = {}
    for name in BUILT_IN:
        if name in _NEED_MORE:
            continue
        try:
            metric = load_metric(name)
        except (MissingExtra, ModelError):  # its models come from a hub
            continue
        if bool(_roles(metric)) == with_models:
            readers[f"metric {name}"] = _scored(metric)
    return readers


_NEED_MORE = {"judge", "grounding", "z"}
"""Metrics that wait for an endpoint, read an image, or are made of others that must be named."""


def _roles(metric: Metric) -> tuple[tuple[str, str], ...]:
    return (*metric.roles, *(role for member in members_of(metric) for role in _roles(member)))


def _scored(metric: Metric) -> Reader:
    def read(text: str) -> object:
        (case,) = make_cases([text], [text[::-1]], sources=[text])
        (score,) = metric.score([case], True)
        if score.failed is not None:
            raise RuntimeError(score.failed)
        return score

    return read


class Runner:
    """Calls readers in a process of its own, which is killed and replaced where a call takes longer than `limit`."""

    def __init__(self, readers: Mapping[str, Reader], limit: float) -> None:
        self.readers, self.limit = readers, limit
        self._start()

    def _start(self) -> None:
        # By fork: readers are closures, and what they have loaded is shared.
        context = multiprocessing.get_context("fork")
        self.here, there = context.Pipe()
        self.process = context.Process(target=self._serve, args=(there,), daemon=True)
        self.process.start()
        there.close()

    def _serve(self, pipe: Any) -> None:
        while True:
            name, shape, size = pipe.recv()
            began = time.perf_counter()
            try:
                self.readers[name](text_of(shape, size))
            except Exception as error:
                pipe.send(f"{type(error).__name__}: {error}"[:300])
            else:
                pipe.send(time.perf_counter() - began)

    def run(self, name: str, shape: str, size: int) -> float | str:
        """Seconds that the reader took; or what it raised, or that it was killed."""
        self.here.send((name, shape, size))
        try:
            if self.here.poll(self.limit):
                answer: float | str = self.here.recv()
                return answer
            end = f"killed after {self.limit:g} s"
        except EOFError:
            end = "its process died"
        self.close()
        self._start()
        return end

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.here.close()
