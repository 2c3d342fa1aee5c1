"""Cases of a trust run: from a file or a folder of images, with images looked up and reports filled in.

Image names are looked up beside the case file, and the subject model may write the perturbed reports; what is wrong
with an image or a generated report is a problem of its row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from medassay.cases import Case, Row, read_cases
from medassay.columns import Value
from medassay.engine.sinks import Sink
from medassay.errors import InputError, shortened
from medassay.files import is_file
from medassay.hub_data import is_data_set
from medassay.scores import Score
from medassay.slides.perturb import locate

IMAGES = frozenset(
    [
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
    ]
)
"""Names that are images in a folder given in place of a case file."""
REPORTS = (".txt", ".md")
_WARNINGS = 100
"""Images that may not be histology, named at most."""
SIDECARS = {".stain": "candidate_stain", ".attack": "candidate_attack"}
"""`slide1.stain.txt` beside `slide1.svs` holds the report about the perturbed image."""


@dataclass(frozen=True)
class TrustSource:
    """The rows of a trust run.

    cases: a case file, a folder of them, or a folder of images with reports beside them.
    images: where relative image names are looked for; by default beside the case file.
    fill: completes rows with reports that a subject model writes.
    """

    cases: str
    columns: Mapping[str, str] = field(default_factory=dict)
    format: str | None = None
    strict: bool = False
    images: Path | None = None
    fill: Callable[[Iterator[Row]], Iterator[Row]] | None = None

    def __call__(self) -> Iterator[Row]:
        if holds_images(self.cases):
            rows = folder_rows(Path(self.cases), generated=self.fill is not None)
        else:
            rows = read_cases(self.cases, self.columns, format=self.format)
        located = map(self._located, rows)
        return located if self.fill is None else self.fill(located)

    def _located(self, row: Row) -> Row:
        """The row with the path of its image; carried are the image as given and whether it is a slide (`level`)."""
        if self.strict and row.problem is not None:
            raise InputError(f"{self.cases}, {row.location}: {row.problem}")
        if row.case is None or not row.case.has("image"):
            return row
        extra: dict[str, Value] = {"image": row.case.image, **row.case.extra}
        try:
            path = locate(row.case, self.images or image_folder(self.cases))
        except InputError:
            # Without its image the rest of the row is judged all the same; `row_problems` names it.
            return replace(row, case=replace(row.case, extra=extra))
        extra.setdefault("level", level_of(path))
        return replace(row, case=replace(row.case, image=str(path), extra=extra))


class ImageWarnings(Sink):
    """Images that may not be histology, as grounding saw them; the first few of many."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def add(self, case: Case, scores: Mapping[str, Score]) -> None:
        """Note the image of a case where there is a doubt about it."""
        doubt = scores["grounding"].evidence.get("warning") if "grounding" in scores else None
        if doubt and len(self.warnings) < _WARNINGS:
            self.warnings.append(f"row {case.row}: {Path(str(case.image)).name} {doubt}")


def row_problems(case: Case, scores: Mapping[str, Score]) -> list[str]:
    """What is wrong with a row that has a case all the same: its image, or reports that failed."""
    problems = []
    unseen = next((s.unscored for name, s in scores.items() if name.startswith("grounding")), None) or ""
    if case.has("image") and not is_file(Path(str(case.image))):
        problems.append(f"column 'image': no such file {shortened(str(case.image))}")
    elif case.has("image") and unseen.startswith(str(case.image)):
        problems.append(f"column 'image': {unseen}")
    for column in ("candidate", "candidate_stain", "candidate_attack"):
        reason = case.extra.get(f"{column}_error")
        if reason and not (problems and "column 'image'" in str(reason)):
            problems.append(f"column '{column}': no report was written ({reason})")
    return problems


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


def check_not_among_cases(folder: Path, cases: str) -> None:
    """Raise where images that are written into `folder` would be read as cases by the next run."""
    if Path(cases).is_dir() and folder.resolve().is_relative_to(Path(cases).resolve()):
        raise InputError(
            f"{folder}: its images would be read as cases of {cases} by the next run; choose another folder"
        )


def image_folder(cases: str) -> Path | None:
    """The folder that a case file's relative image names start from; None for standard input and the hub."""
    if cases == "-" or is_data_set(cases):
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
    texts: dict[str, str] = {}
    for infix, column in {"": "candidate", **SIDECARS}.items():
        for suffix in REPORTS:
            path = image.with_name(f"{image.stem}{infix}{suffix}")
            if path.is_file():
                texts.setdefault(column, path.read_text(encoding="utf-8-sig"))
    return texts
