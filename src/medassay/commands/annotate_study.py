"""What the commands of `medassay annotate` share: opening a study, and files that only their owner may read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medassay import console

if TYPE_CHECKING:
    from medassay.human.store import Store
    from medassay.human.study import Study

StudyFile = Annotated[Path, typer.Argument(help="The study file (.yaml).")]
Out = Annotated[Path, typer.Option("--out", help="File to write: .csv or .jsonl.")]


def need_extra() -> None:
    """Stop with the remedy where the extra `serve` is missing."""
    console.need_extra("annotation", "serve", "sqlalchemy", "fastapi", "jinja2", "yaml", "itsdangerous", "uvicorn")


def open_study(path: Path) -> Study:
    """The study file, read and checked."""
    need_extra()
    from medassay.human.study import load_study

    return load_study(path)


def open_store(path: Path) -> Store:
    """The study's database."""
    study = open_study(path)
    from medassay.human.store import Store

    return Store(study)


def study_files(path: Path) -> list[Path]:
    """The files that a study is made of: the study file, the cases, the database and the key; or a table of counts."""
    if path.suffix.lower() not in (".yaml", ".yml"):
        return [path]
    study = open_study(path)
    stored = [] if "://" in study.database else [path.parent / study.database]
    return [path, study.cases, study.key_path, study.marker_path, *stored]


def restrict_to_owner(path: Path) -> None:
    """Make a file that was just written readable by its owner only: it holds texts of reports, or links."""
    from medassay.files import is_special

    if not is_special(path):
        path.chmod(0o600)
