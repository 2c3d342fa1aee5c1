"""All paths of a run over a file: its inputs, its outputs, and the files that it keeps beside them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from medassay.cases import case_files
from medassay.engine.scores_file import meta_path
from medassay.engine.store import JOURNALS
from medassay.errors import InputError
from medassay.files import is_special
from medassay.paths import Given, ReadFolder, check_paths
from medassay.records import READERS, kind_of, standard_input


@contextmanager
def copied(cases: str, format: str | None) -> Iterator[tuple[str, str | None]]:
    """A copy of cases that can be read only once, and its format: for a run that must read them twice."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "cases"
        with copy.open("wb") as target:
            if cases == "-":
                shutil.copyfileobj(standard_input(), target)
            else:
                with Path(cases).open("rb") as pipe:
                    shutil.copyfileobj(pipe, target)
        with copy.open("rb") as stream:
            start = stream.read(64).decode("utf-8-sig", "ignore").lstrip()
        named = None if cases == "-" else kind_of(cases)
        yield str(copy), format or (named if named in READERS else "jsonl" if start.startswith("{") else "csv")


@dataclass(frozen=True)
class RunPaths:
    """The paths of one run, as `medassay.api.FileRun` is given them."""

    cases: str
    format: str | None = None
    out: Path | None = None
    report: Path | None = None
    evidence: Path | None = None
    distribution: Path | None = None
    store: Path | None = None
    keep: bool = True

    @property
    def streams(self) -> bool:
        """Whether the cases can be read only once."""
        return self.cases == "-" or is_special(Path(self.cases))

    @property
    def outputs(self) -> list[Path]:
        """The files that were asked for."""
        return [path for path in (self.out, self.report, self.evidence, self.distribution) if path is not None]

    @property
    def beside(self) -> Path | None:
        """The output that files of the run are kept beside; None where there is none but devices and pipes."""
        return next((path for path in (self.out, self.report) if path is not None and not is_special(path)), None)

    @property
    def resume(self) -> Path | None:
        """The file that keeps results until the run is complete; None where they are kept elsewhere or not at all."""
        if not self.keep or self.store is not None or self.beside is None:
            return None
        return self.beside.with_name(self.beside.name + ".resume")

    def check(self, inputs: Mapping[str, Given | ReadFolder]) -> None:
        """Compare everything that is read with everything that is written.

        inputs: what is read beside the cases, by what messages call it.
        """
        if self.store is not None and is_special(self.store):
            raise InputError(f"{self.store} (store): is a device or a pipe; results are kept in a file")
        outputs: dict[str, Given] = {"scores": self.out, "report": self.report, "evidence": self.evidence}
        outputs |= {"distribution": self.distribution, "store": self.store, "resume file": self.resume}
        for label, path in (("store", self.store), ("resume file", self.resume)):
            if path is not None:
                outputs[f"journal of the {label}"] = [path.with_name(path.name + end) for end in JOURNALS]
        if self.out is not None and not is_special(self.out):
            outputs["meta file"] = meta_path(self.out)
        check_paths({"cases": self._case_files(), **inputs}, outputs)
        for path in (*self.outputs, self.store):
            if path is not None and self._would_be_a_case_file(path):
                raise InputError(f"{path}: would be read as a case file by the next run; write it to another folder")

    def _case_files(self) -> list[str]:
        try:
            return case_files(self.cases, self.format)
        except InputError:  # a folder of something else
            return [self.cases]

    def _would_be_a_case_file(self, path: Path) -> bool:
        folder, kinds = Path(self.cases), {self.format} if self.format else set(READERS)
        if not folder.is_dir() or not folder.samefile(path.resolve().parent):
            return False
        return kind_of(path) in kinds and path.name[0] not in "._"
