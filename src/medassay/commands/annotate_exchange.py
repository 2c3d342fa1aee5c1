"""`medassay annotate …`: to and from Label Studio, Argilla and INCEpTION."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from medassay import console
from medassay.commands.annotate_study import Out, StudyFile, open_study, restrict_to_owner, study_files
from medassay.errors import InputError

Folder = Annotated[Path, typer.Argument(help="Folder to write to.")]


def label_studio_write(study: StudyFile, folder: Folder) -> None:
    """Write a Label Studio labelling configuration and tasks for the study's protocol."""
    from medassay.human.label_studio import WRITTEN, write
    from medassay.paths import check_paths

    outputs = {"folder": [folder / name for name in WRITTEN]}
    check_paths({"study": study_files(study)}, outputs, folders={"folder": folder})
    config, tasks = write(open_study(study), folder)
    print(f"labelling interface: {config}\ntasks to import: {tasks}")


def label_studio_read(
    study: StudyFile,
    export: Annotated[Path, typer.Argument(help="Label Studio's export, format JSON.")],
    out: Out,
) -> None:
    """Read Label Studio's JSON export into a table of ratings, one row per text and annotator."""
    from medassay.files import write_rows
    from medassay.human.export import per_annotator
    from medassay.human.label_studio import read

    console.check_paths({"study": study_files(study), "export": export}, {}, table=out)
    ratings = read(open_study(study), export)
    write_rows(per_annotator(ratings), out)
    restrict_to_owner(out)
    print(f"{len(ratings.rows)} ratings written to {out}")


def argilla_write(study: StudyFile, folder: Folder) -> None:
    """Write an Argilla dataset for the study's protocol, for `rg.Dataset.from_disk`."""
    from medassay.human.argilla import WRITTEN, write
    from medassay.paths import check_paths

    outputs = {"folder": [folder / name for name in WRITTEN]}
    check_paths({"study": study_files(study)}, outputs, folders={"folder": folder})
    write(open_study(study), folder)
    print(f"dataset written to {folder}; load it with rg.Dataset.from_disk({str(folder)!r})")


def argilla_read(
    study: StudyFile,
    export: Annotated[Path, typer.Argument(help="Folder written by dataset.to_disk, or its records.json.")],
    out: Out,
) -> None:
    """Read the responses of an Argilla dataset into a table of ratings, one row per text and annotator."""
    from medassay.files import write_rows
    from medassay.human.argilla import read
    from medassay.human.export import per_annotator

    inputs = {"study": study_files(study), "export": [export / "records.json" if export.is_dir() else export]}
    console.check_paths(inputs, {}, table=out)
    ratings = read(open_study(study), export)
    write_rows(per_annotator(ratings), out)
    restrict_to_owner(out)
    print(f"{len(ratings.rows)} ratings written to {out}")


def inception_write(
    extracted: Annotated[Path, typer.Argument(help="JSONL as `medassay extract` writes it.")], folder: Folder
) -> None:
    """Write documents with their entities for INCEpTION (UIMA CAS XMI)."""
    from medassay.human.inception import file_names, write
    from medassay.paths import check_paths

    try:
        lines = extracted.read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError) as error:
        raise InputError(f"{extracted}: not JSON lines ({error})") from error
    outputs = {"folder": [folder / name for name in file_names(records)]}
    check_paths({"extract": extracted}, outputs, folders={"folder": folder})
    print(f"{write(records, folder)} documents written to {folder}")


def inception_read(
    export: Annotated[Path, typer.Argument(help="INCEpTION's export: .xmi, .json, .zip or a folder.")],
    out: Annotated[Path, typer.Option(help="JSONL to write, as `medassay extract` does.")],
) -> None:
    """Read entities annotated in INCEpTION."""
    from medassay.files import write_rows
    from medassay.human.inception import read

    if out.suffix.lower() != ".jsonl":
        raise InputError(f"{out}: annotated text is written as .jsonl")
    console.check_paths({"export": None if export.is_dir() else export}, {}, table=out)
    records = read(export)
    write_rows(records, out)
    print(f"{len(records)} documents written to {out}")
