"""INCEpTION: entities as `medassay extract` writes them, converted to UIMA CAS files and back.

Layers: `webanno.custom.Entity` (span; features `value` (the type), `assertion`, `concept`) and
`webanno.custom.EntityRelation` (relation; feature `label`). On the way back INCEpTION's own named entity
layer is read too. Offsets are characters of the text as given; cassis converts from UTF-16 where needed.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from medassay.errors import InputError, MissingExtra
from medassay.files import write_text

ENTITY = "webanno.custom.Entity"
RELATION = "webanno.custom.EntityRelation"
NAMED_ENTITY = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
TYPES = "TypeSystem.xml"
TITLE = "de.tudarmstadt.ukp.dkpro.core.api.metadata.type.DocumentMetaData"

Record = Mapping[str, Any]


def _cassis() -> Any:
    try:
        import cassis
    except ImportError as error:
        raise MissingExtra("INCEpTION files", "serve") from error
    return cassis


def _types() -> Any:
    system = _cassis().TypeSystem()
    entity = system.create_type(ENTITY, supertypeName="uima.tcas.Annotation")
    for feature in ("value", "assertion", "concept"):
        system.create_feature(entity, feature, "uima.cas.String")
    relation = system.create_type(RELATION, supertypeName="uima.tcas.Annotation")
    system.create_feature(relation, "Governor", entity)
    system.create_feature(relation, "Dependent", entity)
    system.create_feature(relation, "label", "uima.cas.String")
    meta = system.create_type(TITLE, supertypeName="uima.tcas.DocumentAnnotation")
    for feature in ("documentTitle", "documentId"):
        system.create_feature(meta, feature, "uima.cas.String")
    return system


def to_xmi(record: Record) -> str:
    """One document of `extract` as XMI, with its annotations to be corrected."""
    system = _types()
    cas = _cassis().Cas(typesystem=system)
    cas.sofa_string = record["text"]
    cas.sofa_mime = "text/plain"
    title = system.get_type(TITLE)(
        begin=0,
        end=len(record["text"]),
        documentTitle=str(record["id"]),
        documentId=str(record["id"]),
        language="x-unspecified",
    )
    cas.add(title)
    spans = []
    for entity in record.get("entities", ()):
        concept = entity.get("concept")
        shown = concept if concept is None or isinstance(concept, str) else json.dumps(concept)
        span = system.get_type(ENTITY)(
            begin=entity["start"],
            end=entity["end"],
            value=entity["type"],
            assertion=entity.get("assertion") or "present",
            concept=shown,
        )
        cas.add(span)
        spans.append(span)
    for relation in record.get("relations", ()):
        head, tail = (relation["head"], relation["tail"]) if isinstance(relation, dict) else relation[:2]
        kind = relation.get("type") if isinstance(relation, dict) else None
        link = system.get_type(RELATION)(
            begin=spans[tail].begin, end=spans[tail].end, Governor=spans[head], Dependent=spans[tail], label=kind
        )
        cas.add(link)
    text: str = cas.to_xmi()
    return text


def file_names(records: Iterable[Record]) -> list[str]:
    """The names of the files that `write` writes: the types, then each document."""
    names = [TYPES]
    for number, record in enumerate(records, 1):
        safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in str(record["id"]))
        names.append(f"{number:05d}_{safe[:60]}.xmi")
    return names


def write(records: Sequence[Record], folder: Path) -> int:
    """Write one .xmi per document and `TypeSystem.xml`, for import as 'UIMA CAS XMI'; returns how many."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / TYPES, _types().to_xml())
    for name, record in zip(file_names(records)[1:], records):
        write_text(folder / name, to_xmi(record))
    return len(records)


def read(path: Path) -> list[dict[str, Any]]:
    """Records as `extract` writes them, from an .xmi, a UIMA CAS .json, a zip export or a folder of them."""
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix.lower() in (".xmi", ".json", ".zip"))
        return [record for file in files for record in read(file)]
    if not path.exists():
        raise InputError(f"{path}: no such file; export from INCEpTION as 'UIMA CAS XMI' or 'UIMA CAS JSON'")
    if path.suffix.lower() == ".zip":
        return list(_read_zip(path))
    types = path.parent / TYPES
    return [
        _record(path.read_bytes(), path.suffix, types.read_bytes() if types.exists() else None, str(path), path.stem)
    ]


def _read_zip(path: Path) -> Iterator[dict[str, Any]]:
    """INCEpTION exports a document as a zip of the CAS and its type system; a project nests such zips."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield from _walk(archive, str(path))
    except zipfile.BadZipFile as error:
        raise InputError(f"{path}: not a readable zip; was the download cut short?") from error


def _walk(archive: zipfile.ZipFile, where: str) -> Iterator[dict[str, Any]]:
    names = sorted(archive.namelist())
    types = next((archive.read(name) for name in names if name.endswith("TypeSystem.xml")), None)
    for name in names:
        suffix = Path(name).suffix.lower()
        if suffix in (".xmi", ".json") and "exportedproject" not in name:
            yield _record(archive.read(name), suffix, types, f"{where}: {name}", Path(name).stem)
        elif suffix == ".zip":
            with zipfile.ZipFile(io.BytesIO(archive.read(name))) as inner:
                yield from _walk(inner, f"{where}: {name}")


def _record(content: bytes, suffix: str, types: bytes | None, where: str, fallback: str) -> dict[str, Any]:
    cassis = _cassis()
    try:
        if suffix.lower() == ".json":
            cas = cassis.load_cas_from_json(io.BytesIO(content))
        elif types is None:
            raise InputError(f"{where}: no TypeSystem.xml beside it; keep the two together")
        else:
            system = cassis.load_typesystem(io.BytesIO(types))
            cas = cassis.load_cas_from_xmi(io.BytesIO(content), typesystem=system, lenient=True)
    except InputError:
        raise
    except Exception as error:  # cassis lets lxml's and its own errors through
        raise InputError(f"{where}: not a readable UIMA CAS ({type(error).__name__}: {error})") from error
    return _entities(cas, fallback)


def _entities(cas: Any, fallback: str) -> dict[str, Any]:
    text = cas.sofa_string or ""
    spans = []
    for layer in (ENTITY, NAMED_ENTITY):
        if cas.typesystem.contains_type(layer):
            spans += [(span, getattr(span, "value", None)) for span in cas.select(layer)]
    spans = sorted(((span, kind) for span, kind in spans if kind), key=lambda pair: (pair[0].begin, pair[0].end))
    position = {span.xmiID: i for i, (span, _) in enumerate(spans)}
    entities = [
        {
            "start": span.begin,
            "end": span.end,
            "text": text[span.begin : span.end],
            "type": kind,
            "assertion": getattr(span, "assertion", None) or "present",
            "score": None,
            "concept": getattr(span, "concept", None),
        }
        for span, kind in spans
    ]
    relations = []
    if cas.typesystem.contains_type(RELATION):
        for link in cas.select(RELATION):
            ends = (getattr(link.Governor, "xmiID", None), getattr(link.Dependent, "xmiID", None))
            if ends[0] in position and ends[1] in position:
                relations.append(
                    {"head": position[ends[0]], "tail": position[ends[1]], "type": link.label, "score": None}
                )
    identity = fallback
    if cas.typesystem.contains_type(TITLE):
        titles = [meta.documentTitle for meta in cas.select(TITLE) if meta.documentTitle]
        identity = titles[0] if titles else fallback
    return {"id": identity, "text": text, "entities": entities, "relations": relations}
