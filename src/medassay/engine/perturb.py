"""A whole `medassay perturb` run: what a laboratory needs to generate the perturbed reports elsewhere.

The folder gets `images/` (a stain-perturbed copy of each image), `prompts.jsonl` (for each case the plain prompt
and the one with a false history), `cases.csv` (the cases, with empty columns `candidate_stain` and
`candidate_attack` to be filled in and given to `medassay trust`) and `manifest.json` (settings, versions,
hashes). Same input and seed, same bytes.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medassay import __version__
from medassay.cases import Case, Row, read_cases
from medassay.engine.trust import beside, folder_rows, holds_images
from medassay.errors import InputError
from medassay.files import guard, open_output, write_text
from medassay.metrics.histories import choose
from medassay.metrics.subject import Prompts, read_prompts
from medassay.slides import open_image
from medassay.slides.perturb import locate, perturb_images

COLUMNS = ("id", "system", "image", "image_stain", "candidate", "candidate_stain", "candidate_attack", "attack_history")


@dataclass
class Perturbing:
    """One `medassay perturb` command."""

    cases: str
    out: Path
    images: Path | None
    columns: Mapping[str, str]
    format: str | None
    degrees: float
    gain: float
    mpp: float | None
    prompts: str
    histories: str
    seed: int
    strict: bool = False
    written: int = 0
    warnings: list[str] = field(default_factory=list)

    def run(self) -> list[str]:
        """Write it all; returns the rows that had problems."""
        prompts = read_prompts(self.prompts)
        problems: list[str] = []
        records: list[dict[str, Any]] = []
        asked: list[dict[str, Any]] = []
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            for case in self._usable(problems):
                record, prompt = self._one(case, prompts, problems)
                if record is not None and prompt is not None:
                    records.append(record)
                    asked.append(prompt)
            if not records:
                raise InputError(f"{self.cases}: no usable row. First problem: {problems[0]}")
            self._write(records, asked, prompts, problems)
        except OSError as error:
            raise InputError(f"{self.out}: cannot be written ({error.strerror}); choose another --out") from error
        self.written = len(records)
        return problems

    @property
    def _folder(self) -> Path | None:
        return self.images or beside(self.cases)

    def _usable(self, problems: list[str]) -> Iterator[Case]:
        rows: Iterator[Row]
        if holds_images(self.cases):
            rows = folder_rows(Path(self.cases), generated=True)
        else:
            rows = read_cases(self.cases, self.columns, format=self.format, strict=self.strict)
        for row in rows:
            if row.case is None:
                self._trouble(f"{row.place}: {row.problem}", problems)
            else:
                yield row.case

    def _trouble(self, text: str, problems: list[str]) -> None:
        if self.strict:
            raise InputError(f"{self.cases}, {text}")
        problems.append(text)

    def _one(
        self, case: Case, prompts: Prompts, problems: list[str]
    ) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """The row and the prompts of one case; nothing where its image cannot be opened."""
        copy = next(
            perturb_images(
                [case],
                self.out / "images",
                images=self._folder,
                seed=self.seed,
                degrees=self.degrees,
                gain=self.gain,
                mpp=self.mpp,
                done=_bar,
            )
        )
        if copy.path is None:
            text = copy.problem or "cannot be perturbed"
            self._trouble(text if text.startswith("row ") else f"row {case.row}, column 'image': {text}", problems)
            if not self._opens(case):
                return None, None
        if copy.warning and copy.warning not in self.warnings:
            self.warnings.append(copy.warning)
        try:
            history = choose(case, case.candidate, self.seed, self.histories)
        except InputError as error:
            self._trouble(f"row {case.row}: {error}", problems)
            return None, None
        stained = copy.path.relative_to(self.out).as_posix() if copy.path is not None else ""
        extra = {k: v for k, v in case.extra.items() if k not in COLUMNS}
        record = {
            "id": case.id,
            "system": case.system,
            "image": self._named(case),
            "image_stain": stained,
            "candidate": case.candidate,
            "candidate_stain": "",
            "candidate_attack": "",
            "attack_history": history.id,
            **({"candidate_stain_error": copy.problem} if copy.problem else {}),
            **({"reference": case.reference} if case.references else {}),
            **extra,
        }
        asked = {
            "id": case.id,
            "system": case.system,
            "image": self._named(case),
            "image_stain": stained,
            "system_prompt": prompts.system,
            "prompt": prompts.plain,
            "prompt_attack": prompts.attacked(history.text),
        }
        return record, asked

    def _opens(self, case: Case) -> bool:
        """Whether the image can at least be shown under a false history, though its stains cannot be perturbed."""
        try:
            with open_image(locate(case, self._folder), mpp=self.mpp):
                return True
        except InputError:
            return False

    def _named(self, case: Case) -> str:
        """The image as the new case file names it: relative to the folder that this file lies in."""
        return Path(os.path.relpath(locate(case, self._folder), self.out)).as_posix()

    def _write(
        self, records: list[dict[str, Any]], asked: list[dict[str, Any]], prompts: Prompts, problems: list[str]
    ) -> None:
        header = list(dict.fromkeys([*COLUMNS, *(name for record in records for name in record)]))
        with open_output(self.out / "cases.csv", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(header)
            for record in records:
                cells = [record.get(name) for name in header]
                writer.writerow(["" if c is None else guard(c) if isinstance(c, str) else c for c in cells])
        lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in asked)
        write_text(self.out / "prompts.jsonl", lines)
        manifest = {
            "medassay": __version__,
            "seed": self.seed,
            "stain": {"method": "Macenko", "degrees": self.degrees, "gain": self.gain},
            "prompts": f"{prompts.version}@{prompts.digest}",
            "histories": self.histories,
            "cases": len(records),
            "problems": problems,
            "images": {name: _sha256(self.out / name) for one in records if (name := one["image_stain"])},
            "next": "have the model write about image_stain with prompt, and about image with prompt_attack; put the "
            "texts into candidate_stain and candidate_attack of cases.csv (empty: a failed generation), then "
            "medassay trust cases.csv",
        }
        text = json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
        write_text(self.out / "manifest.json", text)


def _sha256(path: Path) -> str:
    hasher = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            hasher.update(block)
    return hasher.hexdigest()


def _bar(done: int, of: int) -> None:
    """How far a whole slide is, on a terminal."""
    if sys.stderr.isatty():
        print(f"\rmedassay: perturbing, tile {done:,} of {of:,}", end="\n" if done == of else "", file=sys.stderr)
