"""What the reader is trained on: pairs of a text and a statement with a verdict, from the data folder and the corpus.

Every pair knows the document that it comes from, and documents, never pairs, are held out: the same dialogue or
report recurs in several sets, so a document is its text with white space folded and letters lowered.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from medassay.language.layout import diagnosis_first
from medassay.spans import CONTRADICTION_KINDS, INVENTION_KINDS, VERDICTS

NOT_SUPPORTED = len(VERDICTS)
"""The label of pairs that are either not stated or contradicted, which is not known."""

NOT_CONTRADICTED = NOT_SUPPORTED + 1
"""The label of pairs that are either supported or not stated, which is not known."""

LABELS = {
    "entailment": 0, "supported": 0, "neutral": 1, "not_stated": 1, "contradiction": 2, "contradicted": 2,
    "not_entailment": NOT_SUPPORTED,
}  # fmt: skip

_VERDICT_OF = {"entailment": "supported", "neutral": "not_stated", "contradiction": "contradicted"}

KINDS = {("contradicted", kind): i for i, kind in enumerate(CONTRADICTION_KINDS)} | {
    ("not_stated", kind): len(CONTRADICTION_KINDS) + i for i, kind in enumerate(INVENTION_KINDS)
}

_GENERAL_PASSES = {
    "kqa": 2, "snli": 0.6, "breaking_nli": 0.4, "fever": 0.7, "rqe": 0.4, "mqp": 0.6, "evidence": 0.7, "nli4ct": 1.5,
}  # fmt: skip
"""Passes over public sets that are large or far from what is asked; 1 for the others."""

HELD_OUT = 9
"""Documents in a hundred that are held out."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A text, a statement, and what is known of them; None where something is not known.

    at: characters of the text that decide. expert: an expert's 0–5 score of a report pair. quality: 0–1, one minus
    the weighed errors per sentence (Ben Abacha et al. 2023, section 4). passes: how often training sees the pair.
    file: the file of the corpus that it comes from, such as `answers/b.claims.jsonl`; empty for the data folder.
    """

    source: str
    document: str
    text: str
    statement: str
    label: int | None = None
    kind: int | None = None
    severity: int | None = None
    at: tuple[int, int] | None = None
    expert: float | None = None
    quality: float | None = None
    passes: float = 1
    file: str = ""


def folded(text: str) -> str:
    """White space folded to single spaces."""
    return re.sub(r"\s+", " ", text).strip()


def held_out(document: str) -> bool:
    """Whether a document, given by its text, is set aside for measuring."""
    digest = hashlib.sha256(folded(document).lower().encode()).digest()
    return int.from_bytes(digest[:4], "big") % 100 < HELD_OUT


def read_pairs(data: Path, corpus: Path) -> list[Pair]:
    """All pairs of the data folder and of the corpus."""
    texts = Texts(data)
    readers: list[Callable[[], Iterable[Pair]]] = [
        lambda: _claims(data, corpus, texts),
        lambda: _verdicts(data, corpus),
        lambda: ladder_pairs(corpus),
        lambda: _long_errors(data, texts),
        lambda: _paraphrases(data),
        lambda: _perturbed(data),
        lambda: _medec(data),
        lambda: _general_inference(data),
        lambda: _clinical_inference(data, corpus),
        lambda: _morphology(data),
        lambda: _expert(data),
    ]
    return [pair for reader in readers for pair in reader()]


class Texts:
    """The texts that claims are about, by id, white space as in the source."""

    def __init__(self, data: Path) -> None:
        self.by_id: dict[str, str] = {}
        for row in read_csv(data / "mts_dialog/train.csv"):
            self.by_id[f"mts{row['ID']}"] = row["dialogue"]
        for row in read_csv(data / "mtsamples/notes.csv.gz"):
            name = str(row["note_id"])
            self.by_id[name if name.startswith("mtsamples") else f"mtsamples{name}"] = row["transcription"] or ""
        for number, row in enumerate(read_csv(data / "tcga/summaries.csv.gz")):
            self.by_id[f"summary{number}"] = row["summary"]
        for row in read_csv(data / "tcga/reports.csv.gz"):
            self.by_id[row["bcr_patient_barcode"]] = row["text"]
        for record in read_jsonl(data / "claims/visits_text.jsonl"):
            self.by_id[record["id"]] = record["dialogue"]
        for record in read_jsonl(data / "claims/answers_text.jsonl"):
            self.by_id[record["id"]] = record["text"]

    def __getitem__(self, name: str) -> str:
        return self.by_id[name]


def find(text: str, quote: str) -> tuple[int, int] | None:
    """Where a quote stands in a text, white space and case aside; None where it does not."""
    words = [re.escape(word) for word in quote.split()]
    if not words:
        return None
    match = re.search(r"\s+".join(words), text, re.IGNORECASE)
    return match.span() if match else None


def deciding_span(text: str, at: str | list[int] | None) -> tuple[int, int] | None:
    """The deciding words of a claim: quoted where the text is ours, by offsets where it is not."""
    if isinstance(at, list):
        return at[0], at[1]
    return find(text, at) if at else None


def _claims(data: Path, corpus: Path, texts: Texts) -> Iterator[Pair]:
    sets = [
        ("claims_" + name, data / f"claims/{name}.jsonl") for name in ("dialogues", "visits", "passages", "answers")
    ]
    sets += [(f"claims_{path.stem}", path) for path in sorted((corpus / "claims").glob("*.jsonl"))]
    for folder in sorted({path.parent for path in corpus.glob("*/*texts.jsonl")}):
        if folder.name == "bench":
            continue
        for path in sorted(folder.glob("*texts.jsonl")):
            claims = path.with_name(path.name.replace("texts", "claims"))
            if claims.is_file():
                texts.by_id |= {record["id"]: record["text"] for record in read_jsonl(path)}
                sets.append((f"claims_{folder.name}", claims))
    for source, path in sets:
        for record in read_jsonl(path):
            text = texts[record["id"]]
            label, severity = record["label"], record["severity"]
            at = deciding_span(text, record["at"])
            yield Pair(
                source,
                text,
                text,
                record["claim"],
                LABELS[label],
                KINDS.get((label, record["kind"])),
                None if severity == "none" else int(severity == "critical"),
                at,
                passes=4,
                file=_file(path, corpus),
            )


def _file(path: Path, corpus: Path) -> str:
    """The name of a file within the corpus; empty for a file of the data folder."""
    return path.relative_to(corpus).as_posix() if path.is_relative_to(corpus) else ""


def _verdicts(data: Path, corpus: Path) -> Iterator[Pair]:
    """Statements of generated note sections and their references, judged one by one."""
    rows: dict[str, list[dict[str, Any]]] = {
        "mts_dialog/fact_scores.csv": list(read_csv(data / "mts_dialog/fact_scores.csv")),
        "mts_dialog/judged_facts.jsonl": read_jsonl(data / "mts_dialog/judged_facts.jsonl"),
    }
    for record in read_jsonl(corpus / "statements/verdicts.jsonl"):
        row = rows[record["set"]][record["row"]]
        text, label, severity = row[record["against"]], record["label"], record["severity"]
        yield Pair(
            "verdicts",
            row["source"],
            text,
            record["statement"],
            LABELS[label],
            KINDS.get((label, record["kind"])),
            None if severity == "none" else int(severity == "critical"),
            deciding_span(text, record["at"]),
            passes=4,
        )


def ladder_pairs(corpus: Path) -> Iterator[Pair]:
    """Texts of our own with faithful rewordings and versions that carry one error."""
    for path in sorted((corpus / "ladders").glob("*.jsonl")):
        for record in read_jsonl(path):
            texts = [record["text"], *record["paraphrases"]]
            pair = Pair(f"ladders_{record['kind']}", record["text"], record["text"], "", 0, passes=0.4)
            yield from (replace(pair, text=first, statement=second) for first in texts for second in texts)
            for error in record["errors"]:
                yield from _ladder_error(pair, texts, error)


def _ladder_error(pair: Pair, texts: Sequence[str], error: dict[str, str]) -> Iterator[Pair]:
    wrong, kind = error["text"], error["kind"]
    for index, text in enumerate(texts):
        if kind == "omission":
            yield replace(pair, text=text, statement=wrong)
            yield replace(pair, text=wrong, statement=text, label=1)
        elif kind == "invention":
            yield replace(pair, text=text, statement=wrong, label=1)
            yield replace(pair, text=wrong, statement=text)
        else:
            known = KINDS.get(("contradicted", kind), KINDS["contradicted", "other"])
            severity = int(error["severity"] == "critical")
            contradicted = replace(pair, label=2, kind=known, severity=severity, passes=0.6)
            at = find(text, error["right"]) if index == 0 and error["right"] else None
            yield replace(contradicted, text=text, statement=wrong, at=at)
            at = find(wrong, error["wrong"]) if error["wrong"] else None
            yield replace(contradicted, text=wrong, statement=text, at=at)


def _long_errors(data: Path, texts: Texts) -> Iterator[Pair]:
    for record in read_jsonl(data / "long_errors/dev.jsonl"):
        text = texts[record["id"]]
        at = find(text, record["at"])
        if at is None:
            continue
        pair = Pair("long_errors", text, text, record["at"], 0, at=at, passes=1)
        wrong = replace(
            pair,
            label=2,
            kind=KINDS.get(("contradicted", record["kind"])),
            severity=int(record["severity"] == "critical"),
            passes=3,
        )
        yield pair
        yield replace(pair, statement=record["faithful"], passes=3)
        yield replace(wrong, statement=record["wrong_reworded"])
        yield replace(wrong, statement=record["wrong_verbatim"])
        for changed in (record["wrong_reworded"], record["wrong_verbatim"]):
            other = text[: at[0]] + changed + text[at[1] :]
            span = (at[0], at[0] + len(changed))
            yield replace(wrong, text=other, statement=record["faithful"], at=span, passes=1)
            yield replace(pair, text=other, statement=changed, at=span)


def _paraphrases(data: Path) -> Iterator[Pair]:
    kinds = {
        "value": "value",
        "negation": "negation",
        "diagnosis": "diagnosis",
        "site": "site",
        "contradiction": "other",
    }
    for record in read_jsonl(data / "paraphrases/dev.jsonl"):
        source = f"paraphrases_{record['kind']}"
        texts = [record["text"], record["paraphrase_a"], record["paraphrase_b"]]
        error, kind = record["error"], record["error_type"]
        pair = Pair(source, texts[0], texts[0], "", 0, passes=0.5)
        for first in texts:
            yield from (replace(pair, text=first, statement=second) for second in texts)
            if kind == "omission":
                yield replace(pair, text=first, statement=error)
                yield replace(pair, text=error, statement=first, label=1)
            elif kind == "invention":
                yield replace(pair, text=first, statement=error, label=1)
                yield replace(pair, text=error, statement=first)
            else:
                wrong = replace(pair, label=2, kind=KINDS.get(("contradicted", kinds.get(kind, ""))), passes=1)
                yield replace(wrong, text=first, statement=error)
                yield replace(wrong, text=error, statement=first)


def _perturbed(data: Path) -> Iterator[Pair]:
    for record in read_jsonl(data / "perturbed/dev.jsonl"):
        reference, candidate, kind = record["reference"], record["candidate"], record["kind"]
        pair = Pair("perturbed", reference, reference, candidate, 0, passes=2)
        if kind.startswith("paraphrase"):
            yield pair
            yield replace(pair, text=candidate, statement=reference)
        elif kind == "omission":
            yield pair
            yield replace(pair, text=candidate, statement=reference, label=1)
        elif kind == "hallucination":
            yield replace(pair, label=1)
            yield replace(pair, text=candidate, statement=reference)
        else:
            wrong = replace(pair, label=2, kind=KINDS.get(("contradicted", kind)))
            yield wrong
            yield replace(wrong, text=candidate, statement=reference)


def _medec(data: Path) -> Iterator[Pair]:
    for row in read_csv(data / "medec/errors.csv"):
        if row["Error Flag"] != "1":
            continue
        right, wrong = row["Corrected Sentence"], row["Error Sentence"]
        text = row["Corrected Text"]
        pair = Pair("medec", text, text, right, 0, at=find(text, right), passes=1)
        yield pair
        yield replace(pair, statement=wrong, label=NOT_SUPPORTED, passes=2)
        yield replace(pair, text=row["Text"], statement=right, label=NOT_SUPPORTED, at=find(row["Text"], wrong))


def _general_inference(data: Path) -> Iterator[Pair]:
    for row in read_csv(data / "nli/pairs.csv.gz"):
        label, passes = LABELS[row["label"]], _GENERAL_PASSES.get(row["source"], 1)
        yield Pair(row["source"], row["premise"], row["premise"], row["hypothesis"], label, passes=passes)
    for record in read_jsonl(data / "nli/public.jsonl.gz"):
        passes = _GENERAL_PASSES.get(record["source"], 1)
        premise = record["premise"]
        yield Pair(record["source"], premise, premise, record["hypothesis"], LABELS[record["label"]], passes=passes)


def _clinical_inference(data: Path, corpus: Path) -> Iterator[Pair]:
    paths = [data / "nli/pathology.jsonl", *sorted((corpus / "nli").glob("*.jsonl"))]
    for path in paths:
        source = "nli_pathology" if path.parent.parent == data else f"nli_{path.stem}"
        premises: dict[str, int] = {}
        for record in read_jsonl(path):
            premise = record["premise"]
            number = premises.setdefault(premise, len(premises))
            # Premises that stand together in the corpus are variants of one another: they are held out together.
            document = premise if path.parent.parent == data else f"{source} {number // 20}"
            label, severity = record["label"], record.get("severity", "none")
            yield Pair(
                source,
                document,
                premise,
                record["hypothesis"],
                LABELS[label],
                KINDS.get((_VERDICT_OF[label], record.get("kind", ""))),
                None if severity == "none" else int(severity == "critical"),
                passes=5,
                file=_file(path, corpus),
            )


def _morphology(data: Path) -> Iterator[Pair]:
    for record in read_jsonl(data / "nli/morphology.jsonl"):
        premise = record["premise"]
        pair = Pair("morphology", premise, premise, "", passes=5)
        for label in ("supported", "contradicted", "not_stated"):
            yield from (replace(pair, statement=statement, label=LABELS[label]) for statement in record[label])
        turned = replace(pair, text=record["swap"])
        yield replace(turned, statement=record["swap_supports"], label=0)
        yield from (
            replace(turned, statement=statement, label=NOT_SUPPORTED, passes=2) for statement in record["supported"]
        )


def _expert(data: Path) -> Iterator[Pair]:
    known: set[tuple[str, str]] = set()
    for row in read_csv(data / "hare/expert_scores.csv"):
        known.add((row["reference"], row["candidate"]))
        yield _expert_pair("expert_hare", row["reference"], row["candidate"], float(row["expert_score"]))
    for row in read_csv(data / "judged_pairs/dev.csv"):
        if row["source"] != "hare":
            yield _expert_pair("expert_judged", row["reference"], row["candidate"], float(row["score"]))


def _expert_pair(source: str, reference: str, candidate: str, score: float) -> Pair:
    texts = diagnosis_first(reference), diagnosis_first(candidate)
    return Pair(source, reference, *texts, expert=score, passes=4)


def _read(path: Path) -> str:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file (.gz too)."""
    csv.field_size_limit(1 << 30)
    return list(csv.DictReader(io.StringIO(_read(path), newline="")))


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSONL file, one per line."""
    return [json.loads(line) for line in _read(path).split("\n") if line]
