"""`medassay train ROLE`: train a model for one role on annotation of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from medassay import console
from medassay.errors import InputError

WRITTEN = ("manifest.json", "training.json", "tokenizer.json", "config.json", "model.safetensors")
"""Files of a model folder that its base or its data may have, too."""


def train(
    role: Annotated[str, typer.Argument(help="ner, re, align, expert, quality, nli, likelihood, image or kge.")],
    out: Annotated[Path, typer.Option(help="Folder for the model, as models.load(role, folder) reads it.")],
    data: Annotated[
        Path | None,
        typer.Option(
            help="Annotation (ner, re), JSON lines of concepts or a UMLS folder (align), CSV of pairs (others)."
        ),
    ] = None,
    base: Annotated[
        str | None, typer.Option(help="Folder of a BERT to start from (ner, re: or a model set); paper: any encoder.")
    ] = None,
    preset: Annotated[str, typer.Option(help="embedded: our recipes; paper: HARE's (ner, re, align).")] = "embedded",
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the data; default: the recipe's.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the split and of training.")] = 0,
    general: Annotated[Path | None, typer.Option(help="align: texts, one per line, whose similarity stays.")] = None,
    umls: Annotated[Path | None, typer.Option(help="kge: folder with MRCONSO.RRF and MRREL.RRF.")] = None,
    sources: Annotated[str, typer.Option(help="kge: vocabularies of UMLS to keep, as SNOMEDCT_US,RXNORM.")] = "",
    ontologies: Annotated[str, typer.Option(help="kge: OBO files, comma-separated; default: our terminology.")] = "",
) -> None:
    """Train a model for one role on your own annotation; a part is held out and measured."""
    _check_paths(out, {"--data": data, "--base": Path(base) if base else None, "--general": general, "--umls": umls})
    console.need_extra("training", "train", "torch", "transformers", "onnx")
    if role == "kge":
        from medassay.training.kge import train_kge

        figures = train_kge(out, umls=umls, ontologies=ontologies, sources=sources, epochs=epochs, seed=seed)
    elif data is None or base is None:
        raise InputError(f"train {role}: give {'--data' if data is None else '--base'} (see medassay train --help)")
    else:
        from medassay.training.command import train_role

        figures = train_role(role, data, base, out, preset, epochs, seed, general)
    for name, value in figures.items():
        print(f"{name:<24}{value:.4f}")
    console.say(f"figures above are of the held-out part; model written to {out}")


def _check_paths(out: Path, inputs: Mapping[str, Path | None]) -> None:
    """Raise where the model would be written over what it is trained from."""
    from medassay.paths import ReadFolder, check_paths

    read = {label: ReadFolder(path) if path and path.is_dir() else path for label, path in inputs.items()}
    check_paths(read, {"--out": [out / name for name in WRITTEN]}, folders={"--out": out})
