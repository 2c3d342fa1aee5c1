"""Cases, and their assignment to annotators in random order: pure functions of the cases, the names and a seed."""

from __future__ import annotations

import hashlib
import hmac
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from medassay.cases import Row
from medassay.errors import InputError
from medassay.human.protocols import Protocol

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Item:
    """One candidate text of a case; `system` is never shown to annotators."""

    system: str
    candidate: str
    extra: dict[str, str | int | float | bool | None]


@dataclass(frozen=True, slots=True)
class Unit:
    """One case: a source and a reference with the candidates of every system."""

    case_id: str
    source: str
    reference: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """One case for one annotator; `order` are indices into the unit's items, in the order shown."""

    id: str
    annotator: str
    case_id: str
    order: tuple[int, ...]


def clean(text: str | None) -> str:
    """A text as it is frozen into the study: line ends become \\n and lone surrogates U+FFFD, so that
    character offsets mean the same in Python, in the database and in a browser."""
    plain = (text or "").replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")
    return _SURROGATE.sub("\ufffd", plain)


def group(rows: Iterable[Row], protocol: Protocol, where: str) -> list[Unit]:
    """Cases of one id and several systems as one unit, in file order; a bad row stops with its number."""
    units: dict[str, tuple[str, str, list[Item], int]] = {}
    for row in rows:
        if row.case is None:
            raise InputError(f"{where}, row {row.number}: {row.problem}")
        case = row.case
        for need in ("candidate", *protocol.needs):
            if not case.has(need):
                raise InputError(f"{where}, row {row.number}: '{need}' is empty; {protocol.name} needs it")
        source, reference = clean(case.source), clean(case.reference)
        held = units.setdefault(case.id, (source, reference, [], row.number))
        if (held[0], held[1]) != (source, reference):
            raise InputError(
                f"{where}, row {row.number}: case '{case.id}' has another source or reference than in row "
                f"{held[3]}; texts of one id are judged together and share both"
            )
        held[2].append(Item(case.system or "", clean(case.candidate), dict(case.extra)))
    return [Unit(name, source, ref, tuple(items)) for name, (source, ref, items, _) in units.items()]


def assign(case_ids: Sequence[str], annotators: Sequence[str], per_case: int | None, seed: int) -> dict[str, list[str]]:
    """For each case its annotators: all of them, or `per_case`, such that loads differ by one at most.

    Ties go to the annotators who have shared fewest cases so far, so that every pair overlaps and
    pairwise agreement can be computed.

    >>> assign(["a", "b", "c"], ["x", "y", "z"], None, 1)["b"]
    ['x', 'y', 'z']
    """
    if per_case is None or per_case >= len(annotators):
        return {case: list(annotators) for case in case_ids}
    rng = random.Random(f"assign:{seed}")
    load = dict.fromkeys(annotators, 0)
    shared: dict[frozenset[str], int] = {}
    chosen: dict[str, list[str]] = {}
    for case in rng.sample(list(case_ids), len(case_ids)):
        team: list[str] = []
        for _ in range(per_case):
            rest = [name for name in annotators if name not in team]
            lightest = min(load[name] for name in rest)
            ready = [name for name in rest if load[name] == lightest]
            met = {name: sum(shared.get(frozenset((name, other)), 0) for other in team) for name in ready}
            fewest = min(met.values())
            pick = rng.choice([name for name in ready if met[name] == fewest])
            for other in team:
                pair = frozenset((pick, other))
                shared[pair] = shared.get(pair, 0) + 1
            team.append(pick)
            load[pick] += 1
        chosen[case] = [name for name in annotators if name in team]
    return {case: chosen[case] for case in case_ids}


def tasks_for(annotator: str, units: Sequence[Unit], seed: int, key: bytes | None = None) -> list[Task]:
    """An annotator's tasks in a random order of cases, the systems of each in a random order.

    Both follow from the seed, the annotator, the case and the study's key: adding a case or an annotator
    later does not reorder the rest of a task, and nobody can compute them without the key. Without a key
    they are as studies of version 0.1 have them.
    """
    tasks = []
    for unit in units:
        rng = random.Random(_seed(key, f"order:{seed}:{annotator}:{unit.case_id}"))
        order = rng.sample(range(len(unit.items)), len(unit.items))
        tasks.append(Task(task_id(seed, annotator, unit.case_id, key), annotator, unit.case_id, tuple(order)))
    random.Random(_seed(key, f"cases:{seed}:{annotator}")).shuffle(tasks)
    return tasks


def task_id(seed: int, annotator: str, case_id: str, key: bytes | None = None) -> str:
    """An id that tells an annotator nothing about the case; without the key it cannot be computed."""
    content = f"{seed}\0{annotator}\0{case_id}".encode("utf-8", "surrogatepass")
    if key is None:
        return hashlib.blake2b(content, digest_size=9).hexdigest()
    return hmac.digest(key, b"task\0" + content, "sha256").hex()[:32]


def _seed(key: bytes | None, name: str) -> str:
    return name if key is None else hmac.digest(key, name.encode("utf-8", "surrogatepass"), "sha256").hex()
