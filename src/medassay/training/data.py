"""Readers of annotation: our JSONL, brat, INCEpTION (UIMA CAS XMI, WebAnno TSV), Label Studio JSON.

Every reader gives the same plain structure (`medassay.training.annotation.Segment`) with character
offsets into the text as stored. Errors name the file and the line or element at fault.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from medassay.errors import InputError, MissingExtra
from medassay.spans import ENTITY_TYPES
from medassay.training.annotation import Entity, Segment, make_segment, read_jsonl

_TYPE_WORDS = {name: name for name in ENTITY_TYPES} | {
    "anatomical_site": "site",
    "anatomy": "site",
    "pathological_diagnosis": "diagnosis",
    "diagnosis_descriptor": "descriptor",
    "ihc_marker": "marker",
    "ihc_modifier": "modifier",
}
"""Names of types that mean ours, HARE's own among them, lower case with underscores."""


def entity_type(name: str, where: str) -> str:
    """Our name of an annotated type; raises where it is none of ours.

    >>> entity_type("IHC Marker", "a.ann: line 1")
    'marker'
    """
    key = re.sub(r"[\s-]+", "_", name.strip().lower())
    if key not in _TYPE_WORDS:
        raise InputError(f"{where}: entity type '{name}' is not known; use one of {', '.join(ENTITY_TYPES)}")
    return _TYPE_WORDS[key]


def read_annotation(path: Path) -> list[Segment]:
    """Segments of a file or folder, by its form: .jsonl, .json, .xmi, .tsv, or a folder of .txt + .ann pairs.

    A folder of other annotation files is read file by file, in the order of names.
    """
    if path.is_dir():
        notes = sorted(path.glob("*.ann"))
        if notes:
            return [read_brat(note) for note in notes]
        files = [p for p in sorted(path.iterdir()) if p.suffix in _READERS]
        if not files:
            raise InputError(f"{path}: no annotation here; expected .jsonl, .json, .xmi, .tsv or .txt + .ann files")
        return [segment for file in files for segment in read_annotation(file)]
    if not path.is_file():
        raise InputError(f"{path}: no such file or folder")
    reader = _READERS.get(path.suffix)
    if reader is None:
        raise InputError(f"{path}: unknown form '{path.suffix}'; expected {', '.join(sorted(_READERS))}")
    return reader(path)


def read_brat(note: Path) -> Segment:
    """One brat document: `note` (.ann) beside the .txt of the same name.

    Text-bound lines (T), relations (R) and attributes (A, M) are read: `Negated`, `Absent` or
    `Assertion absent` make an entity absent, `Speculated`, `Possible` or `Assertion possible` possible.
    A discontinuous entity takes its whole stretch.
    """
    source = note.with_suffix(".txt")
    if not source.is_file():
        raise InputError(f"{note}: the text {source.name} is missing beside it")
    text = source.read_text(encoding="utf-8")
    spans: dict[str, tuple[int, int, str]] = {}
    stance: dict[str, str] = {}
    links: list[tuple[str, str, str]] = []
    for number, line in enumerate(note.read_text(encoding="utf-8").splitlines(), 1):
        where = f"{note}: line {number}"
        if not line.strip() or line.startswith(("#", "*", "E", "N")):
            continue
        fields = line.split("\t")
        try:
            if line.startswith("T"):
                kind, places = fields[1].split(" ", 1)
                numbers = [int(n) for n in re.findall(r"\d+", places)]
                spans[fields[0]] = (min(numbers), max(numbers), entity_type(kind, where))
            elif line.startswith("R"):
                _, first, second = fields[1].split(" ")[:3]
                links.append((first.split(":", 1)[1], second.split(":", 1)[1], where))
            elif line.startswith(("A", "M")):
                words = fields[1].split(" ")
                stance[words[1]] = _stance(words[0], words[2] if len(words) > 2 else "")
        except (IndexError, ValueError) as error:
            raise InputError(f"{where}: cannot be read as brat stand-off: '{line}'") from error
    names = list(spans)
    entities = [Entity(*spans[n], stance.get(n, "present")) for n in names]
    index = {name: i for i, name in enumerate(names)}
    pairs = []
    for first, second, where in links:
        if first not in index or second not in index:
            raise InputError(f"{where}: relation names {first} and {second}, one of which is not annotated")
        pairs.append((index[first], index[second]))
    return make_segment(str(note), note.stem, text, entities, pairs, note.stem, "brat")


def _stance(name: str, value: str) -> str:
    word = f"{name} {value}".lower()
    if any(cue in word for cue in ("negat", "absent")):
        return "absent"
    if any(cue in word for cue in ("specul", "possible", "uncertain", "hypothe")):
        return "possible"
    return "present"


def read_label_studio(path: Path) -> list[Segment]:
    """Label Studio's JSON export: a list of tasks with `data.text` and span results of the first annotation.

    A `choices` result on a region holds its assertion; `relation` results join regions.
    """
    try:
        tasks = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: line {error.lineno}: not JSON ({error.msg})") from error
    if not isinstance(tasks, list):
        raise InputError(f"{path}: expected a list of tasks, as Label Studio's JSON export writes it")
    return [_task(task, f"{path}: task {number}", number) for number, task in enumerate(tasks, 1)]


def _task(task: dict[str, Any], where: str, number: int) -> Segment:
    data = task.get("data", {})
    text = data.get("text")
    if not isinstance(text, str):
        raise InputError(f"{where}: no string under data.text; found {sorted(data)}")
    annotations = task.get("annotations") or task.get("completions") or []
    results = annotations[0].get("result", []) if annotations else []
    spans: dict[str, tuple[int, int, str]] = {}
    stance: dict[str, str] = {}
    links = []
    for result in results:
        value = result.get("value", {})
        if result.get("type") == "relation":
            links.append((result["from_id"], result["to_id"]))
        elif "labels" in value:
            kind = entity_type(value["labels"][0], where)
            spans[result["id"]] = (int(value["start"]), int(value["end"]), kind)
        elif value.get("choices"):
            stance[result["id"]] = _stance("", value["choices"][0])
    names = list(spans)
    index = {name: i for i, name in enumerate(names)}
    for first, second in links:
        if first not in index or second not in index:
            raise InputError(f"{where}: relation names region {first} or {second}, which is not annotated")
    entities = [Entity(*spans[n], stance.get(n, "present")) for n in names]
    key = str(task.get("id", number))
    pairs = [(index[a], index[b]) for a, b in links]
    return make_segment(where, key, text, entities, pairs, str(data.get("doc", key)), "label-studio")


def _cassis() -> Any:
    try:
        import cassis
    except ImportError as error:
        raise MissingExtra("Reading INCEpTION's XMI and WebAnno TSV", "train") from error
    return cassis


def read_xmi(path: Path) -> list[Segment]:
    """A UIMA CAS (XMI) as INCEpTION exports it; TypeSystem.xml must stand beside it (or `<name>.xml`).

    Every annotation with a `value`, `label` or `type` feature that names one of our types is an entity;
    its `assertion` feature is read when there is one. Relations are annotations with `Governor` and
    `Dependent` (INCEpTION) or `head` and `tail`: governor is the tail, dependent the head.
    """
    cassis = _cassis()
    system = next((p for p in (path.with_suffix(".xml"), path.parent / "TypeSystem.xml") if p.is_file()), None)
    if system is None:
        raise InputError(f"{path}: TypeSystem.xml is missing beside it; export 'UIMA CAS XMI' with its type system")
    with system.open("rb") as types:
        typesystem = cassis.load_typesystem(types)
    try:
        with path.open("rb") as content:
            cas = cassis.load_cas_from_xmi(content, typesystem=typesystem)
    except Exception as error:  # cassis and lxml raise many kinds
        raise InputError(f"{path}: cannot be read as XMI: {error}") from error
    return [_from_cas(cas, path)]


def read_webanno(path: Path) -> list[Segment]:
    """A WebAnno TSV 3 file, the other text export of INCEpTION, through dkpro-cassis."""
    cassis = _cassis()
    reader = getattr(cassis, "load_cas_from_webanno_tsv", None)
    if reader is None:
        return [_webanno(path)]
    with path.open("rb") as content:
        return [_from_cas(reader(content), path)]


def _from_cas(cas: Any, path: Path) -> Segment:
    entities: list[Entity] = []
    owner: dict[int, int] = {}
    joined = []
    for note in cas.select_all_annotations():
        head = getattr(note, "Dependent", None) or getattr(note, "head", None)
        tail = getattr(note, "Governor", None) or getattr(note, "tail", None)
        if head is not None and tail is not None:
            joined.append((head, tail))
            continue
        label = next((v for f in ("value", "label", "type_") if isinstance(v := getattr(note, f, None), str)), None)
        if label is None or not hasattr(note, "begin"):
            continue
        where = f"{path}: annotation {note.begin}–{note.end}"
        owner[id(note)] = len(entities)
        stance = _stance("", str(getattr(note, "assertion", None) or ""))
        entities.append(Entity(note.begin, note.end, entity_type(label, where), stance))
    pairs = []
    for head, tail in joined:
        if id(head) not in owner or id(tail) not in owner:
            raise InputError(f"{path}: a relation joins annotations that are not entities of our types")
        pairs.append((owner[id(head)], owner[id(tail)]))
    return make_segment(str(path), path.stem, cas.sofa_string, entities, pairs, path.stem, "inception")


def _webanno(path: Path) -> Segment:
    """WebAnno TSV 3.x by hand: `#Text=` lines, then sentence-token, begin-end, token and one column per feature.

    dkpro-cassis has no reader for this form. The first span layer's `value` column holds types with an
    optional `[n]` that joins tokens of one entity; `assertion` and relation columns are read by name.
    """
    columns: list[str] = []
    pieces: list[tuple[int, int, str]] = []
    groups: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
    owner: dict[str, list[tuple[str, str]]] = {}
    stances: dict[tuple[str, str], str] = {}
    links: list[tuple[str, str, str]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        where = f"{path}: line {number}"
        if line.startswith(("#T_SP=", "#T_RL=")):
            layer = line[1:5]
            columns += [f"{layer}|{name}" for name in line.split("|")[1:]]
            continue
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) < 3 + len(columns):
            raise InputError(f"{where}: {len(fields)} columns, expected {3 + len(columns)} after the header")
        token = fields[0]
        begin, end = (int(n) for n in fields[1].split("-"))
        pieces.append((begin, end, fields[2]))
        cells = dict(zip(columns, fields[3:]))
        _span_cells(cells, token, (begin, end), where, groups, owner, stances)
        for name, cell in cells.items():
            if name.startswith("T_RL|BT_") and cell not in ("_", ""):
                links += [(token, re.sub(r"\[.*", "", other), where) for other in cell.split("|")]
    text = _webanno_text(path, pieces)
    keys = list(groups)
    entities = []
    for key in keys:
        spans = groups[key]
        entities.append(Entity(spans[0][0], spans[-1][1], spans[0][2], stances.get(key, "present")))
    index = {key: i for i, key in enumerate(keys)}
    pairs = []
    for target, source, where in links:
        if not owner.get(source) or not owner.get(target):
            raise InputError(f"{where}: relation between tokens {source} and {target}, which hold no entity")
        pairs.append((index[owner[source][0]], index[owner[target][0]]))
    return make_segment(str(path), path.stem, text, entities, pairs, path.stem, "webanno")


def _span_cells(
    cells: dict[str, str],
    token: str,
    span: tuple[int, int],
    where: str,
    groups: dict[tuple[str, str], list[tuple[int, int, str]]],
    owner: dict[str, list[tuple[str, str]]],
    stances: dict[tuple[str, str], str],
) -> None:
    """Add one token's entity cells to the groups that make up entities."""
    labels = [c for n, c in cells.items() if n.startswith("T_SP|") and n.split("|")[1] in ("value", "label", "type")]
    marks = [c for n, c in cells.items() if n.startswith("T_SP|") and "assertion" in n.lower()]
    for cell in labels:
        if cell in ("_", "*", ""):
            continue
        match = re.fullmatch(r"(.*?)(?:\[(\d+)\])?", cell)
        assert match is not None
        name, group = match.group(1).replace("\\", ""), match.group(2) or token
        key = (name, group)
        groups.setdefault(key, []).append((*span, entity_type(name, where)))
        owner.setdefault(token, []).append(key)
        for mark in marks:
            if mark not in ("_", "*", ""):
                stances[key] = _stance("", mark)


def _webanno_text(path: Path, pieces: list[tuple[int, int, str]]) -> str:
    """The document's text, rebuilt from tokens and their offsets; gaps become spaces."""
    if not pieces:
        raise InputError(f"{path}: no token line; is this a WebAnno TSV 3 file?")
    letters = [" "] * max(end for _, end, _ in pieces)
    for begin, end, token in pieces:
        if len(token) != end - begin:
            raise InputError(f"{path}: token '{token}' does not fill its place {begin}–{end}")
        letters[begin:end] = token
    return "".join(letters)


_READERS: dict[str, Callable[[Path], list[Segment]]] = {
    ".jsonl": read_jsonl,
    ".json": read_label_studio,
    ".xmi": read_xmi,
    ".tsv": read_webanno,
}
