"""What annotators read: instructions, worked examples, labels; a study file may change the protocol's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from medassay.errors import InputError, MissingExtra, UnknownName, nearest
from medassay.human.protocols import Protocol

_KEYS = ("title", "instructions", "examples", "questions", "choices", "marks", "flags", "training")


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example: a text and what an annotator would note about it."""

    text: str
    lead: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TrainingText:
    """A practice text with the answers expected and why."""

    text: str
    expected: Mapping[str, float]
    explanation: str


@dataclass(frozen=True, slots=True)
class TrainingTask:
    """A practice task; it counts towards nothing."""

    candidates: tuple[TrainingText, ...]
    reference: str = ""
    source: str = ""


@dataclass(frozen=True)
class Wording:
    """Every word of a protocol that a study may change."""

    title: str
    instructions: tuple[str, ...]
    examples: tuple[Example, ...]
    labels: Mapping[str, str]
    helps: Mapping[str, str]
    choices: Mapping[str, Mapping[float, str]]
    marks: Mapping[str, str]
    flags: Mapping[str, str]
    training: tuple[TrainingTask, ...] = field(default=())


def default_wording(protocol: Protocol) -> dict[str, Any]:
    """The wording that ships with a protocol, as it stands in a new study file."""
    name = protocol.name.replace("-", "_") + ".yaml"
    text = files("medassay.human.protocols").joinpath("wording", name).read_text(encoding="utf-8")
    loaded: dict[str, Any] = load_yaml(text, name)
    return loaded


def load_yaml(text: str, where: str) -> Any:
    """Plain YAML data; `where` opens the error message."""
    try:
        import yaml
    except ImportError as error:
        raise MissingExtra("annotation", "serve") from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"{where}: not readable as YAML: {error}") from error


def read_wording(protocol: Protocol, own: Mapping[str, Any], where: str) -> Wording:
    """The study's own wording over the protocol's defaults; names that do not exist are refused."""
    merged = default_wording(protocol)
    for key, value in own.items():
        if key not in _KEYS:
            raise UnknownName(f"{where}: wording.{key} is not known{nearest(key, _KEYS)}; keys: {', '.join(_KEYS)}")
        if isinstance(merged.get(key), dict) and isinstance(value, dict):
            merged[key] = {**merged[key], **value}
        else:
            merged[key] = value
    _refuse_unknown(protocol, merged, where)
    try:
        return _build(protocol, merged)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{where}: the wording is not in the expected form ({error!r}); compare with a study file "
            "freshly made by 'medassay annotate new'"
        ) from error


def _refuse_unknown(protocol: Protocol, merged: Mapping[str, Any], where: str) -> None:
    flags = {flag for kind in protocol.marks for flag in kind.flags}
    known = {
        "questions": [q.name for q in protocol.questions],
        "choices": [q.name for q in protocol.questions if q.choices],
        "marks": [kind.name for kind in protocol.marks],
        "flags": sorted(flags),
    }
    for key, names in known.items():
        for name in merged.get(key) or {}:
            if name not in names:
                raise UnknownName(
                    f"{where}: wording.{key}.{name}: {protocol.name} has no such name{nearest(str(name), names)}"
                )


def _build(protocol: Protocol, merged: Mapping[str, Any]) -> Wording:
    questions: dict[str, dict[str, str]] = merged["questions"]
    for name, words in questions.items():
        stray = set(words) - {"label", "help"}
        if stray:  # a comma in an unquoted {label: …, help: …}
            raise KeyError(f"questions.{name}: {sorted(map(str, stray))}; put text with commas in quotes")
    return Wording(
        title=str(merged["title"]),
        instructions=tuple(str(paragraph) for paragraph in merged["instructions"]),
        examples=tuple(
            Example(str(e["text"]), str(e.get("lead", "")), tuple(str(f) for f in e.get("facts", ())))
            for e in merged["examples"] or ()
        ),
        labels={q.name: str(questions[q.name]["label"]) for q in protocol.questions},
        helps={q.name: str(questions[q.name].get("help") or "") for q in protocol.questions},
        choices={
            q.name: {value: str(_choice(merged["choices"][q.name], value)) for value in q.choices}
            for q in protocol.questions
            if q.choices
        },
        marks={kind.name: str(merged["marks"][kind.name]) for kind in protocol.marks},
        flags={str(k): str(v) for k, v in (merged.get("flags") or {}).items()},
        training=tuple(_training(protocol, task) for task in merged.get("training") or ()),
    )


def _choice(labels: Mapping[Any, str], value: float) -> str:
    """YAML may hold a choice's value as text or as a number."""
    for key, label in labels.items():
        if float(key) == value:
            return label
    raise KeyError(f"no label for the choice {value:g}")


def _training(protocol: Protocol, task: Mapping[str, Any]) -> TrainingTask:
    texts = []
    for text in task["candidates"]:
        expected = {str(name): float(value) for name, value in (text.get("expected") or {}).items()}
        for name in expected:
            if protocol.question(name) is None:
                raise KeyError(f"training: no question '{name}'")
        texts.append(TrainingText(str(text["text"]), expected, str(text.get("explanation", ""))))
    return TrainingTask(tuple(texts), str(task.get("reference") or ""), str(task.get("source") or ""))
