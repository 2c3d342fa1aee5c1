"""Histology images with what they show: tags and words as data files, and the reader that joins them with images.

Read are PathVQA (`pathvqa/captions.jsonl` and images), LC25000 (`lc25000/<class>/g<source group>_….jpeg`) and the
oral set (`oral/<class>/….jpg`), as far as a folder has them, and a set of many sources (`many/labels.csv`: image,
source, organ, label, group; `many/sources.csv`: source and licence). The refusal of what is not H&E also learns
from images that are not (`other/labels.csv`: image, source).
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from medassay.errors import InputError
from medassay.language.lexicon import read_table, read_tsv
from medassay.language.processes import NO_PROCESS
from medassay.language.processes import process_of as sign_of

WEIGHTS = {
    "caption": 2.0,
    "statement": 0.5,
    "present": 0.3,
    "phrase": 1.0,
    "organ": 0.7,
    "both": 0.7,
    "process": 0.5,
    "pattern": 1.0,
}
"""How much the texts of each kind count together in what an image shows."""

_ANSWER = re.compile(
    r"(?P<answer>.*?)\s*\b(?P<next>(?:what|where|does|do|is|are|how|why|who|when|which|did|was|were|can|has|have)\b.*)?$"
)
_VERB = re.compile(r"^(?:is|are|does|do|was|were|has|have|did) ")
_SHOWS = "does this image show "
_BRACKETS = re.compile(r"\s*\([^()]*\)")


@dataclass(frozen=True, slots=True)
class Sample:
    """An image and what is said of it.

    source: pathvqa, lc25000, oral or a source of the set of many. label: the class; for PathVQA the kind of caption,
    `library` (titles of an image library) or `book` (sentences of text books). group: images that must not be parted
    by a fold (a source group, or one caption). caption: as the source words it. texts: (kind, text) pairs to learn
    from. test_only: its licence keeps it out of weights that are passed on.
    """

    file: Path
    source: str
    label: str
    group: str
    organ: str
    process: str
    caption: str
    phrases: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]
    test_only: bool = False


def read_samples(folder: Path) -> list[Sample]:
    """All samples of a folder, sorted by file; an `InputError` where it has none."""
    samples = [
        *_pathvqa(folder / "pathvqa"),
        *_classes(folder / "lc25000", "lc25000"),
        *_classes(folder / "oral", "oral"),
    ]
    if not samples:
        raise InputError(
            f"{folder}: no pathvqa/captions.jsonl, lc25000 or oral in it; give the folder of histology sets"
        )
    return samples


@cache
def words(kind: str) -> Mapping[str, tuple[str, ...]]:
    """The phrases of words.tsv of one kind, by key."""
    return {row["key"]: _split(row["phrases"]) for row in own_table("words.tsv") if row["kind"] == kind}


def questions(text: str) -> list[tuple[str, str]]:
    """The question–answer pairs of a PathVQA line.

    >>> questions("what is present? liver is liver present? yes is lung present? no")
    [('what is present', 'liver'), ('is liver present', 'yes'), ('is lung present', 'no')]
    """
    question, *rest = (part.strip() for part in text.split("?"))
    pairs = []
    for part in rest:
        answer, _, after = part.partition(" ")
        if answer not in ("yes", "no"):
            match = _ANSWER.match(part)
            answer, after = (match["answer"], match["next"] or "") if match else (part, "")
        pairs.append((question, answer))
        question = after.strip()
    return pairs


def _pathvqa(folder: Path) -> Iterator[Sample]:
    path = folder / "captions.jsonl"
    if not path.is_file():
        return
    tags = {image: row for row in own_table("tags.tsv") for image in row["images"].split(" ")}
    with path.open(encoding="utf-8") as lines:
        records = sorted((json.loads(line) for line in lines), key=lambda record: str(record["image"]))
    for record in records:
        row = tags.get(Path(record["image"]).stem, {"organ": "none", "process": "-", "phrases": ""})
        shown, statements = _statements(record["text"])
        titles, present = shown or record["shows"], ", ".join(record["present"])
        caption = ", ".join(part for part in (*titles, present) if part) or "; ".join(statements[:2])
        phrases = _split(row["phrases"])
        texts = [
            ("caption", caption),
            *(("statement", line) for line in (*titles, *statements[:8])),
            ("present", present),
        ]
        texts += tagged_texts(phrases, row["organ"], row["process"])
        distinct = tuple(dict.fromkeys((kind, text) for kind, text in texts if text))
        style = "library" if record["shows"] or record["present"] else "book"
        origin = (folder / record["image"], "pathvqa", style, f"caption {caption}")
        yield Sample(*origin, row["organ"], row["process"], caption, phrases, distinct)


def _statements(text: str) -> tuple[list[str], list[str]]:
    """What the image is said to show, and what else is said of it: affirmed questions and answers."""
    pairs = questions(text)
    shown = [q.partition(_SHOWS)[2] for q, a in pairs if a == "yes" and _SHOWS in q]
    affirmed = [_VERB.sub("", q) for q, a in pairs if a == "yes" and _SHOWS not in q and not q.endswith(" present")]
    answers = [a for q, a in pairs if a not in ("yes", "no") and len(a) > 3 and "present" not in q]
    return shown, list(dict.fromkeys([*affirmed, *answers]))


def _classes(folder: Path, source: str) -> Iterator[Sample]:
    for row in own_table("words.tsv"):
        if row["kind"] != "class":
            continue
        phrases = _split(row["phrases"])
        texts = tuple(tagged_texts(phrases, row["organ"], row["process"]))
        for file in sorted(folder.glob(f"{row['key']}/*.jp*g")):
            group = f"{row['key']} {file.name.partition('_')[0] if source == 'lc25000' else file.stem}"
            yield Sample(file, source, row["key"], group, row["organ"], row["process"], "", phrases, texts)


def read_many(folder: Path) -> Iterator[Sample]:
    """The set of many sources below `many`, if there is one. Mouse tissue serves normal organs only."""
    folder = folder / "many"
    path = folder / "labels.csv"
    if not path.is_file():
        return
    keys = {name: key for kind in ("organ", "name") for key, names in words(kind).items() for name in names}
    closed = {row["source"] for row in _rows(folder / "sources.csv", ("source",)) if "NC" in str(row)}
    for row in _rows(path, ("image", "source", "organ", "label", "group")):
        mouse, organ = "(mouse)" in row["organ"], keys.get(row["organ"].replace(" (mouse)", ""), "none")
        phrases, process = label_phrases(row["label"]), process_of(row["label"])
        if mouse and process != "n":
            continue
        # Letters behind a case number name parts of one case, which no fold may part.
        group = re.sub(r"(\d-\d+)[A-Z]+$", r"\1", row["group"]) or row["image"]
        origin = (folder / row["image"], row["source"], row["label"], f"{row['source']} {group}")
        texts = tuple(tagged_texts(phrases, organ, process))
        yield Sample(*origin, organ, process, "", phrases, texts, row["source"] in closed)


def read_others(folder: Path) -> list[tuple[Path, str]]:
    """Images that are not H&E, with their source: `other/labels.csv`; empty where there is none."""
    path = folder / "other" / "labels.csv"
    if not path.is_file():
        return []
    return [(path.parent / row["image"], row["source"]) for row in _rows(path, ("image", "source"))]


def label_phrases(label: str) -> tuple[str, ...]:
    """The names in a label, in American spelling: without what stands in brackets and without `mouse`.

    Names are parted by a slash between spaces; that of "and/or" parts none.

    >>> label_phrases("immune cells / lymphoid follicle"), label_phrases("adenocarcinoma (tumour and/or normal lung)")
    (('immune cells', 'lymphoid follicle'), ('adenocarcinoma',))
    """
    names = re.sub(r",? mouse |, mouse$|^mouse ", " ", f"{_BRACKETS.sub('', label)} ").strip()
    return tuple(part.strip() for part in _american(names).split(" / ") if part.strip())


def process_of(label: str) -> str:
    """The process (a key of words.tsv) that a label speaks of; `-` where no sign of one occurs in it.

    What stands in brackets explains the name before it, and counts only where that name has no sign.

    >>> process_of("normal colonic mucosa"), process_of("lung squamous cell carcinoma"), process_of("mucus")
    ('n', 'q', '-')
    >>> process_of("lung adenocarcinoma (tumour, stroma and/or normal lung in the field)")
    'a'
    """
    process = sign_of(_BRACKETS.sub("", label))
    return sign_of(label) if process == NO_PROCESS else process


@cache
def _groups() -> Mapping[str, str]:
    return {row["process"]: row["group"] for row in read_tsv("processes.tsv")}


def group_of_process(process: str) -> str:
    """The group of a process (`language.processes.GROUPS`); empty where it has none.

    >>> group_of_process("q"), group_of_process("-")
    ('malignant', '')
    """
    return _groups().get(process, "")


def _rows(path: Path, columns: tuple[str, ...]) -> list[dict[str, str]]:
    if not path.is_file():
        raise InputError(f"{path}: no such file; the set of many sources needs it")
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    lacking = [name for name in columns if rows and name not in rows[0]]
    if lacking:
        raise InputError(f"{path}: no column {lacking[0]}; it needs {', '.join(columns)}")
    return rows


def _american(text: str) -> str:
    for british, american in (("tumour", "tumor"), ("haem", "hem"), ("kaemia", "kemia"), ("oedema", "edema")):
        text = text.replace(british, american)
    return text.replace("oesoph", "esoph").replace("naevus", "nevus").replace("coeliac", "celiac")


def tagged_texts(phrases: tuple[str, ...], organ: str, process: str) -> list[tuple[str, str]]:
    """(kind, text) of all texts about an image with these phrases, this organ and this process."""
    organs = words("organ").get(organ, ())
    combined = [f"{organs[0]}, {phrase}" for phrase in phrases[:2]] if organs else []
    patterns = words("pattern").get(process, ()) if organs else ()
    return [
        *(("phrase", text) for text in phrases),
        *(("organ", text) for text in organs),
        *(("both", text) for text in combined),
        *(("process", text) for text in words("process").get(process, ())),
        *(("pattern", pattern.format(organ=organs[0])) for pattern in patterns),
    ]


def _split(cell: str) -> tuple[str, ...]:
    return tuple(part for part in cell.split("|") if part)


def own_table(name: str) -> Iterator[dict[str, str]]:
    """The rows of a table of this folder, such as words.tsv."""
    return read_table(files("medassay.training.histology") / name)
