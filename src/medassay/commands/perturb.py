"""`medassay perturb`: stain-perturbed images and prompts, for reports that are generated elsewhere.

The folder gets `images/` (a stain-perturbed copy of each image), `prompts.jsonl` (for each case the plain prompt
and the one with a false history), `cases.csv` (the cases, with empty columns `candidate_stain` and
`candidate_attack` to be filled in and given to `medassay trust`) and `manifest.json` (settings, versions,
hashes). Same input and seed, same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medassay import console
from medassay.errors import InputError

if TYPE_CHECKING:
    from medassay.cases import Case
    from medassay.metrics.subject import Prompts
    from medassay.slides.perturb import StainedCopy

COLUMNS = ("id", "system", "image", "image_stain", "candidate", "candidate_stain", "candidate_attack", "attack_history")

WRITTEN = ("cases.csv", "prompts.jsonl", "manifest.json")
"""Files in the folder, beside the images."""

Record = dict[str, Any]


def perturb(
    cases: Annotated[str, typer.Argument(help="Case file with a column image, or a folder of images and reports.")],
    out: Annotated[Path, typer.Option(help="Folder for perturbed images, prompts, the case file and a manifest.")],
    images: console.Images = None,
    degrees: Annotated[float, typer.Option(help="Turn of each stain vector.")] = 8.0,
    gain: Annotated[float, typer.Option(help="Largest change of the stains' strength, as a share.")] = 0.25,
    mpp: console.Mpp = None,
    prompts: console.Prompts = "subject-1",
    histories: console.Histories = "histories-1",
    map_: console.Map = "",
    format: console.Format = None,
    seed: console.Seed = 1,
    strict: console.Strict = False,
) -> None:
    """Write stain-perturbed images and false clinical histories, for reports that are generated elsewhere."""
    columns = console.parse_mapping(map_)
    run = PerturbRun(cases, out, images, columns, format, degrees, gain, mpp, prompts, histories, seed, strict)
    written = run.run()
    console.say(f"{written:,} cases written to {out / 'cases.csv'}; fill in candidate_stain and candidate_attack")
    console.say(f"images in {out / 'images'}, prompts in {out / 'prompts.jsonl'}, settings in {out / 'manifest.json'}")
    console.say_warnings(run.warnings)
    console.finish(cases, run.problems)


@dataclass
class PerturbRun:
    """One `medassay perturb` command. problems, warnings: of rows, once it has run."""

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
    problems: list[str] = field(default_factory=list, init=False)
    warnings: list[str] = field(default_factory=list, init=False)

    def run(self) -> int:
        """Write it all; returns how many cases could be perturbed."""
        from medassay.metrics.subject import read_prompts
        from medassay.paths import hold

        prompts = read_prompts(self.prompts)
        self._check_paths()
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            with hold([self.out / WRITTEN[0]]):
                return self._write(prompts)
        except OSError as error:
            raise InputError(f"{self.out}: cannot be written ({error.strerror}); choose another --out") from error

    def _write(self, prompts: Prompts) -> int:
        from medassay.files import json_text, write_rows, write_text

        pairs = list(self._perturbed(prompts))
        if not pairs:
            raise InputError(f"{self.cases}: no usable row. First problem: {self.problems[0]}")
        records = [record for record, _ in pairs]
        cases_path, prompts_path, manifest_path = (self.out / name for name in WRITTEN)
        write_rows(records, cases_path)
        write_rows([prompt for _, prompt in pairs], prompts_path)
        write_text(manifest_path, json_text(self._manifest(records, prompts), indent=1) + "\n")
        return len(records)

    def _check_paths(self) -> None:
        from medassay.cases import case_files
        from medassay.engine.trust import IMAGES, REPORTS, check_not_among_cases, holds_images
        from medassay.paths import ReadFolder, check_paths

        inputs: dict[str, Any] = {"--prompts": console.existing(self.prompts)}
        inputs["--histories"] = console.existing(self.histories)
        if holds_images(self.cases):
            inputs["cases"] = ReadFolder(Path(self.cases), {*IMAGES, *REPORTS})
            check_not_among_cases(self.out, self.cases)
        else:
            inputs["cases"] = case_files(self.cases, self.format)
        if self._folder is not None:
            inputs["images"] = ReadFolder(self._folder, IMAGES)
        check_paths(inputs, {"--out": [self.out / name for name in WRITTEN]}, folders={"--out": self.out})

    def _perturbed(self, prompts: Prompts) -> Iterator[tuple[Record, Record]]:
        """The row and the prompts of every case whose image can be opened."""
        from medassay.metrics.histories import choose
        from medassay.slides.perturb import perturb_images

        with console.progress_bar("perturbing", "tiles") as update:
            for case in self._readable_cases():
                [copy] = perturb_images(
                    [case],
                    self.out / "images",
                    images=self._folder,
                    seed=self.seed,
                    degrees=self.degrees,
                    gain=self.gain,
                    mpp=self.mpp,
                    done=update,
                )
                if copy.path is None:
                    text = copy.problem or "cannot be perturbed"
                    self._add_problem(text if text.startswith("row ") else f"row {case.row}, column 'image': {text}")
                    if not self._image_opens(case):
                        continue
                if copy.warning and copy.warning not in self.warnings:
                    self.warnings.append(copy.warning)
                try:
                    history = choose(case, case.candidate, self.seed, self.histories)
                except InputError as error:
                    self._add_problem(f"row {case.row}: {error}")
                    continue
                yield self._record(case, copy, history.id), self._prompts(case, copy, prompts, history.text)

    @property
    def _folder(self) -> Path | None:
        from medassay.engine.trust import image_folder

        return self.images or image_folder(self.cases)

    def _readable_cases(self) -> Iterator[Case]:
        """The cases of the file or folder; rows that cannot be read become problems."""
        from medassay.cases import read_cases
        from medassay.engine.trust import folder_rows, holds_images

        if holds_images(self.cases):
            rows = folder_rows(Path(self.cases), generated=True)
        else:
            rows = read_cases(self.cases, self.columns, format=self.format, strict=self.strict)
        for row in rows:
            if row.case is None:
                self._add_problem(f"{row.location}: {row.problem}")
            else:
                yield row.case

    def _add_problem(self, problem: str) -> None:
        """Keep the problem of a row; raise it where the run is strict."""
        if self.strict:
            raise InputError(f"{self.cases}, {problem}")
        self.problems.append(problem)

    def _image_opens(self, case: Case) -> bool:
        """Whether the image can at least be shown under a false history, though its stains cannot be perturbed."""
        from medassay.slides import open_image
        from medassay.slides.perturb import locate

        try:
            with open_image(locate(case, self._folder), mpp=self.mpp):
                return True
        except InputError:
            return False

    def _record(self, case: Case, copy: StainedCopy, history: str) -> Record:
        """The case as a row of the new case file."""
        from medassay.columns import carried_columns

        own = dict.fromkeys(COLUMNS, "") | self._images(case, copy) | {"id": case.id, "system": case.system}
        own |= {"candidate": case.candidate, "attack_history": history}
        own |= {"candidate_stain_error": copy.problem} if copy.problem else {}
        own |= {"reference": case.reference} if case.references else {}
        return own | carried_columns(case.extra, own)

    def _prompts(self, case: Case, copy: StainedCopy, prompts: Prompts, history: str) -> Record:
        texts = {"system_prompt": prompts.system, "prompt": prompts.plain, "prompt_attack": prompts.attacked(history)}
        return {"id": case.id, "system": case.system, **self._images(case, copy), **texts}

    def _images(self, case: Case, copy: StainedCopy) -> Record:
        """The image and its copy, relative to the folder that the new case file is in."""
        from medassay.slides.perturb import locate

        image = Path(os.path.relpath(locate(case, self._folder), self.out)).as_posix()
        return {"image": image, "image_stain": copy.path.relative_to(self.out).as_posix() if copy.path else ""}

    def _manifest(self, records: Sequence[Record], prompts: Prompts) -> Record:
        from medassay import __version__

        return {
            "medassay": __version__,
            "seed": self.seed,
            "stain": {"method": "Macenko", "degrees": self.degrees, "gain": self.gain},
            "prompts": f"{prompts.version}@{prompts.digest}",
            "histories": self.histories,
            "cases": len(records),
            "problems": self.problems,
            "images": {name: _sha256(self.out / name) for record in records if (name := record["image_stain"])},
            "next": "have the model write about image_stain with prompt, and about image with prompt_attack; put the "
            "texts into candidate_stain and candidate_attack of cases.csv (empty: a failed generation), then "
            "medassay trust cases.csv",
        }


def _sha256(path: Path) -> str:
    import hashlib

    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
