"""The study file (YAML): annotators, cases, protocol and wording of a study."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medassay.cases import read_cases
from medassay.errors import InputError, UnknownName, nearest
from medassay.human.plan import Unit, group
from medassay.human.protocols import PROTOCOLS, Protocol, load_protocol
from medassay.human.wording import Wording, default_wording, load_yaml, read_wording

_KEYS = [
    "name",
    "protocol",
    "cases",
    "columns",
    "annotators",
    "coordinators",
    "assignment",
    "seed",
    "database",
    "training",
    "practice_threshold",
    "blinded",
    "wording",
]
_NAME = re.compile(r"[\w.@-][\w.@ -]{0,62}")

_HEAD = """\
# A medassay study. Edit anything here before the first answer comes in; afterwards only the wording
# may change, and annotators may be added where every case goes to all of them.
name: {name}
protocol: {protocol}
cases: {cases}
columns: {columns}          # our field names: yours, e.g. {{candidate: generated}}
annotators: {annotators}
coordinators: {coordinators}          # names, each with a link and an audit trail of their own
assignment: {assignment}          # all: every case to everybody; or a number: annotators a case, balanced
seed: {seed}                  # decides who gets what, and the order of cases and systems
database: {database}   # a file beside this one, or postgresql://user@host/name
training: {training}           # a practice task with feedback first
practice_threshold: {practice_threshold}    # share of practice answers that must be as expected to go on; 0: none
blinded: {blinded}            # annotators judge on their own; false allows the machine's draft ('annotate draft')

# What annotators read. Delete a part to get the original back.
"""


@dataclass(frozen=True)
class Study:
    """A study file, read and checked. Paths are resolved against the file's own folder."""

    path: Path
    name: str
    protocol: Protocol
    cases: Path
    annotators: tuple[str, ...]
    wording: Wording
    per_case: int | None = None
    seed: int = 1
    database: str = ""
    training: bool = True
    columns: Mapping[str, str] = field(default_factory=dict)
    coordinators: tuple[str, ...] = ()
    practice_threshold: float = 0.0
    blinded: bool = True

    def units(self) -> list[Unit]:
        """The cases, grouped by id."""
        rows = read_cases(self.cases, self.columns)
        return group(rows, self.protocol, str(self.cases))

    def url(self) -> str:
        """The database as SQLAlchemy writes it; a bare name is a SQLite file beside the study file."""
        if self.database.startswith("postgresql://"):
            return self.database.replace("postgresql://", "postgresql+psycopg://", 1)
        if "://" in self.database:
            return self.database
        return f"sqlite:///{(self.path.parent / self.database).resolve()}"

    @property
    def key_path(self) -> Path:
        """Where the secret that every link derives from is kept."""
        return self.path.with_suffix(".key")

    @property
    def marker_path(self) -> Path:
        """Where the id of the database is kept that the study began with."""
        return self.path.with_suffix(".begun")

    @property
    def links_path(self) -> Path:
        """Where `annotate serve` writes everybody's link."""
        return self.path.with_suffix(".links")


def fingerprint(study: Study, units: Sequence[Unit]) -> str:
    """A hash of what must not change once answers have come in: protocol, seed, assignment, texts."""
    content = [study.protocol.name, study.seed, study.per_case]
    texts = [[u.case_id, u.source, u.reference, [[i.system, i.candidate] for i in u.items]] for u in units]
    dumped = json.dumps([content, texts], ensure_ascii=True).encode()
    return hashlib.blake2b(dumped, digest_size=16).hexdigest()


def load_study(path: str | Path) -> Study:
    """Read and check a study file; every error names the key and the remedy."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); make one with 'medassay annotate new {path} --cases FILE'"
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8; save the file as UTF-8") from error
    raw = load_yaml(text, str(path))
    if not isinstance(raw, dict):
        raise InputError(f"{path}: expected 'key: value' lines at the top, found {type(raw).__name__}")
    for key in raw:
        if key not in _KEYS:
            raise UnknownName(f"{path}: '{key}' is not known{nearest(str(key), _KEYS)}; keys: {', '.join(_KEYS)}")
    for key in ("protocol", "cases", "annotators"):
        if not raw.get(key):
            raise InputError(f"{path}: '{key}' is missing")
    protocol = load_protocol(str(raw["protocol"]))
    training, columns, own = raw.get("training", True), raw.get("columns") or {}, raw.get("wording") or {}
    if not isinstance(training, bool):
        raise InputError(f"{path}: training must be true or false, found {training!r}; tasks stand in the wording")
    if not isinstance(columns, dict) or not isinstance(own, dict):
        raise InputError(f"{path}: 'columns' and 'wording' hold 'key: value' pairs")
    blinded, threshold = raw.get("blinded", True), raw.get("practice_threshold", 0)
    if not isinstance(blinded, bool):
        raise InputError(f"{path}: blinded must be true or false, found {blinded!r}")
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise InputError(f"{path}: practice_threshold must be a share from 0 to 1, found {threshold!r}")
    annotators = _names(raw["annotators"], "annotator", path)
    coordinators = _names(raw.get("coordinators") or [], "coordinator", path)
    both = set(annotators) & set(coordinators)
    if both:
        raise InputError(f"{path}: '{sorted(both)[0]}' is an annotator and a coordinator; use two names")
    return Study(
        path=path,
        name=str(raw.get("name") or path.stem),
        protocol=protocol,
        cases=path.parent / str(raw["cases"]),
        annotators=annotators,
        wording=read_wording(protocol, own, str(path)),
        per_case=_per_case(raw.get("assignment", "all"), len(annotators), path),
        seed=_whole(raw.get("seed", 1), "seed", path),
        database=str(raw.get("database") or path.with_suffix(".db").name),
        training=training,
        coordinators=coordinators,
        practice_threshold=float(threshold),
        blinded=blinded,
        columns={str(k): str(v) for k, v in columns.items()},
    )


def _names(raw: Any, role: str, path: Path) -> tuple[str, ...]:
    if not isinstance(raw, list) or not all(isinstance(name, str | int) for name in raw):
        raise InputError(f"{path}: {role}s must be a list of names, [anna, ben, chi]")
    names = tuple(str(name) for name in raw)
    for name in names:
        check_name(name, role, str(path))
        if names.count(name) > 1:
            raise InputError(f"{path}: {role} '{name}' stands twice; names must differ")
    return names


def check_name(name: str, role: str, where: str) -> None:
    """Refuse a name with characters that cannot be shown, or one that is reserved."""
    if not _NAME.fullmatch(name) or name != name.strip():
        raise InputError(f"{where}: {role} {name!r}: use letters, digits, '.', '-', '_', '@' and spaces")
    if name.lower() in ("coordinator", "adjudicated", "study", "command line"):
        raise InputError(f"{where}: {role} '{name}': that name has a meaning of its own; take another")


def _per_case(raw: Any, annotators: int, path: Path) -> int | None:
    if raw == "all":
        return None
    per_case = _whole(raw, "assignment", path, "'all' or how many annotators see each case")
    if not 1 <= per_case <= annotators:
        raise InputError(f"{path}: assignment {per_case}: there are {annotators} annotators")
    return per_case


def _whole(raw: Any, key: str, path: Path, meaning: str = "a whole number") -> int:
    if isinstance(raw, bool) or not isinstance(raw, int):
        raise InputError(f"{path}: {key} must be {meaning}, found {raw!r}")
    return raw


def new_study_text(
    *,
    name: str,
    protocol: str,
    cases: str,
    annotators: Sequence[str],
    assignment: str = "all",
    seed: int = 1,
    database: str = "study.db",
    training: bool = True,
    columns: Mapping[str, str] | None = None,
    coordinators: Sequence[str] = (),
    practice_threshold: float = 0,
    blinded: bool = True,
) -> str:
    """A study file as `annotate new` writes it, with the whole wording in it to edit."""
    import yaml

    if protocol not in PROTOCOLS:
        load_protocol(protocol)

    def flow(value: Any) -> str:
        dumped: str = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10_000)
        return dumped.removesuffix("\n").removesuffix("\n...")

    head = _HEAD.format(
        name=flow(name),
        protocol=protocol,
        cases=flow(cases),
        columns=flow(dict(columns or {})),
        annotators=flow(list(annotators)),
        coordinators=flow(list(coordinators)),
        practice_threshold=practice_threshold,
        blinded=flow(blinded),
        assignment=assignment,
        seed=seed,
        database=flow(database),
        training=flow(training),
    )
    wording = {"wording": default_wording(load_protocol(protocol))}
    body: str = yaml.safe_dump(wording, sort_keys=False, allow_unicode=True, width=100)
    return head + body
