"""A whole `medassay trust` run: cases from a file or a folder of images, scored, routed, written.

Beside what a scoring run does: image names are looked up, the subject model may write the perturbed reports,
evidence goes to a file of its own, and the page shows where each report's entities were found.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from medassay.cases import Case, Row, Value, read_cases
from medassay.engine.base import Scored, Source
from medassay.engine.generate import Generator, Texts
from medassay.engine.job import Job
from medassay.engine.store import Store
from medassay.errors import InputError
from medassay.metrics.subject import Prompts, Subject
from medassay.metrics.trust import ROUTE
from medassay.outputs import ScoresWriter
from medassay.scores import Score
from medassay.slides.perturb import locate

if TYPE_CHECKING:
    from medassay.report.page import PageWriter
    from medassay.study.summary import Tally

IMAGES = frozenset(
    {
        ".png",
        ".jpg",
        ".jpeg",
        ".tif",
        ".tiff",
        ".bmp",
        ".webp",
        ".svs",
        ".ndpi",
        ".mrxs",
        ".scn",
        ".bif",
        ".dcm",
        ".czi",
    }
)
"""Names that are images in a folder given in place of a case file."""
REPORTS = (".txt", ".md")
_WARNINGS = 100
"""Images that may not be histology, named at most."""
SIDECARS = {".stain": "candidate_stain", ".attack": "candidate_attack"}
"""`slide1.stain.txt` beside `slide1.svs` holds the report about the perturbed image."""


@dataclass
class TrustJob(Job):
    """One `medassay trust` command. `routes` counts where the reports went, once it has run."""

    images: Path | None = None
    evidence: Path | None = None
    mpp: float | None = None
    subject: Subject | None = None
    prompts: Prompts | None = None
    histories: str = "histories-1"
    stained: Path | None = None
    routes: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    generated: tuple[int, int] | None = None
    """Reports that the subject wrote in this run, and that a former run had kept."""

    _stream: IO[str] | None = None
    _fill: Callable[[Iterator[Row]], Iterator[Row]] | None = None

    @property
    def _explained(self) -> bool:
        return self.evidence is not None

    def _check_writable(self) -> None:
        super()._check_writable()
        if self.evidence is not None and not self.evidence.resolve().parent.is_dir():
            raise InputError(f"{self.evidence}: the folder {self.evidence.resolve().parent} does not exist; create it")
        if self.images is not None and not self.images.is_dir():
            raise InputError(f"{self.images}: no such folder; --images names the folder that holds the images")

    @contextmanager
    def _open_store(self) -> Iterator[Store | None]:
        with ExitStack() as stack:
            store = stack.enter_context(super()._open_store())
            if self.subject is not None and self.prompts is not None:
                self._fill = self._generator(stack, store).fill
            if self.evidence is not None:
                self._stream = stack.enter_context(_replacing(self.evidence))
            yield store

    def _generator(self, stack: ExitStack, store: Store | None) -> Generator:
        assert self.subject is not None and self.prompts is not None
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        target = self.out or self.page
        beside = target.with_name(target.name + ".stained") if target is not None else scratch
        texts = Texts(store.path if store is not None else scratch / "texts")
        made = Generator(
            self.subject,
            self.prompts,
            texts,
            images=self._folder,
            stained=self.stained or beside,
            mpp=self.mpp,
            seed=self.seed,
            histories=self.histories,
        )

        def closing() -> None:
            self.generated = (made.written, made.found)
            texts.close()

        stack.callback(closing)
        return made

    @property
    def _folder(self) -> Path | None:
        """Where relative image names are looked for: --images, or beside the case file."""
        return self.images or beside(self.cases)

    def _source(self, cases: str, format: str | None) -> Source:
        return lambda: self._rows(cases, format)

    def _rows(self, cases: str, format: str | None) -> Iterator[Row]:
        if holds_images(cases):
            rows = folder_rows(Path(cases), generated=self.subject is not None)
        else:
            rows = read_cases(cases, self.columns, format=format)
        rows = (self._strictly(row) for row in rows)
        return self._fill(map(self._found, rows)) if self._fill is not None else map(self._found, rows)

    def _strictly(self, row: Row) -> Row:
        if self.strict and row.problem is not None:
            raise InputError(f"{self.cases}, {row.place}: {row.problem}")
        return row

    def _found(self, row: Row) -> Row:
        """The row with the place of its image, and whether that is a region or a slide (`level`)."""
        if row.case is None or not row.case.has("image"):
            return row
        try:
            path = locate(row.case, self._folder)
        except InputError:
            # Without its image the rest of the row is judged all the same; `troubles` names it.
            return row
        extra: dict[str, Value] = dict(row.case.extra)
        extra.setdefault("level", level_of(path))
        return replace(row, case=replace(row.case, image=str(path), extra=extra))

    def _take(
        self,
        batch: Sequence[Scored],
        tally: Tally,
        writer: ScoresWriter | None,
        page: PageWriter | None,
        problems: list[str],
    ) -> None:
        super()._take(batch, tally, writer, page, problems)
        for scored in batch:
            case = scored.row.case
            if case is None:
                continue
            route = next((s.labels[ROUTE] for s in scored.scores.values() if ROUTE in s.labels), "none")
            self.routes[route] += 1
            for trouble in troubles(case, scored.scores):
                problems.append(f"{scored.row.place}: {trouble}")
                if page is not None:
                    page.problem(problems[-1])
                if self.strict:
                    raise InputError(f"{self.cases}, {problems[-1]}")
            doubt = scored.scores["grounding"].evidence.get("warning") if "grounding" in scored.scores else None
            if doubt and len(self.warnings) < _WARNINGS:
                self.warnings.append(f"{scored.row.place}: {Path(str(case.image)).name} {doubt}")
            if self._stream is not None:
                self._stream.write(json.dumps(evidence_of(scored), ensure_ascii=False) + "\n")

    def _page_writer(self) -> PageWriter:
        from medassay.report.trust_page import TrustPage

        return TrustPage(self.metrics, title="medassay trust report")

    def _said(self) -> dict[str, object]:
        said = super()._said()
        said.pop("several references", None)
        if self.subject is not None:
            said["subject"] = self.subject.name
        return said


def troubles(case: Case, scores: Mapping[str, Score] | None = None) -> list[str]:
    """What is wrong with a row that has a case all the same: its image, or reports that failed."""
    found = []
    unseen = next((s.unscored for name, s in (scores or {}).items() if name.startswith("grounding")), None) or ""
    if case.has("image") and not Path(str(case.image)).is_file():
        found.append(f"column 'image': no such file {case.image}")
    elif case.has("image") and unseen.startswith(str(case.image)):
        found.append(f"column 'image': {unseen}")
    for column in ("candidate", "candidate_stain", "candidate_attack"):
        reason = case.extra.get(f"{column}_error")
        if reason and not (found and "column 'image'" in str(reason)):
            found.append(f"column '{column}': no report was written ({reason})")
    return found


def evidence_of(scored: Scored) -> dict[str, Any]:
    """One line of the evidence file: every dimension's value or reason, and what it rests on."""
    case = scored.row.case
    assert case is not None
    record: dict[str, Any] = {"id": case.id, "system": case.system, "image": case.image, "candidate": case.candidate}
    for name, score in scored.scores.items():
        one: dict[str, Any] = {"value": score.value, "unscored": score.unscored}
        one |= {"parts": dict(score.parts), "evidence": dict(score.evidence)}
        record[name] = one | ({"labels": dict(score.labels)} if score.labels else {})
    return record


def level_of(path: Path) -> str:
    """`slide` for a whole slide, `patch` for a region of interest."""
    try:
        from medassay.slides.whole import is_slide
    except ImportError:
        return "patch"
    return "slide" if is_slide(path) else "patch"


def holds_images(cases: str) -> bool:
    """Whether what stands for the case file is a folder of images, rather than of case files."""
    if cases == "-" or not Path(cases).is_dir():
        return False
    return any(path.suffix.lower() in IMAGES for path in Path(cases).rglob("*"))


def beside(cases: str) -> Path | None:
    """The folder that a case file's relative image names start from; None for standard input."""
    if cases == "-":
        return None
    return Path(cases) if Path(cases).is_dir() else Path(cases).parent


def folder_rows(folder: Path, *, generated: bool = False) -> Iterator[Row]:
    """Cases from a folder: every image with the report of the same name (`a.png`, `a.txt`) beside it.

    `a.stain.txt` and `a.attack.txt` are the reports about the perturbed image and under a false history. An
    image without a report is a problem of that row, unless the reports are to be generated.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    images = [path for path in paths if path.suffix.lower() in IMAGES]
    if not images:
        raise InputError(f"{folder}: no image in it; it needs images with reports beside them (a.png and a.txt)")
    stems = Counter(image.with_suffix("") for image in images)
    for number, image in enumerate(images, 1):
        name = image.relative_to(folder)
        if stems[image.with_suffix("")] > 1:
            yield Row(number, None, f"{name}: another image has the same name but for its ending; rename one")
            continue
        try:
            texts = _reports(image)
        except (OSError, UnicodeDecodeError) as error:
            yield Row(number, None, f"{name}: its report cannot be read as UTF-8 text ({error})")
            continue
        candidate = texts.pop("candidate", None)
        if candidate is None and not generated:
            yield Row(number, None, f"{name}: no report beside it; write {image.stem}.txt, or name a subject model")
            continue
        identity = str(name.with_suffix(""))
        yield Row(number, Case(identity, candidate or "", image=str(image), extra=texts, row=number))


def _reports(image: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for infix, column in {"": "candidate", **SIDECARS}.items():
        for suffix in REPORTS:
            path = image.with_name(f"{image.stem}{infix}{suffix}")
            if path.is_file():
                found.setdefault(column, path.read_text(encoding="utf-8-sig"))
    return found


@contextmanager
def _replacing(path: Path) -> Iterator[IO[str]]:
    """A text file that appears under its name only when it is whole."""
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    partial.replace(path)
