"""Names to metrics.

A request is a name (`rouge1`), a family (`rouge`), a name with settings (`hare(mode=paper)`), a part
(`rouge1.recall`, short `rouge1_r`), a Python callable (`py:package.module:function`) or an ensemble
(`z(mist,rouge1_r)`). Third parties register theirs under the entry-point group `medassay.metrics`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.resources import files
from typing import Any

from medassay import __version__
from medassay.cases import Case
from medassay.errors import MedassayError, UnknownName, nearest
from medassay.language.lexicon import read_table
from medassay.metrics.base import Metric, Part
from medassay.metrics.settings import parameters, read_setting
from medassay.models import for_metric

BUILT_IN: dict[str, str] = {
    "hare": "medassay.metrics.hare:Hare",
    "expert": "medassay.metrics.expert:Expert",
    "rouge1": "medassay.metrics.rouge:Rouge1",
    "rouge2": "medassay.metrics.rouge:Rouge2",
    "rougeL": "medassay.metrics.rouge:RougeL",
    "rougeLsum": "medassay.metrics.rouge:RougeLsum",
    "bleu": "medassay.metrics.lexical:Bleu",
    "chrf": "medassay.metrics.lexical:Chrf",
    "meteor": "medassay.metrics.meteor:Meteor",
    "levenshtein": "medassay.metrics.lexical:Levenshtein",
    "bertscore": "medassay.metrics.bertscore:BertScore",
    "medbertscore": "medassay.metrics.bertscore:MedBertScore",
    "medbertscore-sp": "medassay.metrics.bertscore:MedBertScoreSP",
    "bartscore": "medassay.metrics.likelihood:BartScore",
    "medbartscore": "medassay.metrics.likelihood:MedBartScore",
    "logic": "medassay.metrics.logic:Logic",
    "facts": "medassay.metrics.facts:Facts",
    "hallucination": "medassay.metrics.hallucination:Hallucination",
    "omission": "medassay.metrics.omission:Omission",
    "fidelity": "medassay.metrics.fidelity:Fidelity",
    "note": "medassay.metrics.note:Note",
    "risk": "medassay.metrics.risk:Risk",
    "synoptic": "medassay.metrics.synoptic:Synoptic",
    "reg2025": "medassay.metrics.reg2025:Reg2025",
    "clinicalbleurt": "medassay.metrics.quality:ClinicalBleurt",
    "bleurt": "medassay.metrics.quality:Bleurt",
    "judge": "medassay.metrics.judge:Judge",
    "grounding": "medassay.metrics.grounding:Grounding",
    "mist": "medassay.metrics.mist:Mist",
    "mist-comb1": "medassay.metrics.mist:MistComb1",
    "mist-comb2": "medassay.metrics.mist:MistComb2",
    "z": "medassay.metrics.ensemble:ZMean",
    "stability": "medassay.metrics.stability:Stability",
    "trust": "medassay.metrics.trust:Trust",
}
"""One line per metric: its name and its class, imported on first use."""

FAMILIES: dict[str, tuple[str, ...]] = {
    "rouge": ("rouge1", "rouge2", "rougeL", "rougeLsum"),
    "lexical": ("rouge1", "rouge2", "rougeL", "rougeLsum", "bleu", "chrf", "meteor", "levenshtein"),
    "notes": ("note", "facts", "hallucination", "omission", "fidelity", "risk", "rouge1"),
    "pathology": ("hare", "expert", "facts", "fidelity", "risk", "rouge1"),
    "summary": ("facts", "fidelity", "hallucination", "omission", "rouge1"),
}
"""Names for several metrics; the last three are presets for a kind of text (docs/cases.md)."""

DEFAULT = ("facts", "fidelity", "hallucination", "omission", "rouge1")
"""What is computed when nothing is asked for and there are references: what is wrong, invented or missing, and
ROUGE-1 beside it, because it means the same everywhere.

HARE and the expert estimate read pathology reports. On other medical text they find entities too and would return
numbers that nothing stands behind, so they are asked for by name: `--metrics pathology`.
"""

WITHOUT_REFERENCE = ("facts", "hallucination", "omission", "risk")
"""The same where there are sources and no references."""


def default_metrics(cases: Iterable[Case]) -> tuple[str, ...]:
    """The names of the metrics to compute when nothing is asked for, by what the cases have."""
    source = False
    for case in cases:
        if case.has("reference"):
            return DEFAULT
        source = source or case.has("source")
    return WITHOUT_REFERENCE if source else DEFAULT


_SHORT = {"p": "precision", "r": "recall", "f": "f1"}
_REQUEST = re.compile(r"(?P<name>[^()\s]+?)\s*(?:\((?P<inside>.*)\))?(?P<tail>(?:[._][A-Za-z0-9_]+)?)", re.S)


def names() -> dict[str, str]:
    """Every registered name and where its class lives, ours first."""
    known = dict(BUILT_IN)
    for entry in entry_points(group="medassay.metrics"):
        known.setdefault(entry.name, entry.value)
    return known


def metric_class(name: str) -> type[Metric]:
    """The class behind a registered name."""
    # Reading every distribution's entry points takes a while, and ours come first anyway.
    known = BUILT_IN if name in BUILT_IN else names()
    if name not in known:
        everything = [*known, *FAMILIES]
        if other := _of_another_tool(name):
            raise UnknownName(other)
        raise UnknownName(
            f"no metric '{name}'{nearest(name, everything) or '.'} Known: {', '.join(sorted(everything))}"
        )
    module, _, attribute = known[name].partition(":")
    try:
        cls: type[Metric] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise MedassayError(f"metric '{name}' cannot be loaded from {known[name]}: {error}") from error
    return cls


@cache
def _other_tools() -> dict[str, tuple[str, str, str]]:
    """Metrics of other tools by plain spelling: their name, where they live, the nearest metric here."""
    rows = read_table(files("medassay.metrics") / "other_tools.tsv")
    return {
        _plain(spelling): (row["names"].split("|")[0], row["see"], row["nearest"])
        for row in rows
        for spelling in row["names"].split("|")
    }


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def _of_another_tool(name: str) -> str:
    """What to tell a person who asks for a metric that is part of another tool; empty where it is of none."""
    if _plain(name) not in _other_tools():
        return ""
    theirs, see, ours = _other_tools()[_plain(name)]
    return f"{theirs} is not part of medassay; see {see}. The nearest metric here is '{ours}'"


def load_metrics(requests: str | Metric | Iterable[str | Metric], **common: Any) -> list[Metric]:
    """The metrics asked for by name, or given as they are: in order, each name once.

    `common` settings go to those loaded here that know them.

    >>> [metric.name for metric in load_metrics("rouge,rouge1_r")]
    ['rouge1', 'rouge2', 'rougeL', 'rougeLsum', 'rouge1_r']
    """
    metrics: dict[str, Metric] = {}
    for request in [requests] if isinstance(requests, str | Metric) else requests:
        if isinstance(request, Metric):
            _check_name(request)
            _add(metrics, request)
            continue
        for name in (name for text in split_requests(request) for name in _members(text)):
            _add(metrics, _load(name, common))
    if not metrics:
        raise UnknownName("no metric named; `medassay metrics` lists them")
    return list(metrics.values())


def _add(metrics: dict[str, Metric], metric: Metric) -> None:
    """Add a metric unless it is there already; raise where its name is another's."""
    other = metrics.setdefault(metric.name, metric)
    if other is not metric and (type(other) is not type(metric) or other.signature != metric.signature):
        raise MedassayError(
            f"two metrics are called '{metric.name}': {_where(other)} ({other.signature}) and {_where(metric)} "
            f"({metric.signature}); give one of them another name"
        )


def _where(metric: Metric) -> str:
    return f"{type(metric).__module__}:{type(metric).__qualname__}"


def _check_name(metric: Metric) -> None:
    """Raise where a metric of another class has the name of a registered one."""
    if reserved(metric.name) and type(metric) is not metric_class(metric.name):
        raise MedassayError(
            f"metric {_where(metric)} is called '{metric.name}', which is the name of {names()[metric.name]}; "
            "give it a name of its own"
        )


def reserved(name: str) -> bool:
    """Whether a name is that of a registered metric."""
    return name in names()


def _members(request: str) -> list[str]:
    """A family's metrics, each with the settings given: `rouge(stem=yes)` is `rouge1(stem=yes)` and so on."""
    name, bracket, rest = request.partition("(")
    return [member + bracket + rest for member in FAMILIES.get(name, (name,))]


def load_metric(request: str, **settings: Any) -> Metric:
    """The one metric that a request names, with these settings; None leaves a setting as it is.

    >>> load_metric("rouge1", stem=True).signature.split("|")[1]
    'stem:yes'
    """
    metric = _load(request, settings)
    whole = metric.members[0] if isinstance(metric, Part) else metric
    known = {} if request.strip().startswith("py:") else parameters(type(whole))
    for setting in settings:
        _check_known(whole.name, setting, known)
    return metric


def _load(request: str, settings: Mapping[str, Any]) -> Metric:
    """The one metric that a request names, with those of the settings that it knows."""
    request = request.strip()
    if request.startswith("py:"):
        from medassay.metrics.callables import from_callable

        return from_callable(request)
    match = _REQUEST.fullmatch(request)
    if match is None:
        raise UnknownName(f"'{request}' is not a metric request; write name, name(key=value) or name.part")
    name, inside, tail = match["name"], match["inside"], match["tail"]
    if inside is None and name not in names():
        whole, part = as_part(name)
        if whole is not None:
            return Part(_load(whole, settings), part, name)
    if name not in names():
        name, tail = name + tail, ""  # `bert_score`: no metric has the part, so the whole is the name
    metric = _construct(metric_class(name), name, inside, settings)
    if name not in BUILT_IN:
        _sign(metric, name)
    if inside:
        metric.name = f"{name}({','.join(split_requests(inside))})"
    if not tail:
        return metric
    part = _SHORT.get(tail[1:], tail[1:])
    if part not in metric.parts:
        raise UnknownName(f"metric '{name}' has no part '{part}'; parts: {', '.join(metric.parts) or 'none'}")
    return Part(metric, part, metric.name + tail)


def _sign(metric: Metric, name: str) -> None:
    """Have the signature of a metric from another distribution carry that one's name and version, beside ours."""
    if name in BUILT_IN:
        return
    entry = next((entry for entry in entry_points(group="medassay.metrics") if entry.name == name), None)
    if entry is not None and entry.dist is not None:
        metric.origin = {"from": entry.dist.name, "medassay": __version__}
        metric.version = entry.dist.version


def as_part(name: str) -> tuple[str | None, str]:
    """`rouge1_r` and `rouge1.recall` as (whole, part); (None, "") where they are no such thing."""
    for separator in (".", "_"):
        whole, _, part = name.rpartition(separator)
        part = _SHORT.get(part, part)
        if whole in names() and part in metric_class(whole).parts:
            return whole, part
    return None, ""


def _construct(cls: type[Metric], name: str, inside: str | None, settings: Mapping[str, Any]) -> Metric:
    known = parameters(cls)
    parsed: dict[str, Any] = {}
    members: list[str] = []
    for item in split_requests(inside or ""):
        key, equals, value = item.partition("=")
        if not equals or "(" in key:
            members.append(item)
            continue
        key = key.strip()
        _check_known(name, key, known)
        if key in parsed:
            raise UnknownName(f"metric '{name}': setting '{key}' is given twice")
        parsed[key] = read_setting(value.strip(), known[key].annotation)
    if members and "members" not in known:
        raise UnknownName(f"metric '{name}': '{members[0]}' is not key=value")
    if members:
        parsed["members"] = tuple(members)
    common = {key: value for key, value in settings.items() if key in known and value is not None}
    chosen = {**common, **parsed}
    if isinstance(chosen.get("models"), str):
        chosen["models"] = for_metric(name, chosen["models"])
    return cls(**chosen)


def _check_known(name: str, setting: str, known: Collection[str]) -> None:
    if setting not in known:
        raise UnknownName(
            f"metric '{name}' has no setting '{setting}'{nearest(setting, list(known)) or '.'} "
            f"Settings: {', '.join(sorted(known)) or 'none'}"
        )


def split_requests(text: str) -> list[str]:
    """Comma-separated requests; commas inside brackets belong to the request.

    >>> split_requests("rouge, hare(mode=paper,threshold=0.7)")
    ['rouge', 'hare(mode=paper,threshold=0.7)']
    """
    parts, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]
