"""`medassay perturb`: perturbed images and prompts for reports that are generated elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medassay.console import (
    FormatOption,
    HistoriesOption,
    ImagesOption,
    MapOption,
    MppOption,
    PromptsOption,
    SeedOption,
    StrictOption,
    finish,
    parse_mapping,
    say,
    say_warnings,
)


def perturb(
    cases: Annotated[str, typer.Argument(help="Case file with a column image, or a folder of images and reports.")],
    out: Annotated[Path, typer.Option(help="Folder for perturbed images, prompts, the case file and a manifest.")],
    images: ImagesOption = None,
    degrees: Annotated[float, typer.Option(help="Turn of each stain vector.")] = 8.0,
    gain: Annotated[float, typer.Option(help="Largest change of the stains' strength, as a share.")] = 0.25,
    mpp: MppOption = None,
    prompts: PromptsOption = "subject-1",
    histories: HistoriesOption = "histories-1",
    map_: MapOption = "",
    format: FormatOption = None,
    seed: SeedOption = 1,
    strict: StrictOption = False,
) -> None:
    """Write stain-perturbed images and false clinical histories, for reports that are generated elsewhere."""
    from medassay.engine.perturb import Perturbing

    columns = parse_mapping(map_)
    job = Perturbing(cases, out, images, columns, format, degrees, gain, mpp, prompts, histories, seed, strict)
    problems = job.run()
    say(f"{job.written:,} cases written to {out / 'cases.csv'}; fill in candidate_stain and candidate_attack")
    say(f"images in {out / 'images'}, prompts in {out / 'prompts.jsonl'}, settings in {out / 'manifest.json'}")
    say_warnings(job.warnings)
    finish(cases, problems)
